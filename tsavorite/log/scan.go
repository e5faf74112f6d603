package log

// Entry is one entry of a scan. Its bytes are valid until the next call of the scanner.
type Entry struct {
	Address Address
	Bytes   []byte
}

// Scanner reads the committed entries of a log in order, while it is appended to. It belongs to one goroutine.
type Scanner struct {
	log     *Log
	reader  *reader
	from    Address // entries below are left out
	next    Address // the next block
	entries assembler
	ready   []Entry // of the last block, whose bytes the reader holds
	taken   int     // how many of them were handed out
}

// Scan returns a scanner of the entries at or above an address, which is one that Tail or a scan returned, or the
// log's begin. The caller closes it.
func (l *Log) Scan(from Address) (*Scanner, error) {
	if uint64(from) < l.begin.Load() {
		return nil, ErrTruncated
	}
	r, err := newReader(l.options.Device)
	if err != nil {
		return nil, err
	}
	return &Scanner{log: l, reader: r, from: from, next: l.segment(from)}, nil
}

// Close frees the scanner.
func (s *Scanner) Close() error { return s.reader.close() }

// Position is an address that every entry to come lies at or above: from here another scan may go on.
func (s *Scanner) Position() Address {
	switch {
	case s.taken < len(s.ready):
		return s.ready[s.taken].Address
	case s.entries.missing > 0:
		return s.entries.at
	}
	return max(s.from, s.next)
}

// Next returns the next entry; ok is false when there is none that is committed, see Wait.
func (s *Scanner) Next() (entry Entry, ok bool, err error) {
	for s.taken == len(s.ready) {
		if more, err := s.load(); err != nil || !more {
			return Entry{}, false, err
		}
	}
	s.taken++
	return s.ready[s.taken-1], true, nil
}

// load reads the next block.
func (s *Scanner) load() (more bool, err error) {
	s.ready, s.taken = s.ready[:0], 0
	limit := s.log.CommittedUntil()
	if s.next = s.log.place(s.next); s.next >= limit {
		return false, nil
	}
	h, payload, problem, err := s.reader.block(s.next, limit)
	if err != nil {
		return false, err
	}
	if problem == "" {
		problem, err = s.entries.feed(h, payload, func(at Address, entry []byte) error {
			if at >= s.from {
				s.ready = append(s.ready, Entry{at, entry})
			}
			return nil
		})
	}
	if problem != "" {
		return false, s.log.damage(s.next, problem)
	}
	s.next += Address(h.size())
	return true, err
}

// Wait blocks until there may be more entries, stop is closed, or the log takes no more; then it returns what Err
// of the log says.
func (s *Scanner) Wait(stop <-chan struct{}) error {
	l := s.log
	for {
		l.mu.Lock()
		if l.advanced == nil {
			l.advanced = make(chan struct{})
		}
		advanced := l.advanced
		l.mu.Unlock()
		if s.taken < len(s.ready) || l.place(s.next) < l.CommittedUntil() {
			return nil
		}
		if f := l.failure.Load(); f != nil && f.permanent {
			return f.err
		}
		select {
		case <-stop:
			return nil
		case <-advanced:
		}
	}
}
