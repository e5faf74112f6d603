package tsavorite

import (
	"sync"
	"sync/atomic"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// lifetimes knows of each page on the device by when its records are past their deadlines. It is filled as pages become
// immutable, and only once a record had a deadline: a page that it does not know lives for ever.
type lifetimes struct {
	inUse atomic.Bool // a record had a deadline

	mu    sync.Mutex
	first record.Address // of pages[0]; guarded by mu
	pages []lifetime     // consecutive ones; guarded by mu
}

// lifetime is what is known of a page.
type lifetime struct {
	until    int64  // when the last record dies, in Unix milliseconds; 0 is never, or not known
	earliest int64  // when the first one does that has a deadline
	latest   int64  // and the last one that has
	expiring uint64 // bytes of records with a deadline
}

// noteDeadline says that there will be a record with a deadline.
func (l *lifetimes) noteDeadline() {
	if !l.inUse.Load() {
		l.inUse.Store(true)
	}
}

// noteLifetime looks through a page that has become immutable.
func (s *Store) noteLifetime(from, until record.Address) {
	l := &s.lifetimes
	if !l.inUse.Load() {
		return
	}
	page := s.lifetimeOf(from, until)
	l.mu.Lock()
	defer l.mu.Unlock()
	size := until - from
	if len(l.pages) == 0 {
		l.first = from
	}
	for l.first+record.Address(len(l.pages))*size < from {
		l.pages = append(l.pages, lifetime{})
	}
	if at := int((from - l.first) / size); from >= l.first && at < len(l.pages) {
		l.pages[at] = page // flushed again after a failure
	} else if from >= l.first {
		l.pages = append(l.pages, page)
	}
}

func (s *Store) lifetimeOf(from, until record.Address) (page lifetime) {
	if from == 0 {
		from = s.log.First()
	}
	forever := false
	for at := from; at+record.HeaderBytes <= until; {
		r := s.log.Record(at)
		if !r.IsValid() {
			break
		}
		at += record.Address(r.Size())
		switch deadline := r.Deadline(); {
		case r.IsTombstone():
		case deadline == 0:
			forever = true
		default:
			if page.expiring == 0 || deadline < page.earliest {
				page.earliest = deadline
			}
			page.latest = max(page.latest, deadline)
			page.expiring += uint64(r.Size())
		}
	}
	if !forever {
		page.until = max(page.latest, 1)
	}
	return page
}

// isOver reports whether all records of the page that ends at until are past their deadlines or tombstones.
func (l *lifetimes) isOver(until record.Address, pageBytes uint64, now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := until - record.Address(pageBytes)
	if from < l.first {
		return false
	}
	at := int(uint64(from-l.first) / pageBytes)
	return at < len(l.pages) && l.pages[at].until != 0 && l.pages[at].until < now
}

// drop forgets the pages below until.
func (l *lifetimes) drop(until record.Address, pageBytes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first >= until {
		return
	}
	n := min(int(uint64(until-l.first)/pageBytes), len(l.pages))
	l.first += record.Address(uint64(n) * pageBytes)
	l.pages = append(l.pages[:0], l.pages[n:]...)
}

// expired estimates how many bytes on the device are past their deadline: those of a page are taken to die evenly
// between the first and the last.
func (l *lifetimes) expired(now int64) (bytes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.pages {
		p := &l.pages[i]
		switch {
		case p.expiring == 0 || now <= p.earliest:
		case now >= p.latest:
			bytes += p.expiring
		default:
			bytes += uint64(float64(p.expiring) * float64(now-p.earliest) / float64(p.latest-p.earliest))
		}
	}
	return bytes
}
