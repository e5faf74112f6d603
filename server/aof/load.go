package aof

import (
	"bytes"
	"fmt"

	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

// Load opens the file and hands every effect in it to apply, in order, the entries of units together (A2). It leaves out
// what lies below a position and what belongs to versions of the store up to one: a checkpoint holds those. Zeros
// leave out nothing. A file that does not reach up to the position, or begins above it, is refused: what lies between is lost.
func (f *File) Load(from, version uint64, apply func(*tsavorite.Entry) error) error {
	r := &replay{from: from, version: version, apply: apply}
	if err := f.open(from, r.take); err != nil {
		return err
	}
	found := f.log.Found()
	if found.TornBytes > 0 {
		f.options.Log.Warn("the append-only file ended in a torn write, which is cut off",
			"address", uint64(found.End), "bytes", found.TornBytes, "cause", found.TornReason)
	}
	if found.Entries > 0 {
		f.options.Log.Info("the append-only file is loaded", "bytes", uint64(found.End-found.Begin), "entries", found.Entries,
			"applied", r.applied, "in unfinished units", r.waiting)
	}
	return nil
}

// replay applies the entries of a log.
type replay struct {
	from, version uint64
	apply         func(*tsavorite.Entry) error
	units         map[uint64][][]byte // entries of units whose end has not come
	waiting       int                 // how many those are
	applied       uint64
	entry         tsavorite.Entry // scratch
}

// take takes one entry of the log.
func (r *replay) take(at log.Address, entry []byte) error {
	if uint64(at) < r.from {
		return nil
	}
	e := &r.entry
	isStart, err := Decode(entry, e)
	switch {
	case err != nil:
		return fmt.Errorf("at address %d: %w", at, err)
	case isStart:
		r.units, r.waiting = nil, 0 // A3
		return nil
	case e.Version <= r.version && r.version > 0:
		return nil
	case e.Effect == tsavorite.EffectUnitEnd:
		return r.endUnit(at, e.Unit)
	case e.Unit != 0 && e.Effect != tsavorite.EffectOpaque:
		if r.units == nil {
			r.units = map[uint64][][]byte{}
		}
		r.units[e.Unit] = append(r.units[e.Unit], bytes.Clone(entry))
		r.waiting++
		return nil
	}
	return r.do(at, e)
}

// endUnit applies the entries of a unit.
func (r *replay) endUnit(at log.Address, unit uint64) error {
	entries := r.units[unit]
	delete(r.units, unit)
	r.waiting -= len(entries)
	for _, entry := range entries {
		if _, err := Decode(entry, &r.entry); err != nil {
			return fmt.Errorf("at address %d: %w", at, err)
		}
		if err := r.do(at, &r.entry); err != nil {
			return err
		}
	}
	return nil
}

// do applies one entry.
func (r *replay) do(at log.Address, e *tsavorite.Entry) error {
	r.applied++
	if err := r.apply(e); err != nil {
		return fmt.Errorf("at address %d: %w", at, err)
	}
	return nil
}
