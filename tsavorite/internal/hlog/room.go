package hlog

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
)

// Room is what WaitRoom reports.
type Room uint8

// The outcomes of WaitRoom.
const (
	RoomMade Room = iota // try again
	RoomFull             // memory is full and there is nothing to spill to
	RoomGone             // the device does not take pages, or the log is closed
)

// WaitRoom blocks until the limit is no longer seen, the value it had when Allocate failed or
// later. The caller is outside its epoch, and in a log that is compacted holds no latches. The error explains
// RoomGone.
func (l *Log) WaitRoom(seen uint64) (Room, error) { return l.waitAbove(&l.limit, seen) }

// WaitReserved is WaitRoom for compaction in a log with a device: it waits for Last.
func (l *Log) WaitReserved(seen uint64) (Room, error) { return l.waitAbove(&l.last, seen) }

func (l *Log) waitAbove(limit *atomic.Uint64, seen uint64) (Room, error) {
	l.signal()
	l.mu.Lock()
	defer l.mu.Unlock()
	for limit.Load() == seen {
		if l.shut {
			return RoomGone, fmt.Errorf("the log is closed")
		}
		if l.err != nil {
			return RoomGone, l.err
		}
		if limit == &l.limit && l.isFullLocked() {
			return RoomFull, nil
		}
		l.room.Wait()
	}
	return RoomMade, nil
}

// isFullLocked says that no room will come soon: there is no device, or no more may lie on it, nothing may be dropped, and
// compaction has found nothing to gain. When there may be something again it wakes compaction.
func (l *Log) isFullLocked() bool {
	switch {
	case l.dropsEvicted.Load() || !l.isUsedUp():
		return false
	case l.compact == nil:
		return true
	}
	if l.dead >= (l.MemoryBytes()+l.bound.bytes.Load())/gainShare {
		l.full, l.dead = false, 0
	}
	if !l.full || time.Now().After(l.until) {
		l.until, l.wanted = time.Now().Add(retryDelay), true
		l.compact()
	}
	return l.full
}

// isUsedUp says that every frame is taken and none is on its way to be freed, or that the bound is reached.
func (l *Log) isUsedUp() bool {
	if !l.neverReadOnly {
		return l.isBounded()
	}
	return l.begin.Load()&^l.pageMask <= l.closedUntil.Load()
}

// NeedsCompaction says whether the log has no page left to offer to writers, and only compaction can help.
func (l *Log) NeedsCompaction() bool { return l.LacksRoom(l.pageBytes) }

// LacksRoom says whether the log has less than so many bytes to offer to writers, and only compaction can help.
func (l *Log) LacksRoom(bytes uint64) bool {
	return l.compact != nil && !l.dropsEvicted.Load() && (l.isUsedUp() || l.LacksBound(bytes)) && l.tail.Load()+bytes > l.limit.Load()
}

// gainShare is the part of memory, one in gainShare, that must have died for another round to be worth it.
const gainShare = 16

// TakeWanted reports whether a round of compaction was asked for since the last one ended.
func (l *Log) TakeWanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted := l.wanted
	l.wanted = false
	l.setLimitLocked() // the tail may have gone on since the budget fell
	return wanted
}

// SetFull says that compaction has nothing to gain: who needs room is refused at once until enough has
// died or pause is over, and after that until a round has gained something.
func (l *Log) SetFull(pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full, l.dead, l.wanted, l.until = true, 0, false, time.Now().Add(pause)
	l.room.Broadcast()
}

// ClearFull says that there is room.
func (l *Log) ClearFull() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = false
	l.room.Broadcast()
}

// AddDead counts bytes of records that died.
func (l *Log) AddDead(bytes uint64) {
	if l.compact == nil || l.dropsEvicted.Load() {
		return
	}
	l.mu.Lock()
	l.dead += bytes
	l.mu.Unlock()
}

// AwaitRecycled blocks until the pager has freed the pages below until, which begin has passed. The
// caller is outside its epoch.
func (l *Log) AwaitRecycled(until record.Address) {
	l.signal()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.closedUntil.Load() < uint64(until) && !l.shut {
		l.room.Wait()
	}
}
