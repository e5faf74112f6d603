package network_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// isBesideTheLoop tells whether the commit under way is done by a loop's goroutine for commits.
func isBesideTheLoop() bool {
	stack := make([]byte, 4096)
	return strings.Contains(string(stack[:runtime.Stack(stack, false)]), "(*loop).commit(")
}

// TestALoopWaitsForItsOnlyConnection: the replies of a connection that is alone in its loop are not set aside, those of one beside others are.
func TestALoopWaitsForItsOnlyConnection(t *testing.T) {
	inLoops(t, 1, func(t *testing.T, h *lines, s *network.Server) {
		var aside atomic.Bool
		release := func(uint64) bool {
			aside.Store(isBesideTheLoop())
			return true
		}
		h.hold.Store(&release)
		a := dial(t, s)
		if a.ask("keep one", "one"); aside.Load() {
			t.Error("with one connection, its replies are set aside")
		}
		b := dial(t, s)
		b.ask("echo here", "here")
		if a.ask("keep two", "two"); !aside.Load() {
			t.Error("with two connections, the loop commits itself")
		}
		_ = b.Close()
		eventually(t, "the other to end", func() bool { return s.Connections() == 1 })
		if a.ask("keep three", "three"); aside.Load() {
			t.Error("with one connection again, its replies are set aside")
		}
		_ = a.Close()
	})
}

// TestALoopWaitsForQuickCommits: where all who are served wait for commits, and those are quick, the loop commits itself. It does not once
// one was slow, nor when it serves others.
func TestALoopWaitsForQuickCommits(t *testing.T) {
	inLoops(t, 1, func(t *testing.T, h *lines, s *network.Server) {
		var aside, slow atomic.Bool
		release := func(uint64) bool {
			aside.Store(isBesideTheLoop())
			if slow.Load() {
				time.Sleep(5 * time.Millisecond)
			}
			return true
		}
		h.hold.Store(&release)
		a, b := dial(t, s), dial(t, s)
		becomesQuick := func() {
			eventually(t, "the loop to commit itself", func() bool {
				a.ask("keep one", "one")
				return !aside.Load()
			})
		}
		becomesQuick()
		slow.Store(true)
		a.ask("keep two", "two")
		if a.ask("keep three", "three"); !aside.Load() {
			t.Error("the loop waits for a commit though the last one was slow")
		}
		slow.Store(false)
		becomesQuick()
		b.ask("echo here", "here")
		if a.ask("keep four", "four"); !aside.Load() {
			t.Error("the loop waits for a commit though it serves others too")
		}
		becomesQuick()
		_, _ = a.Close(), b.Close()
	})
}

// TestHeldConnectionsMove has connections that are held stay with their loop, and move once their replies are sent (N1, N13).
func TestHeldConnectionsMove(t *testing.T) {
	inLoops(t, 0, func(t *testing.T, h *lines, s *network.Server) {
		d := newDisk(h)
		clients := dialAll(t, s, 20)
		s.Shift(2)
		spreads(t, s, 10, 10)
		for i, c := range clients {
			c.keep(h, fmt.Sprintf("keep %d\necho be", i))
		}
		s.Shift(1)
		for i, c := range clients {
			c.send(fmt.Sprintf("gun\necho %d\n", i))
		}
		spreads(t, s, 10, 10)
		d.commit(20)
		for i, c := range clients {
			c.expect(fmt.Sprint(i))
			c.expect("begun")
			c.expect(fmt.Sprint(i))
		}
		spreads(t, s, 20, 0)
		for i, c := range clients {
			c.ask(fmt.Sprintf("echo %d", i), fmt.Sprint(i))
			_ = c.Close()
		}
	})
}
