package localmemory

import (
	"errors"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

// memory is one segment. Its pages cost RAM once they are written.
type memory struct {
	bytes []byte
	end   atomic.Int64 // bytes before it have been written, or lie between written ones; only grows
}

// table is a snapshot of the segments. It never changes; a new one takes its place.
type table struct {
	begin    uint64 // addresses below are truncated
	segments map[uint64]*memory
	closed   bool
}

// guard is what a mover of bytes holds while it uses a table. Whoever takes segments away publishes
// a table without them, locks and unlocks every guard once, and then knows that nobody uses them.
// Each mover has its own, so taking it is never contended but for that.
type guard struct {
	sync.Mutex
	_ [56]byte // a cache line of its own
}

// wait returns once whoever held the guard at the call no longer does.
func (g *guard) wait() {
	g.Lock()
	defer g.Unlock()
}

// store is the bytes of a device.
type store struct {
	shift uint // log2 of the segment size

	current atomic.Pointer[table] // loaded under a guard, replaced with mutex held
	mutex   sync.Mutex
	guards  map[*guard]struct{} // guarded by mutex
}

func newStore(segmentSizeBytes uint64) *store {
	s := &store{shift: uint(bits.TrailingZeros64(segmentSizeBytes)), guards: make(map[*guard]struct{})}
	s.current.Store(&table{segments: map[uint64]*memory{}})
	return s
}

// newGuard registers a mover.
func (s *store) newGuard() *guard {
	g := &guard{}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.guards[g] = struct{}{}
	return g
}

func (s *store) dropGuard(g *guard) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.guards, g)
}

// moveGuarded carries a request out; the caller holds a guard.
func (s *store) moveGuarded(r *device.Request) (moved int, err error) {
	t := s.current.Load()
	if t.closed {
		return 0, device.ErrClosed
	}
	if r.Address < t.begin {
		return 0, device.ErrTruncated
	}
	for moved < len(r.Buffer) {
		address := r.Address + uint64(moved)
		segment := t.segments[address>>s.shift]
		if segment == nil {
			if r.Op == device.OpRead {
				return moved, nil
			}
			if t, err = s.grow(address >> s.shift); err != nil {
				return moved, err
			}
			continue
		}
		offset := address & (1<<s.shift - 1)
		if r.Op == device.OpRead {
			written := uint64(segment.end.Load())
			if offset >= written {
				return moved, nil
			}
			moved += copy(r.Buffer[moved:], segment.bytes[offset:written])
			if written < 1<<s.shift {
				return moved, nil
			}
			continue
		}
		n := copy(segment.bytes[offset:], r.Buffer[moved:])
		moved += n
		segment.extend(int64(offset) + int64(n))
	}
	return moved, nil
}

func (m *memory) extend(end int64) {
	for {
		old := m.end.Load()
		if end <= old || m.end.CompareAndSwap(old, end) {
			return
		}
	}
}

// grow returns a table that has the segment, unless it was truncated meanwhile.
func (s *store) grow(index uint64) (*table, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := s.current.Load()
	switch {
	case t.closed:
		return nil, device.ErrClosed
	case index < t.begin>>s.shift:
		return nil, device.ErrTruncated
	case t.segments[index] != nil:
		return t, nil
	}
	bytes, err := aligned.Map(1 << s.shift)
	if err != nil {
		return nil, err
	}
	if len(bytes) >= aligned.HugePageBytes {
		aligned.AdviseHuge(bytes)
	}
	next := &table{begin: t.begin, segments: maps.Clone(t.segments)}
	next.segments[index] = &memory{bytes: bytes}
	s.current.Store(next)
	return next, nil
}

// truncate drops the segments wholly below begin.
func (s *store) truncate(begin uint64) error {
	return s.replace(func(t *table) (*table, error) {
		if t.closed {
			return nil, device.ErrClosed
		}
		next := &table{begin: max(begin, t.begin), segments: maps.Clone(t.segments)}
		maps.DeleteFunc(next.segments, func(index uint64, _ *memory) bool { return index < next.begin>>s.shift })
		return next, nil
	})
}

// close drops everything.
func (s *store) close() error {
	return s.replace(func(t *table) (*table, error) {
		return &table{begin: t.begin, closed: true}, nil
	})
}

// replace publishes what change makes of the table, and unmaps the segments it no longer has once
// nobody uses them. The mutex is not held meanwhile: a mover that holds its guard may need it to grow.
func (s *store) replace(change func(*table) (*table, error)) error {
	s.mutex.Lock()
	old := s.current.Load()
	next, err := change(old)
	if err != nil {
		s.mutex.Unlock()
		return err
	}
	s.current.Store(next)
	guards := slices.Collect(maps.Keys(s.guards))
	s.mutex.Unlock()
	if len(next.segments) == len(old.segments) {
		return nil
	}
	for _, g := range guards {
		g.wait()
	}
	var failures []error
	for index, segment := range old.segments {
		if next.segments[index] == nil {
			failures = append(failures, aligned.Unmap(segment.bytes))
		}
	}
	return errors.Join(failures...)
}
