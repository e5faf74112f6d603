package log

import (
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/device"
)

const (
	// retryInterval is how often a write that failed is tried again.
	retryInterval = 100 * time.Millisecond
	// smallCommitBytes is the size up to which a commit writes zeros ahead of itself, and aheadBytes how many.
	smallCommitBytes = 64 << 10
	aheadBytes       = 1 << 20
	// freeBuffers is how many buffers are kept for blocks to come.
	freeBuffers = 4
)

// Commit makes every entry that was appended before the call durable.
func (l *Log) Commit() error {
	l.io.Lock()
	defer l.io.Unlock()
	return l.commitLocked()
}

// WaitCommit makes every entry that ends at or below an address durable. Who comes while another commits waits for
// that, and then finds its entries durable, or commits for all who came meanwhile: one write and one sync.
func (l *Log) WaitCommit(until Address) error {
	if l.committed.Load() >= uint64(until) {
		return nil
	}
	l.io.Lock()
	defer l.io.Unlock()
	if l.committed.Load() >= uint64(until) {
		return nil
	}
	return l.commitLocked()
}

// Flush gives every entry that was appended before the call to the device, without a sync: it survives the end of
// the process, not that of the system.
func (l *Log) Flush() error {
	l.io.Lock()
	defer l.io.Unlock()
	return l.writeLocked(true)
}

// commitLocked writes and syncs. The caller holds io.
func (l *Log) commitLocked() error {
	if err := l.writeLocked(true); err != nil {
		return err
	}
	flushed := l.flushed.Load()
	if flushed == l.committed.Load() {
		return nil
	}
	l.syncs.Add(1)
	if err := l.options.Device.Sync(); err != nil {
		err = fmt.Errorf("cannot sync the log: %w", err)
		l.fail(err, true)
		return err
	}
	l.committed.Store(flushed)
	l.mu.Lock()
	l.notifyLocked()
	l.mu.Unlock()
	return nil
}

// writeLocked writes the sealed blocks, and with all the open one. The caller holds io.
func (l *Log) writeLocked(all bool) error {
	if f := l.failure.Load(); f != nil && f.permanent {
		return f.err
	}
	l.mu.Lock()
	if all && l.open != nil {
		l.sealLocked()
	}
	blocks := l.sealed[:len(l.sealed):len(l.sealed)]
	l.mu.Unlock()
	if len(blocks) == 0 {
		return nil
	}
	written, err := l.put(blocks)
	l.release(blocks[:written])
	if err != nil {
		err = fmt.Errorf("cannot write the log: %w", err)
		l.fail(err, false)
		return err
	}
	if f := l.failure.Load(); f != nil && !f.permanent {
		l.failure.Store(nil)
	}
	return nil
}

// put writes blocks and returns how many of them, from the first on, the device has taken.
func (l *Log) put(blocks []*block) (written int, err error) {
	l.requests = l.requests[:0]
	size := 0
	for _, b := range blocks {
		l.prepare(b.address, l.finish(b))
		size += len(b.bytes)
	}
	last := blocks[len(blocks)-1]
	if zeros := l.ahead(last, size); len(zeros) > 0 {
		l.prepare(last.address+Address(last.size()), zeros)
	}
	for len(l.done) < len(l.requests) {
		l.done = append(l.done, nil)
	}
	l.queue.SubmitAndPoll(l.requests, l.done, true)
	for l.queue.InFlight() > 0 {
		l.queue.Poll(l.done, true)
	}
	for _, r := range l.requests {
		if err = r.Err; err != nil {
			break
		}
		l.extended = max(l.extended, Address(r.Address)+Address(len(r.Buffer)))
		written++
	}
	if written >= len(blocks) {
		return len(blocks), nil // zeros that found no place are not missed
	}
	return written, err
}

// prepare adds a write to the requests.
func (l *Log) prepare(at Address, bytes []byte) {
	n := len(l.requests)
	if n < cap(l.requests) {
		l.requests = l.requests[:n+1]
	} else {
		l.requests = append(l.requests, nil)
	}
	if l.requests[n] == nil {
		l.requests[n] = new(device.Request)
	}
	*l.requests[n] = device.Request{Op: device.OpWrite, Address: uint64(at), Buffer: bytes}
}

// finish fills the header in, once, and returns the whole block.
func (l *Log) finish(b *block) []byte {
	length := len(b.bytes) - headerBytes
	whole := b.bytes[:b.size()]
	if b.finished {
		return whole
	}
	clear(whole[len(b.bytes):])
	h := header{
		length: uint32(length), first: uint32(length), address: b.address,
		durable: Address(l.committed.Load()), begin: l.announce, generation: l.generation,
	}
	if b.first >= 0 {
		h.first = uint32(b.first)
	}
	h.put(whole)
	b.finished = true
	return whole
}

// ahead returns the zeros to write behind the last block of a commit of so many bytes.
func (l *Log) ahead(last *block, size int) []byte {
	end := last.address + Address(last.size())
	if size > smallCommitBytes || end <= l.extended || end == l.segment(end) {
		return nil
	}
	return l.zeros[:min(uint64(aheadBytes), l.geometry.room(end))]
}

// release takes written blocks off the list and frees their room.
func (l *Log) release(blocks []*block) {
	if len(blocks) == 0 {
		return
	}
	last := blocks[len(blocks)-1]
	l.flushed.Store(uint64(last.address) + last.size())
	var used int64
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range blocks {
		used += b.used
		if len(l.free) < freeBuffers {
			l.free = append(l.free, b.buffer)
		}
	}
	l.sealed = append(l.sealed[:0], l.sealed[len(blocks):]...)
	l.used.Add(-used)
	if l.waiting > 0 {
		l.room.Broadcast()
	}
}

// fail notes why the log takes no entries. A permanent reason stays.
func (l *Log) fail(err error, permanent bool) {
	l.failure.Store(&failure{err, permanent})
	l.mu.Lock()
	l.notifyLocked()
	l.mu.Unlock()
	wake(l.wake)
}

// notifyLocked wakes everyone who waits for the log to move on.
func (l *Log) notifyLocked() {
	l.room.Broadcast()
	if l.advanced != nil {
		close(l.advanced)
		l.advanced = nil
	}
}

// writeBehind writes blocks as they fill up, and tries again what failed.
func (l *Log) writeBehind() {
	for {
		if f := l.failure.Load(); f != nil && !f.permanent {
			select {
			case <-l.stop:
				return
			case <-time.After(retryInterval):
			}
		} else {
			select {
			case <-l.stop:
				return
			case <-l.wake:
			}
		}
		l.mu.Lock()
		starved := l.waiting > 0
		l.mu.Unlock()
		l.io.Lock()
		_ = l.writeLocked(starved) // the failure is kept, and seen by Err and by who appends
		l.io.Unlock()
	}
}
