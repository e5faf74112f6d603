package network

// Shift has the first count loops take part, or all, and the others give their connections away.
func (s *Server) Shift(count int) {
	s.setActive(min(count, len(s.loops)))
	s.empty()
}

// LoopConnections is how many connections each loop has.
func (s *Server) LoopConnections() (counts []int) {
	for _, l := range s.loops {
		counts = append(counts, int(l.connections.Load()))
	}
	return counts
}

// Crew is what decides how many loops take part.
type Crew struct{ crew }

// Next returns how many of limit loops should take part.
func (c *Crew) Next(active, limit int, load, idle float64) int {
	return c.next(active, limit, load, idle)
}
