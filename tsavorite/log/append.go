package log

import (
	"encoding/binary"
	"fmt"
)

// cost is what an entry of so many bytes counts for in memory.
func cost(length int) int64 { return int64(length) + lengthBytes }

// TryReserve takes room in memory for an entry of so many bytes, which AppendReserved uses up or Unreserve gives
// back. It neither blocks nor waits: false is no room now, see WaitRoom; an error is a log that takes no entries.
func (l *Log) TryReserve(length int) (bool, error) {
	if f := l.failure.Load(); f != nil {
		return false, f.err
	}
	if length > MaxEntryBytes {
		return false, fmt.Errorf("%w: %d bytes, of at most %d", ErrTooLarge, length, MaxEntryBytes)
	}
	want := cost(length)
	if !l.fits(l.used.Add(want)-want, want) {
		l.giveBack(want)
		return false, nil
	}
	return true, nil
}

// fits says whether an entry finds room beside what is used. One that is longer than the memory needs half of it free,
// so that the next one has to wait for it (L8).
func (l *Log) fits(used, want int64) bool {
	memory := int64(l.options.MemoryBytes)
	return used+want <= memory || used <= memory/2
}

// Unreserve gives back room that TryReserve took.
func (l *Log) Unreserve(length int) { l.giveBack(cost(length)) }

// giveBack frees room and wakes who waits for it.
func (l *Log) giveBack(bytes int64) {
	l.used.Add(-bytes)
	l.mu.Lock()
	if l.waiting > 0 {
		l.room.Broadcast()
	}
	l.mu.Unlock()
}

// WaitRoom blocks until an entry of so many bytes may find room, or the log takes no entries.
func (l *Log) WaitRoom(length int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting++
	defer func() { l.waiting-- }()
	for {
		if f := l.failure.Load(); f != nil {
			return f.err
		}
		if l.fits(l.used.Load(), cost(length)) {
			return nil
		}
		wake(l.wake) // the open block too must go out now
		l.room.Wait()
	}
}

// Append adds one entry, put together from parts, and waits for room in memory if it must. The entry lies at the
// first address and ends at the second: CommittedUntil at or above that means that it is durable.
func (l *Log) Append(parts ...[]byte) (at, end Address, err error) {
	length := total(parts)
	for {
		reserved, err := l.TryReserve(length)
		if err != nil {
			return 0, 0, err
		}
		if reserved {
			at, end = l.AppendReserved(length, parts...)
			return at, end, nil
		}
		if err := l.WaitRoom(length); err != nil {
			return 0, 0, err
		}
	}
}

func total(parts [][]byte) (length int) {
	for _, part := range parts {
		length += len(part)
	}
	return length
}

// AppendReserved is Append for an entry for which TryReserve took room, so many bytes or less than was reserved: it
// neither waits nor fails. The parts are copied.
func (l *Log) AppendReserved(reserved int, parts ...[]byte) (at, end Address) {
	length := total(parts)
	l.mu.Lock()
	defer l.mu.Unlock()
	if reserved != length {
		l.used.Add(int64(length - reserved))
	}
	b := l.blockLocked(lengthBytes)
	at = b.end()
	if b.first < 0 {
		b.first = len(b.bytes) - headerBytes
	}
	b.bytes = binary.LittleEndian.AppendUint32(b.bytes, uint32(length))
	b.used += lengthBytes
	for _, part := range parts {
		for len(part) > 0 {
			b = l.blockLocked(1)
			n := min(len(part), cap(b.bytes)-len(b.bytes))
			b.bytes = append(b.bytes, part[:n]...)
			b.used += int64(n)
			part = part[n:]
		}
	}
	return at, b.end()
}

// blockLocked returns the open block if it has so many bytes left, or opens the next one.
func (l *Log) blockLocked(bytes int) *block {
	if b := l.open; b != nil && cap(b.bytes)-len(b.bytes) >= bytes {
		return b
	}
	if l.open != nil {
		l.sealLocked()
		wake(l.wake)
	}
	at := l.place(l.next)
	capacity := int(min(uint64(l.options.PageBytes), l.geometry.room(at)))
	var buffer []byte
	if last := len(l.free) - 1; last >= 0 {
		buffer, l.free = l.free[last], l.free[:last]
	} else {
		buffer = make([]byte, l.options.PageBytes)
	}
	l.open = &block{address: at, buffer: buffer, bytes: buffer[:headerBytes:capacity], first: -1}
	return l.open
}

// sealLocked ends the open block.
func (l *Log) sealLocked() {
	b := l.open
	l.open = nil
	l.sealed = append(l.sealed, b)
	l.next = b.address + Address(pad(uint64(len(b.bytes))))
}

// wake tells the goroutine behind a channel of capacity 1 that there is work.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
