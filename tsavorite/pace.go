package tsavorite

import "time"

// pace keeps work in the background to so many bytes a second, so that it takes a share of the processors and of the disk, and no more.
type pace struct {
	rate uint64    // bytes a second; 0 is no bound
	next time.Time // when the next bytes are due
}

// await blocks until so many bytes are due. It returns false at once when stop is closed, which may be nil.
func (p *pace) await(bytes int, stop <-chan struct{}) bool {
	wait := time.Duration(0)
	if p.rate > 0 {
		now := time.Now()
		wait = p.next.Sub(now)
		if wait < -time.Second {
			p.next = now // what was missed is not made up for
		}
		p.next = p.next.Add(time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second)))
	}
	return sleepUnless(wait, stop)
}

// sleepUnless sleeps. It returns false at once when stop is closed, which may be nil.
func sleepUnless(d time.Duration, stop <-chan struct{}) bool {
	if d <= 0 {
		return !isClosed(stop)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// isClosed reports whether a channel is closed, which nobody sends to; it may be nil.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
