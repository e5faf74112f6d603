package server

// One cap over everything: the log has what the rest leaves of it.

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pyropedb/pyrope/device/aligned"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/server/network"
)

const (
	// governInterval is how often the log's share follows what else takes memory.
	governInterval = 100 * time.Millisecond
	// clientShare is the part of the cap, one in clientShare, that is kept free for the buffers of connections: they
	// come and go faster than pages can be given back.
	clientShare = 8
	// stallPatience is how long a peer may take nothing while connections hold more than their part, and stallBytes what
	// nobody minds.
	stallPatience = 10 * time.Second
	stallBytes    = 64 << 10
	// minIntakeBytes is the least that incomplete requests may take, whatever the connections' part of the cap.
	minIntakeBytes = 4 << 20
	// collectInterval is the least time between two collections for want of memory.
	collectInterval = time.Second
	// heapShare is the part of the cap, one in heapShare, above which the collector works without regard to its cost.
	heapShare = 2
	// minHeapBytes is the least such limit: below it the collector would run without end for the buffers of many
	// connections.
	minHeapBytes = 64 << 20
	// heapGrowthPercent is how much garbage may gather beside what lives on the Go heap. Keys and
	// values are elsewhere and commands allocate next to nothing, so that the collector seldom
	// runs, and a heap that stays small costs little. With 2 million records behind 64 MB of
	// memory, 25 instead of Go's 100 took the process from 134 to 122 MB.
	heapGrowthPercent = 25
)

// ceiling is up to where CONFIG SET may raise the cap: address space, which costs nothing until it is used.
func ceiling(memory config.Size) uint64 {
	if !aligned.Lazy {
		return uint64(memory)
	}
	return max(uint64(memory), config.MachineMemory())
}

// logMemory is the part of the cap that the log has before the rest has taken anything.
func logMemory(o *config.Options) uint64 { return uint64(o.Memory - o.Memory%o.Page) }

// governor is what runGovernor remembers; its goroutine's alone.
type governor struct {
	collected time.Time
	stalled   map[*command.Client]stall
}

// stall is since when what a connection holds has not changed.
type stall struct {
	bytes int
	since time.Time
}

// runGovernor lets the log's share of memory follow, until the server closes.
func (s *Server) runGovernor() {
	defer s.sampler.Done()
	ticker := time.NewTicker(governInterval)
	defer ticker.Stop()
	var g governor
	for {
		select {
		case now := <-ticker.C:
			s.dropStalled(&g, now)
			s.dropLaggards(now)
			if wanted, granted := s.logShare(); wanted < granted && s.ownsProcess && now.Sub(g.collected) >= collectInterval {
				debug.FreeOSMemory() // garbage goes before data
				g.collected = now
			}
			s.govern(false)
		case <-s.state.Server.Closing:
			return
		}
	}
}

// logShare is what the rest leaves of the cap for the log, and what the log is granted now. What connections hold beyond
// their part counts for nothing: they are dropped for it, not data.
func (s *Server) logShare() (wanted, granted uint64) {
	limit := uint64(s.state.Server.Current().Memory)
	info := s.store.Info()
	rest := info.IndexBytes + info.OverflowBytes
	if s.ownsProcess {
		rest = less(s.state.RestOfProcess(), s.clientBytes())
	}
	return less(limit, rest+limit/clientShare), info.MemoryBytes
}

// govern gives the log its share. It shrinks at once and grows page by page, unless it is to be at once: what comes
// and goes does not move pages.
func (s *Server) govern(atOnce bool) {
	wanted, granted := s.logShare()
	if page := s.store.PageBytes(); wanted > granted && !atOnce {
		if wanted < granted+page+page/2 {
			return
		}
		wanted = granted + page
	}
	s.store.SetMemory(wanted)
}

// dropStalled ends connections whose peers neither take their replies nor send the rest of their requests, those that hold most first, while
// all together hold more than their part of the cap.
func (s *Server) dropStalled(g *governor, now time.Time) {
	held, limit := s.clientBytes(), uint64(s.state.Server.Current().Memory)/clientShare
	if held <= limit {
		g.stalled = nil
		return
	}
	seen, idle := make(map[*command.Client]stall), []*command.Client(nil)
	s.state.Server.Clients.Each(func(client *command.Client) {
		bytes := client.Transport.OutputBytes() + client.Transport.InputCapacity()
		if client.Address == inProcess || bytes < stallBytes {
			return
		}
		known, ok := g.stalled[client]
		if !ok || known.bytes != bytes {
			known = stall{bytes, now}
		}
		seen[client] = known
		isStalled := now.Sub(known.since) >= stallPatience && now.Sub(client.Transport.LastInteraction()) >= stallPatience
		if isStalled && client.Transport.WaitsForPeer() { // else it is the server that is slow
			idle = append(idle, client)
		}
	})
	g.stalled = seen
	slices.SortFunc(idle, func(a, b *command.Client) int { return seen[b].bytes - seen[a].bytes })
	for _, client := range idle {
		if held <= limit {
			return
		}
		bytes := seen[client].bytes
		s.log.Warn("a connection is closed: memory is short, and its peer takes nothing", "held", bytes, "client", client.Address)
		held = less(held, uint64(bytes))
		delete(seen, client)
		client.Transport.Kill()
	}
}

// dropLaggards ends connections whose peers have begun a request and do not send the rest, while others wait for the room it takes.
func (s *Server) dropLaggards(now time.Time) {
	listening := s.listening()
	if listening == nil {
		return
	}
	for _, c := range listening.Laggards(now, stallPatience) {
		s.log.Warn("a connection is closed: its peer sends too little of its request, and others wait for the room it takes",
			"received", c.InputBytes(), "waiting", listening.InputWaiting(), "client", c.RemoteAddress())
		c.Kill()
	}
}

// intakeBytes is the room for incomplete requests: the connections' part of the cap.
func intakeBytes(memory config.Size) int { return max(int(memory/clientShare), minIntakeBytes) }

// less is a-b, or 0.
func less(a, b uint64) uint64 { return a - min(a, b) }

// clientBytes is the size of the buffers that connections hold.
func (s *Server) clientBytes() uint64 {
	return s.buffers().Bytes
}

// buffers is what connections hold.
func (s *Server) buffers() command.Buffers {
	if listening := s.listening(); listening != nil {
		return command.Buffers{Bytes: uint64(max(0, listening.HeldBytes())), Waiting: listening.InputWaiting()}
	}
	return command.Buffers{}
}

// listening is what serves connections, or nil.
func (s *Server) listening() *network.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.network
}

// changeMemory puts another cap or policy to use.
func (s *Server) changeMemory(before, after *config.Options) {
	if after.Policy != before.Policy {
		s.store.SetEvictOldest(after.Policy.EvictsAny())
		s.store.SetEvictExpiring(after.Policy.EvictsExpiring())
	}
	if after.Memory != before.Memory {
		s.boundHeap(after.Memory)
		s.govern(true)
	}
}

// checkMemory says why a cap cannot be had while the server runs.
func (s *Server) checkMemory(o *config.Options) error {
	if most := s.store.Info().MemoryCeilingBytes; uint64(o.Memory) > most {
		return fmt.Errorf("argument must be at most %d: that much was reserved at the start", most)
	}
	return nil
}

// boundHeap keeps the Go heap within its part of the cap, in a process that is the server's own. What the environment
// says (GOGC, GOMEMLIMIT) stands.
func (s *Server) boundHeap(limit config.Size) {
	if !s.ownsProcess {
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowthPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(max(limit/heapShare, minHeapBytes)))
	}
}
