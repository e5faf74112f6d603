package log

import "fmt"

// Truncate drops the segments that lie wholly below an address, and says so in the log first (L7). Entries below the
// address are not missed; those above stay. The address must not lie above what is committed.
func (l *Log) Truncate(below Address) error {
	l.io.Lock()
	defer l.io.Unlock()
	if err := l.commitLocked(); err != nil {
		return err
	}
	if committed := l.CommittedUntil(); below > committed {
		return fmt.Errorf("cannot truncate the log at %d: it is committed until %d", below, committed)
	}
	begin := l.segment(below)
	if uint64(begin) <= l.begin.Load() {
		return nil
	}
	l.announce = begin
	l.mu.Lock()
	l.blockLocked(0)
	l.mu.Unlock()
	if err := l.commitLocked(); err != nil {
		return err
	}
	l.begin.Store(uint64(begin))
	if err := l.options.Device.Truncate(uint64(begin)); err != nil {
		return fmt.Errorf("cannot truncate the log: %w", err)
	}
	return nil
}
