package command

import "time"

// rates are the speeds that INFO calls instantaneous: what happened between the last two samples.
// Guarded by ServerState.mu.
type rates struct {
	at              time.Time
	processed       uint64
	input, output   uint64
	opsPerSecond    float64
	inputPerSecond  float64 // bytes
	outputPerSecond float64 // bytes
	peakMemoryBytes uint64
}

// Sample notes how far the counters are. The server calls it about once a second; INFO then
// shows the speed between the last two calls.
func (s *State) Sample(now time.Time) {
	s.considerSweep(now)
	processed := s.Totals().Processed()
	traffic := s.Server.traffic()
	memory := s.usedMemory().total()

	s.Server.mu.Lock()
	defer s.Server.mu.Unlock()
	r := &s.Server.mu.rates
	if elapsed := now.Sub(r.at).Seconds(); !r.at.IsZero() && elapsed > 0 {
		r.opsPerSecond = perSecond(r.processed, processed, elapsed)
		r.inputPerSecond = perSecond(r.input, traffic.InputBytes, elapsed)
		r.outputPerSecond = perSecond(r.output, traffic.OutputBytes, elapsed)
	}
	r.at, r.processed, r.input, r.output = now, processed, traffic.InputBytes, traffic.OutputBytes
	r.peakMemoryBytes = max(r.peakMemoryBytes, memory)
}

// perSecond is the speed of a counter, 0 when it was reset in between.
func perSecond(before, now uint64, elapsedSeconds float64) float64 {
	if now < before {
		return 0
	}
	return float64(now-before) / elapsedSeconds
}

// rates returns the last sample.
func (s *ServerState) rates() rates {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.rates
}
