package network_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pyropedb/pyrope/server/network"
)

// TestHeldReplies: replies that are held are not sent before they are released, those of a pipeline that go out in parts
// neither, and of one that cannot be released nothing is.
func TestHeldReplies(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		gate := make(chan struct{})
		hold := func(release func(uint64) bool) { h.hold.Store(&release) }
		hold(func(uint64) bool {
			<-gate
			return true
		})
		a := dial(t, s)
		a.send("echo zero\nkeep one\n")
		eventually(t, "the reply to be held", func() bool { return h.releases.Load() > 0 })
		if sent := h.only(t).BytesOut(); sent != 0 {
			t.Errorf("%d bytes were sent before the release", sent)
		}
		close(gate)
		a.expect("zero")
		a.expect("one")

		const large = 3 << 20 // more than goes out at once
		var released atomic.Uint64
		hold(func(position uint64) bool {
			released.Store(position)
			return true
		})
		a.send("keep two\nbig 3145728\nkeep three\nbig 3145728\nkeep four\n")
		a.expect("two")
		a.expect(strings.Repeat("x", large))
		a.expect("three")
		a.expect(strings.Repeat("x", large))
		a.expect("four")
		if released.Load() != 4 {
			t.Errorf("released up to %d, want 4", released.Load())
		}
		if count := h.releases.Load(); count < 4 {
			t.Errorf("%d releases: the parts did not wait", count)
		}
		a.ask("echo five", "five")
		if count := h.releases.Load(); count > 4 {
			t.Errorf("%d releases: a reply waits that need not", count)
		}

		hold(func(uint64) bool { return false })
		a.send("echo six\nkeep seven\n")
		a.expectEnd()
	})
}

// TestHandOffReleasesOthers: replies of other connections that are held go out before the loop changes hands.
func TestHandOffReleasesOthers(t *testing.T) {
	inModes(t, nil, func(t *testing.T, h *lines, s *network.Server) {
		release := func(uint64) bool { return true }
		h.hold.Store(&release)
		a, b := dial(t, s), dial(t, s)
		for range 50 {
			a.send("keep one\n")
			b.send("sleep\n")
			a.expect("one")
			b.expect("slept")
		}
	})
}
