package tsavorite

import (
	"fmt"
	"sync"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// A cursor of Scan says where to go on, and where the series ends:
//
//	63                        41 40                              0
//	[ bound in units of 2 MiB  |  address of a record, over 8     ]
//
// The bound is the tail at the beginning of the series, rounded up. A log beyond 16 TiB has no cursors.
const (
	cursorAddressBits = 41
	cursorBoundBytes  = 2 << 20
	maxCursorAddress  = 1 << (cursorAddressBits + 3)
)

// issuedCursors remembers where the last cursors pointed. A cursor comes from outside: it is believed to
// point at a record when it was issued lately, and otherwise checked by walking its page.
type issuedCursors struct {
	mu        sync.Mutex
	addresses map[record.Address]struct{} // guarded by mu
	ring      [4096]record.Address        // the order they came in; guarded by mu
	next      int                         // guarded by mu
}

func (i *issuedCursors) add(at record.Address) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, known := i.addresses[at]; known {
		return
	}
	delete(i.addresses, i.ring[i.next])
	i.ring[i.next] = at
	i.next = (i.next + 1) % len(i.ring)
	i.addresses[at] = struct{}{}
}

func (i *issuedCursors) has(at record.Address) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, known := i.addresses[at]
	return known
}

// openCursor sets the scan's bound and returns the record to begin with.
func (s *Session) openCursor(cursor uint64) (record.Address, error) {
	c := &s.scan
	if cursor == 0 {
		c.bound = s.log.Tail()
		return s.log.Begin(), nil
	}
	c.bound = record.Address(cursor>>cursorAddressBits) * cursorBoundBytes
	at := record.Address(cursor&(1<<cursorAddressBits-1)) << 3
	if at <= s.log.Begin() || s.store.cursors.has(at) {
		return at, nil
	}
	tail := s.settledTail()
	if at >= tail {
		return tail, nil
	}
	c.walking, c.until = true, at
	defer func() { c.walking = false }()
	start := max(s.log.PageStart(at), s.log.Begin())
	for start < at {
		var err error
		if start, err = s.gather(start, 0); err != nil {
			return 0, err
		}
	}
	return start, nil
}

// closeCursor returns the cursor that goes on at an address.
func (s *Session) closeCursor(at record.Address) (uint64, error) {
	bound := (uint64(s.scan.bound) + cursorBoundBytes - 1) / cursorBoundBytes
	if at >= maxCursorAddress || bound >= 1<<(64-cursorAddressBits) {
		return 0, fmt.Errorf("tsavorite: no cursor for address %d: it must lie below %d", at, uint64(maxCursorAddress))
	}
	s.store.cursors.add(at)
	return bound<<cursorAddressBits | uint64(at)>>3, nil
}
