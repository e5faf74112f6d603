package main

import (
	"encoding/binary"

	"github.com/pyropedb/pyrope/benchmark/workload"
	"github.com/pyropedb/pyrope/tsavorite"
)

// updater is the read-modify-write of this benchmark: it adds one to the first eight bytes of a
// value, and gives a key without a value its first one.
//
//	value:  | Word(number, 0) + updates since the last upsert | Word(number, 1) | ...
//
// It implements tsavorite.AsyncUpdater; one is in use by one RMW at a time.
type updater struct {
	worker *worker
	number uint64
	found  bool
}

// Plan implements tsavorite.Updater.
func (u *updater) Plan(_ tsavorite.Record, found bool) tsavorite.Plan {
	u.found = found
	return tsavorite.Plan{Action: tsavorite.Write, Preserve: true, Length: u.worker.plan.sizes.Of(u.number)}
}

// Write implements tsavorite.Updater. Preserve has put the current value in its place.
func (u *updater) Write(value []byte, _ tsavorite.Record) {
	if !u.found {
		workload.FillValue(value, u.number)
	}
	binary.LittleEndian.PutUint64(value, binary.LittleEndian.Uint64(value)+1)
}

// Finish implements tsavorite.AsyncUpdater.
func (u *updater) Finish(_ uint64, status tsavorite.Status) {
	u.worker.finishRMW(u.number, status)
	u.worker.updaters = append(u.worker.updaters, u)
}

// rmw updates a key. In async mode it may stay pending; the session bounds how many do.
func (w *worker) rmw(key tsavorite.Key, number uint64) {
	if w.plan.mode != readAsync {
		w.updater.number = number
		w.finishRMW(number, w.session.RMW(key, &w.updater))
		return
	}
	var u *updater
	if last := len(w.updaters) - 1; last >= 0 {
		u, w.updaters = w.updaters[last], w.updaters[:last]
	} else {
		u = &updater{worker: w} // during the warm-up; then they are used again
	}
	u.number = number
	w.session.RMWAsync(key, number, u)
}

// finishRMW counts an update that has ended.
func (w *worker) finishRMW(number uint64, status tsavorite.Status) {
	switch status {
	case tsavorite.Found, tsavorite.Created:
		w.tally.writes++
	default:
		w.fail("update", number, status)
	}
}
