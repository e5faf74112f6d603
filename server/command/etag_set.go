package command

import (
	"math"

	"github.com/pyropedb/pyrope/tsavorite"
)

// setWithEtag is SETWITHETAG key value [EX s|PX ms].
func setWithEtag(c *Context) {
	options, ok := c.etagOptions(c.Args[3:], false)
	if !ok {
		return
	}
	u := &c.etag
	*u = etagUpdater{value: c.Args[2], deadline: options.deadline}
	if c.setEtag(u) {
		c.integer(int64(u.etag))
	}
}

// setOptionEtag is SET with WITHETAG, and the other options there may be: the reply is the new etag, or
// null if a condition did not hold.
func (c *Context) setOptionEtag(options setOptions, deadline int64) {
	if options.wantOld {
		c.error(errSyntax)
		return
	}
	u := &c.etag
	*u = etagUpdater{value: c.Args[2], deadline: deadline, keepDeadline: options.keepDeadline,
		bornDead:      deadline != 0 && deadline < c.Now(),
		onlyIfMissing: options.onlyIfMissing, onlyIfPresent: options.onlyIfPresent}
	switch {
	case !c.setEtag(u):
	case u.written:
		c.integer(int64(u.etag))
	default:
		c.null()
	}
}

// setIfMatch is SETIFMATCH key value etag [EX s|PX ms] [NOGET].
func setIfMatch(c *Context) { c.setIfEtag(etagMatches) }

// setIfGreater is SETIFGREATER key value etag [EX s|PX ms] [NOGET].
func setIfGreater(c *Context) { c.setIfEtag(etagGreater) }

func (c *Context) setIfEtag(condition etagCondition) {
	given, ok := c.etagArgument(c.Args[3])
	if !ok {
		return
	}
	options, ok := c.etagOptions(c.Args[4:], true)
	if !ok {
		return
	}
	c.source.value.reset()
	u := &c.etag
	*u = etagUpdater{condition: condition, given: given, value: c.Args[2],
		deadline: options.deadline, keepDeadline: options.deadline == 0}
	if !options.noGet {
		u.refused = &c.source.value
	}
	if c.setEtag(u) {
		c.etagReply(u.etag, !u.written && !options.noGet)
	}
}

// etagOptions are the words behind the other arguments of the commands that set an etag.
type etagOptions struct {
	deadline int64 // 0 for none
	noGet    bool
}

// etagOptions reads them, and replies if they are wrong.
func (c *Context) etagOptions(words [][]byte, conditional bool) (o etagOptions, ok bool) {
	for i := 0; i < len(words); i++ {
		unit := expiryOption(words[i])
		switch {
		case unit.isRelative() && o.deadline == 0 && i+1 < len(words):
			i++
			var problem string
			if o.deadline, problem = deadlineOf(words[i], unit, c.Now()); problem != "" {
				c.deadlineProblem(problem)
				return o, false
			}
		case conditional && !o.noGet && equalFold(words[i], "noget"):
			o.noGet = true
		default:
			c.error(errSyntax)
			return o, false
		}
	}
	return o, true
}

// setEtag runs an updater on the key in Args[1]. It replies only with an error, and reports whether
// the handler has to reply.
func (c *Context) setEtag(u *etagUpdater) bool {
	c.giveDeadline(c.keyspace, u.deadline)
	if _, ok := c.update(c.Args[1], u); !ok {
		return false
	}
	if u.overflow {
		c.error(errEtagOverflow)
		return false
	}
	return true
}

// etagCondition is what a command asks of a key's etag before it gives it a value.
type etagCondition uint8

const (
	etagAny     etagCondition = iota // the new etag counts on
	etagMatches                      // it is the one given; the new one counts on
	etagGreater                      // the one given is greater; it is the new one
)

// etagUpdater gives a key a value and an etag. A key that holds no string counts as missing.
type etagUpdater struct {
	condition                    etagCondition
	given                        uint64
	onlyIfMissing, onlyIfPresent bool
	value                        []byte
	deadline                     int64
	keepDeadline                 bool      // of the key, if it has one
	bornDead                     bool      // the deadline has passed already: the key is removed instead
	refused                      *oldValue // takes the value of a key that does not get the new one; nil if it is not wanted

	written  bool   // outcome: the conditions held
	etag     uint64 // outcome: the new one, or the one that did not pass
	overflow bool   // outcome: the new one would be too large, and nothing was written
}

// Plan decides by the conditions.
func (u *etagUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	isString := found && current.Kind == kindString
	allowed := !(found && u.onlyIfMissing) && !(!found && u.onlyIfPresent)
	next := u.next(current.Etag, isString)
	u.written = allowed && next.passes
	u.overflow = u.written && next.etag > math.MaxInt64
	switch {
	case u.overflow:
		return tsavorite.Plan{Action: tsavorite.Keep}
	case !u.written:
		u.etag = current.Etag
		if u.refused != nil {
			u.refused.take(current, found)
		}
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	u.etag = next.etag
	if u.bornDead {
		return tsavorite.Plan{Action: tsavorite.Remove}
	}
	plan := tsavorite.Plan{Action: tsavorite.Write, Length: len(u.value)}
	plan.Etag, plan.Deadline = u.etag, u.deadline
	if u.keepDeadline && found {
		plan.Deadline = current.Deadline
	}
	return plan
}

// nextEtag is whether an etag passes the condition, and which one follows.
type nextEtag struct {
	passes bool
	etag   uint64
}

func (u *etagUpdater) next(current uint64, found bool) nextEtag {
	switch u.condition {
	case etagMatches:
		if !found {
			return nextEtag{true, u.given + 1}
		}
		return nextEtag{current == u.given, current + 1}
	case etagGreater:
		return nextEtag{!found || u.given > current, u.given}
	}
	if !found {
		return nextEtag{true, 1}
	}
	return nextEtag{true, current + 1}
}

func (u *etagUpdater) wantsValue(int64) bool { return u.refused != nil }

func (u *etagUpdater) replacement() []byte { return u.value }

// Write fills in the value.
func (u *etagUpdater) Write(value []byte, _ tsavorite.Record) { copy(value, u.value) }

// etagRemover removes a key whose etag is smaller than the one given.
type etagRemover struct {
	given uint64

	removed   bool // outcome
	wrongType bool // outcome: the key holds no string, and was left alone
}

// Plan removes the key if its etag is smaller.
func (u *etagRemover) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.wrongType = found && current.Kind != kindString
	u.removed = found && !u.wrongType && u.given > current.Etag
	if !u.removed {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{Action: tsavorite.Remove}
}

func (u *etagRemover) wantsValue(int64) bool { return false }

// Write is never called: the plan has no value.
func (u *etagRemover) Write([]byte, tsavorite.Record) {}
