package command

import "sync/atomic"

// attention says that something wants to see every command, or every change of a key. It is one word, so that the paths that
// gather look at one thing.
type attention struct{ bits atomic.Uint32 }

// attentionCause is a reason for it, a bit each.
type attentionCause uint32

const (
	watchEvents   attentionCause = 1 << iota // notify-keyspace-events: each key that changes is told
	watchPause                               // CLIENT PAUSE: commands wait
	watchCommands                            // MONITOR: each command is told
	watchTracking                            // CLIENT TRACKING: each key that changes is looked for
)

// any tells whether there is a reason to carry out each command by itself: runs of plain GETs and SETs are then not
// gathered. watchTracking is none.
func (a *attention) any() bool { return a.bits.Load()&^uint32(watchTracking) != 0 }

// set notes whether there is a reason.
func (a *attention) set(cause attentionCause, on bool) {
	if on {
		a.bits.Or(uint32(cause))
	} else {
		a.bits.And(^uint32(cause))
	}
}

// has tells whether there is that reason, or one of several.
func (a *attention) has(cause attentionCause) bool { return a.bits.Load()&uint32(cause) != 0 }
