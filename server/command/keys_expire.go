package command

import (
	"math"

	"github.com/pyropedb/pyrope/tsavorite"
)

// expire is EXPIRE key seconds [NX|XX|GT|LT].
func expire(c *Context) { c.expireBy(relativeSeconds) }

// pexpire is PEXPIRE key milliseconds [NX|XX|GT|LT].
func pexpire(c *Context) { c.expireBy(relativeMilliseconds) }

// expireat is EXPIREAT key unix-seconds [NX|XX|GT|LT].
func expireat(c *Context) { c.expireBy(absoluteSeconds) }

// pexpireat is PEXPIREAT key unix-milliseconds [NX|XX|GT|LT].
func pexpireat(c *Context) { c.expireBy(absoluteMilliseconds) }

func (c *Context) expireBy(unit expiryUnit) {
	u := &c.expire
	*u = expireUpdater{now: c.Now()}
	if !c.expireConditions(u) {
		return
	}
	n, ok := c.integerArgument(c.Args[2])
	if !ok {
		return
	}
	if u.deadline, ok = expireDeadline(n, unit, u.now); !ok {
		c.errorf(errInvalidExpire, c.command.fullName)
		return
	}
	if u.deadline > u.now {
		c.giveDeadline(c.keyspace, u.deadline)
	}
	status, ok := c.update(c.Args[1], u)
	if !ok {
		return
	}
	switch {
	case status == tsavorite.Deleted:
		c.notify(genericEvent, "del", c.Args[1])
	case u.done:
		c.notify(genericEvent, "expire", c.Args[1])
	}
	c.flag(u.done)
}

// expireConditions reads the options behind the time, and replies if they are wrong.
func (c *Context) expireConditions(u *expireUpdater) bool {
	for _, word := range c.Args[3:] {
		switch {
		case equalFold(word, "nx"):
			u.onlyIfNone = true
		case equalFold(word, "xx"):
			u.onlyIfSome = true
		case equalFold(word, "gt"):
			u.onlyIfLater = true
		case equalFold(word, "lt"):
			u.onlyIfSooner = true
		default:
			c.errorf(errUnsupportedOption, echo(word, len(word)))
			return false
		}
	}
	switch {
	case u.onlyIfNone && (u.onlyIfSome || u.onlyIfLater || u.onlyIfSooner):
		c.error(errNXAndOthers)
	case u.onlyIfLater && u.onlyIfSooner:
		c.error(errGTAndLT)
	default:
		return true
	}
	return false
}

// expireDeadline turns the time of an EXPIRE into a deadline; ok is false if that overflows. Other
// than in SET the time may be negative.
func expireDeadline(n int64, unit expiryUnit, now int64) (deadline int64, ok bool) {
	if unit.inSeconds() {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	if unit.isRelative() {
		if n > math.MaxInt64-now {
			return 0, false
		}
		n += now
	}
	return n, true
}

// expireUpdater gives a key a deadline under conditions on the one it has. A deadline that has
// passed removes the key.
type expireUpdater struct {
	now      int64
	deadline int64

	onlyIfNone   bool // NX
	onlyIfSome   bool // XX
	onlyIfLater  bool // GT; a key without deadline counts as one with an infinite one
	onlyIfSooner bool // LT

	done bool // outcome
}

// Plan decides by the conditions.
func (u *expireUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.done = found && u.allows(current.Deadline)
	switch {
	case !u.done:
		return tsavorite.Plan{Action: tsavorite.Keep}
	case u.deadline <= u.now:
		return tsavorite.Plan{Action: tsavorite.Remove}
	}
	plan := tsavorite.Plan{Action: tsavorite.SetMetadata, Metadata: current.Metadata}
	plan.Deadline = u.deadline
	return plan
}

func (u *expireUpdater) allows(present int64) bool {
	none := present == 0
	return !(u.onlyIfNone && !none) &&
		!(u.onlyIfSome && none) &&
		!(u.onlyIfLater && (none || u.deadline <= present)) &&
		!(u.onlyIfSooner && !none && u.deadline >= present)
}

func (u *expireUpdater) wantsValue(int64) bool { return false }

// Write is never called: the plan keeps the value.
func (u *expireUpdater) Write([]byte, tsavorite.Record) {}

// persist is PERSIST key.
func persist(c *Context) {
	c.persister = persistUpdater{}
	if _, ok := c.update(c.Args[1], &c.persister); ok {
		if c.persister.done {
			c.notify(genericEvent, "persist", c.Args[1])
		}
		c.flag(c.persister.done)
	}
}

// persistUpdater takes a key's deadline away.
type persistUpdater struct{ done bool }

// Plan replaces the metadata if they have a deadline.
func (u *persistUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.done = found && current.Deadline != 0
	if !u.done {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	plan := tsavorite.Plan{Action: tsavorite.SetMetadata, Metadata: current.Metadata}
	plan.Deadline = 0
	return plan
}

func (u *persistUpdater) wantsValue(int64) bool { return false }

// Write is never called: the plan keeps the value.
func (u *persistUpdater) Write([]byte, tsavorite.Record) {}

// The replies of TTL and its kin for keys without a deadline.
const (
	ttlNoKey      = -2
	ttlNoDeadline = -1
)

// ttl is TTL key.
func ttl(c *Context) { c.deadlineReply(relativeSeconds) }

// pttl is PTTL key.
func pttl(c *Context) { c.deadlineReply(relativeMilliseconds) }

// expiretime is EXPIRETIME key.
func expiretime(c *Context) { c.deadlineReply(absoluteSeconds) }

// pexpiretime is PEXPIRETIME key.
func pexpiretime(c *Context) { c.deadlineReply(absoluteMilliseconds) }

// deadlineReply replies with the deadline of the key in Args[1]. Seconds are rounded to the nearest.
func (c *Context) deadlineReply(unit expiryUnit) {
	metadata, found, ok := c.look()
	if !ok {
		return
	}
	if c.lookedUp(c.Args[1], found); !found {
		c.integer(ttlNoKey)
		return
	}
	if metadata.Deadline == 0 {
		c.integer(ttlNoDeadline)
		return
	}
	reply := metadata.Deadline
	if unit.isRelative() {
		reply = max(reply-c.Now(), 0)
	}
	if unit.inSeconds() {
		reply = reply/1000 + (reply%1000+500)/1000 // no overflow for a deadline near the largest
	}
	c.integer(reply)
}
