//go:build !linux

package devicetest

import "testing"

// testEventFD checks that there is none.
func testEventFD(t *testing.T, c Config) {
	f := open(t, c, nil)
	q := f.queue()
	defer f.closeQueue(q)
	if fd := q.EventFD(); fd != -1 {
		t.Errorf("EventFD is %d, want -1", fd)
	}
}
