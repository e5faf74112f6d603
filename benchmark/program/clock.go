package program

import "time"

// Glance is how often a Clock looks up while time goes by.
const Glance = 50 * time.Millisecond

// Clock lets the time of a run go by. It is made before the run, so that nothing is allocated within.
type Clock struct {
	end    *time.Timer
	glance *time.Ticker
}

// NewClock returns a clock; Close ends it.
func NewClock() *Clock {
	c := &Clock{end: time.NewTimer(time.Hour), glance: time.NewTicker(Glance)}
	c.end.Stop()
	return c
}

// Close stops the clock.
func (c *Clock) Close() {
	c.end.Stop()
	c.glance.Stop()
}

// Pass returns when d has gone by; d below zero is for ever. It returns earlier when over is ready, or when look, which
// is called at every glance with the time of it, says that it is over.
func (c *Clock) Pass(d time.Duration, over <-chan struct{}, look func(now time.Time) bool) {
	if d >= 0 {
		c.end.Reset(d)
	}
	for {
		select {
		case <-c.end.C:
			return
		case <-over:
			return
		case now := <-c.glance.C:
			if look(now) {
				return
			}
		}
	}
}
