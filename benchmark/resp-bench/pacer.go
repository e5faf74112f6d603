package main

import "time"

// pacer holds one worker of an online run to its share of --rate: sends are due at equal intervals, whatever the replies do.
// Its zero value does not hold it back.
type pacer struct {
	interval time.Duration
	due      time.Time // of the next send
}

// newPacer returns the pacer of one of count workers that send inFlight operations at a time; their first sends are spread over an interval.
func newPacer(rate, inFlight, count, number int, began time.Time) pacer {
	if rate == 0 {
		return pacer{}
	}
	interval := time.Duration(float64(inFlight) * float64(count) / float64(rate) * float64(time.Second))
	return pacer{interval: interval, due: began.Add(interval / time.Duration(count) * time.Duration(number))}
}

// await waits until the next send is due, and returns when its latency begins. For a worker that is late, because replies came late,
// that is when it was due: what would have been sent in the meantime has waited for the server too. One that has slept begins when
// it wakes: the clock's delay is not the server's.
func (p *pacer) await() time.Time {
	now := time.Now()
	if p.interval == 0 {
		return now
	}
	due := p.due
	p.due = due.Add(p.interval)
	if wait := due.Sub(now); wait > 0 {
		time.Sleep(wait)
		return time.Now()
	}
	return due
}
