package network_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/server/network"
)

// TestALoopWaitsForItsOnlyConnection: the replies of a connection that is alone in its loop are not set aside, those of one beside others are.
func TestALoopWaitsForItsOnlyConnection(t *testing.T) {
	inLoops(t, func(t *testing.T, options network.Options) {
		h := newLines()
		options.Loops = 1
		s, err := network.Listen(h, options)
		if err != nil {
			t.Fatal(err)
		}
		var aside atomic.Bool
		release := func(uint64) bool {
			stack := make([]byte, 4096)
			aside.Store(strings.Contains(string(stack[:runtime.Stack(stack, false)]), "(*loop).commit("))
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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestALoopWaitsForQuickCommits: where all who are served wait for commits, and those are quick, the loop commits itself. It does not once
// one was slow, nor when it serves others.
func TestALoopWaitsForQuickCommits(t *testing.T) {
	inLoops(t, func(t *testing.T, options network.Options) {
		h := newLines()
		options.Loops = 1
		s, err := network.Listen(h, options)
		if err != nil {
			t.Fatal(err)
		}
		var aside, slow atomic.Bool
		release := func(uint64) bool {
			stack := make([]byte, 4096)
			aside.Store(strings.Contains(string(stack[:runtime.Stack(stack, false)]), "(*loop).commit("))
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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestHeldConnectionsMove has connections that are held stay with their loop, and move once their replies are sent (N1, N13).
func TestHeldConnectionsMove(t *testing.T) {
	inLoops(t, func(t *testing.T, options network.Options) {
		h := newLines()
		options.Loops = 0
		s, err := network.Listen(h, options)
		if err != nil {
			t.Fatal(err)
		}
		d := newDisk(h)
		clients := dialAll(t, s, 20)
		spread := func(want ...int) {
			t.Helper()
			eventually(t, fmt.Sprintf("connections to be spread as %v", want), func() bool {
				return slices.Equal(s.LoopConnections()[:2], want)
			})
		}
		s.Shift(2)
		spread(10, 10)
		for i, c := range clients {
			c.keep(h, fmt.Sprintf("keep %d\necho be", i))
		}
		s.Shift(1)
		for i, c := range clients {
			c.send(fmt.Sprintf("gun\necho %d\n", i))
		}
		spread(10, 10)
		d.commit(20)
		for i, c := range clients {
			c.expect(fmt.Sprint(i))
			c.expect("begun")
			c.expect(fmt.Sprint(i))
		}
		spread(20, 0)
		for i, c := range clients {
			c.ask(fmt.Sprintf("echo %d", i), fmt.Sprint(i))
			_ = c.Close()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if text := h.failure.Load(); text != nil {
			t.Error(*text)
		}
	})
}
