// Package epoch tells when every session has moved past a change, after the epoch protection of
// FASTER (SIGMOD 2018, section 2.3).
//
// A global counter, the current epoch, only grows. A session that touches shared memory first
// copies it into its own entry (Enter) and clears the entry when it is done (Leave). Somebody who
// makes a change that others may not notice at once (moves the head address, say) makes it
// visible, then bumps the counter with an action. The action runs once no session is left in an
// epoch at or before the one in which the change was made: from then on nobody can rely on the
// old state.
//
//	current epoch     7
//	entries           [7] [0] [5] [0] [7] ...       one cache line each; 0 is outside
//	safe epoch        4 = lowest occupied entry - 1
//	drain list        (4, unmap page 12)  (6, set safe read-only address)
//	                   ready               waits for the session in epoch 5
//
// Invariants:
//
//	E1  An action runs exactly once, after every session that was inside when it was registered has left or refreshed.
//	E2  A session that enters after Bump sees everything that was written before Bump: Enter stores its entry
//	    with sequential consistency before it loads anything else, and Bump's caller publishes before it bumps.
//	E3  Nothing blocks between Enter and Leave.
package epoch

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	chunkEntries = 64
	maxChunks    = 1024
)

// Entry is one session's place in the table. It belongs to one goroutine at a time.
type Entry struct {
	epoch atomic.Uint64 // 0 outside; written by the owner, read by whoever computes the safe epoch
	table *Table        // immutable after Register
	used  bool          // guarded by table.mu
	_     [64 - 8 - 8 - 8]byte
}

// Entries are padded to a cache line so that sessions do not slow each other down.
const _ = -(unsafe.Sizeof(Entry{}) ^ 64)

type chunk [chunkEntries]Entry

// action waits in the drain list until its epoch is safe.
type action struct {
	epoch uint64
	run   func()
}

// Table is the set of entries of one store.
type Table struct {
	current  atomic.Uint64
	_        [56]byte
	draining atomic.Int64 // length of the drain list; loaded by Leave to skip the lock
	_        [56]byte
	chunks   [maxChunks]atomic.Pointer[chunk] // append-only
	count    atomic.Int64                     // chunks in use

	mu    sync.Mutex // guards the drain list and registration
	drain []action
}

// New returns an empty table at epoch 1.
func New() *Table {
	t := &Table{}
	t.current.Store(1)
	return t
}

// Register returns a free entry, for one session. It panics after 65,536 sessions.
func (t *Table) Register() *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int(t.count.Load())
	for c := 0; c < n; c++ {
		block := t.chunks[c].Load()
		for i := range block {
			if !block[i].used {
				block[i].used = true
				return &block[i]
			}
		}
	}
	if n == maxChunks {
		panic("epoch: more than 65536 sessions are open at once")
	}
	block := new(chunk)
	for i := range block {
		block[i].table = t
	}
	block[0].used = true
	t.chunks[n].Store(block)
	t.count.Store(int64(n + 1))
	return &block[0]
}

// Release gives the entry back. The session must be outside.
func (e *Entry) Release() {
	t := e.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.epoch.Load() != 0 {
		panic("BUG: epoch entry released inside its epoch")
	}
	e.used = false
}

// Enter protects the session: what it finds from here on stays valid until Leave (E2).
func (e *Entry) Enter() {
	e.epoch.Store(e.table.current.Load())
}

// Leave ends the protection and runs the actions that were waiting for it.
func (e *Entry) Leave() {
	e.epoch.Store(0)
	if e.table.draining.Load() != 0 {
		e.table.Drain()
	}
}

// Inside reports whether the session is between Enter and Leave.
func (e *Entry) Inside() bool { return e.epoch.Load() != 0 }

// Bump ends the current epoch and registers run for the moment when every session has left it
// (E1). run may be called before Bump returns, by any goroutine; it must be short and not block.
func (t *Table) Bump(run func()) {
	t.mu.Lock()
	prior := t.current.Add(1) - 1
	t.drain = append(t.drain, action{prior, run})
	t.draining.Store(int64(len(t.drain)))
	t.mu.Unlock()
	t.Drain()
}

// Drain runs the actions whose epoch is safe.
func (t *Table) Drain() {
	for {
		t.mu.Lock()
		safe := t.safe()
		var run func()
		for i, a := range t.drain {
			if a.epoch <= safe {
				run = a.run
				t.drain = append(t.drain[:i], t.drain[i+1:]...)
				t.draining.Store(int64(len(t.drain)))
				break
			}
		}
		t.mu.Unlock()
		if run == nil {
			return
		}
		run()
	}
}

// WaitSafe blocks until every session that is inside now has left or entered anew. The caller must be outside.
func (t *Table) WaitSafe() {
	done := make(chan struct{})
	t.Bump(func() { close(done) })
	<-done
}

// safe returns the highest epoch that no session is in or before.
func (t *Table) safe() uint64 {
	lowest := t.current.Load()
	n := int(t.count.Load())
	for c := 0; c < n; c++ {
		block := t.chunks[c].Load()
		for i := range block {
			if e := block[i].epoch.Load(); e != 0 && e < lowest {
				lowest = e
			}
		}
	}
	return lowest - 1
}
