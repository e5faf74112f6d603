package command

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// gate lets one goroutine be alone: it holds back who wants to enter, and waits for who is inside.
// A context is inside while its session is entered: from the begin of a batch to its end, but for
// what it spends in Wait. Going through an open gate is one store and one load.
type gate struct {
	shut atomic.Bool // pairs with Context.inside: each side stores its own word, then loads the other's
	mu   sync.Mutex  // held by who is alone
}

// passGate marks the context as inside, once nobody is alone.
func (c *Context) passGate() {
	for {
		c.inside.Store(true)
		g := &c.State.gate
		if !g.shut.Load() {
			return
		}
		c.inside.Store(false)
		g.wait()
	}
}

// wait returns when who is alone now is done.
func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
}

// alone runs do while no context carries out a command. The caller must be outside, see
// Context.Wait. It waits for the commands that have begun, and those that follow wait for do.
func (s *State) alone(do func()) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.shut.Store(true)
	defer s.gate.shut.Store(false)
	// A context that is made from now on finds the gate shut.
	s.mu.Lock()
	contexts := make([]*Context, 0, len(s.mu.contexts))
	for c := range s.mu.contexts {
		contexts = append(contexts, c)
	}
	s.mu.Unlock()
	for _, c := range contexts {
		for attempt := 0; c.inside.Load(); attempt++ {
			if attempt < gateYields {
				runtime.Gosched()
			} else {
				time.Sleep(gatePause)
			}
		}
	}
	do()
}

const (
	gateYields = 100
	gatePause  = 20 * time.Microsecond
)
