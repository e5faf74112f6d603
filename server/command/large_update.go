package command

import "github.com/pyropedb/pyrope/tsavorite"

// An Updater that knows nothing of large strings is given their value as a whole, and writes one as a
// whole. These interfaces spare that.

// indifferentUpdater is an Updater that may not look at the present value, a large string of length bytes.
type indifferentUpdater interface {
	wantsValue(length int64) bool
}

// replacingUpdater is an Updater whose new value is there already.
type replacingUpdater interface {
	replacement() []byte
}

// partialUpdater is an Updater that reads and writes parts of a large string, by the methods of v; its
// lock is held exclusively, or it is new. It makes the outcome that Plan and Write make otherwise. Found is that it did.
type partialUpdater interface {
	updateLarge(v *large) tsavorite.Status
}

// updateGuard stands in front of an Updater, and leaves the key alone where it has a large string that
// the updater wants to see, or would get one.
type updateGuard struct {
	inner    tsavorite.Updater
	keyspace *Keyspace
	limit    int // the longest value that is one record

	large      bool // outcome: the key was left alone
	removed    bool // outcome: its large string is gone
	descriptor      // of the large string, if there was one
}

// Plan asks the updater.
func (g *updateGuard) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	if found && current.Kind == kindLarge {
		return g.planLarge(current)
	}
	g.large, g.removed = false, false
	plan := g.inner.Plan(current, found)
	if plan.Action == tsavorite.Write && plan.Length > g.limit {
		g.large, g.descriptor = true, descriptor{}
		plan.Action = tsavorite.Keep
	}
	return plan
}

// planLarge asks an updater that does not look at the value. To it the record is one of a string.
func (g *updateGuard) planLarge(current tsavorite.Record) tsavorite.Plan {
	g.descriptor = parseDescriptor(current.Value)
	g.large, g.removed = true, false
	keep := tsavorite.Plan{Action: tsavorite.Keep}
	if !isIndifferent(g.inner, g.length) {
		return keep
	}
	current.Kind, current.Value = kindString, nil
	plan := g.inner.Plan(current, true)
	switch plan.Action {
	case tsavorite.Write:
		if plan.Length > g.limit {
			return keep
		}
		g.removed = true
	case tsavorite.Remove:
		g.removed = true
	case tsavorite.SetMetadata:
		plan.Kind = kindLarge
		g.keyspace.noteLarge(plan.Deadline)
	}
	g.large = false
	return plan
}

// Write has the updater write.
func (g *updateGuard) Write(value []byte, current tsavorite.Record) { g.inner.Write(value, current) }

func isIndifferent(u tsavorite.Updater, length int64) bool {
	i, ok := u.(indifferentUpdater)
	return ok && !i.wantsValue(length)
}

// tryUpdate runs an updater on a key unless that takes large strings: updateGuard.large tells.
func (c *Context) tryUpdate(key []byte, updater tsavorite.Updater) tsavorite.Status {
	g := &c.updateGuard
	g.inner, g.keyspace, g.limit, g.removed = updater, c.keyspace, c.State.large.limit, false
	status := c.Session.RMW(c.key(key), g)
	if g.removed && settled(status) == tsavorite.Found {
		c.State.large.reaper.add(orphan{c.keyspace.chunks(), g.id})
	}
	return status
}

// updateLarge runs an updater on a key that had a large string with this id, or gets one.
func (c *Context) updateLarge(key []byte, updater tsavorite.Updater, id uint64) (status tsavorite.Status) {
	partial, inParts := updater.(partialUpdater)
	c.severalVerbs(func() (again bool) {
		c.cut.begin()
		c.cut.add(c.keyspace, key)
		if status = c.cut.take(c, inParts, id); status != tsavorite.Found {
			return false
		}
		entry := &c.cut.entries[0]
		switch {
		case !inParts:
			status, again = c.updateWhole(entry, updater)
		case entry.isLarge():
			status, again = c.updateInPlace(entry, partial)
		default:
			status, again = c.enlarge(entry, updater, partial)
		}
		return again
	})
	return status
}

// updateInPlace changes parts of a large string: its chunks, and the length, are one step for who recovers. A
// value under a new id needs none: its key's record comes last.
func (c *Context) updateInPlace(entry *cutEntry, u partialUpdater) (status tsavorite.Status, again bool) {
	v := c.opened(entry.keyspace, entry.key, entry.large)
	before := v.length
	c.Session.BeginUnit() // with the lock held: who is in a unit never waits for one
	status = u.updateLarge(v)
	longer := status == tsavorite.Found && !v.lost && v.length != before
	if longer {
		c.Session.Latch(c.cut.keys) // until the unit has ended: what it says of the key's record is replayed there
		status = v.setLength()
	}
	c.Session.EndUnit()
	if longer {
		c.Session.Unlatch()
	}
	switch {
	case v.lost:
		status = c.lostStatus(v)
		return status, status == tsavorite.NotFound
	case status != tsavorite.Found:
		v.trim(before)
	}
	return status, false
}

// enlarge makes a large string out of a small one, or of none, and changes parts of it.
func (c *Context) enlarge(entry *cutEntry, updater tsavorite.Updater, u partialUpdater) (status tsavorite.Status, again bool) {
	if status = c.tryUpdate(entry.key, updater); !c.updateGuard.large {
		return status, false // it has become short enough meanwhile
	}
	v := c.newLarge(entry.keyspace, entry.key)
	if status = v.write(0, entry.small); status == tsavorite.Found {
		status = u.updateLarge(v)
	}
	if status != tsavorite.Found {
		v.abandon()
		return status, false
	}
	return c.replace(entry, v.stored(), entry.metadata)
}

// updateWhole gives the updater the value as a whole, and carries its plan out.
func (c *Context) updateWhole(entry *cutEntry, updater tsavorite.Updater) (status tsavorite.Status, again bool) {
	if !isIndifferent(updater, entry.large.length) {
		if status = entry.load(c); status != tsavorite.Found {
			return status, status == tsavorite.NotFound
		}
	}
	current := entry.record()
	plan := updater.Plan(current, entry.found)
	switch plan.Action {
	case tsavorite.Write:
		s, status := c.store(entry.keyspace, entry.key, c.newValue(updater, plan, current))
		if status != tsavorite.Found {
			return status, false
		}
		return c.replace(entry, s, plan.Metadata)
	case tsavorite.Remove:
		return c.removeUnchanged(entry)
	case tsavorite.SetMetadata:
		if !entry.isLarge() {
			return c.replace(entry, stored{value: entry.small, kind: entry.metadata.Kind}, plan.Metadata)
		}
		entry.keyspace.noteLarge(plan.Deadline)
		return c.replace(entry, stored{value: entry.large.append(nil), kind: kindLarge}, plan.Metadata)
	}
	if entry.found {
		return tsavorite.Found, false
	}
	return tsavorite.NotFound, false
}

// newValue has the updater write its value.
func (c *Context) newValue(updater tsavorite.Updater, plan tsavorite.Plan, current tsavorite.Record) []byte {
	if r, ok := updater.(replacingUpdater); ok {
		return r.replacement()
	}
	value := make([]byte, plan.Length)
	if plan.Preserve {
		copy(value, current.Value)
	}
	updater.Write(value, current)
	return value
}

// replace gives the one key of the cut a value, unless its record has changed.
func (c *Context) replace(entry *cutEntry, s stored, metadata tsavorite.Metadata) (status tsavorite.Status, again bool) {
	if status = c.cut.latchUnchanged(c); status != tsavorite.Found {
		s.abandon()
		return status, status == tsavorite.NotFound
	}
	metadata.Kind = s.kind
	status = c.Session.Upsert(entry.name(), s.value, metadata)
	c.Session.Unlatch()
	if settled(status) != tsavorite.Found {
		s.abandon()
		return status, false
	}
	s.commit(metadata.Deadline)
	if s.kind != kindLarge || s.large != nil {
		entry.release(c)
	}
	if entry.found {
		return tsavorite.Found, false
	}
	return tsavorite.Created, false
}

// removeUnchanged deletes the one key of the cut, unless its record has changed.
func (c *Context) removeUnchanged(entry *cutEntry) (status tsavorite.Status, again bool) {
	if status = c.cut.latchUnchanged(c); status != tsavorite.Found {
		return status, status == tsavorite.NotFound
	}
	status = c.Session.Delete(entry.name())
	c.Session.Unlatch()
	if settled(status) != tsavorite.Found {
		return status, false
	}
	entry.release(c)
	return tsavorite.Deleted, false
}

// release gives the chunks of a value that is no key's any more to the reaper.
func (e *cutEntry) release(c *Context) {
	if e.isLarge() {
		c.State.large.reaper.add(orphan{e.keyspace.chunks(), e.large.id})
	}
}

// overwriteLarge gives a key a large string, whatever it had.
func (c *Context) overwriteLarge(key, value []byte, deadline int64) tsavorite.Status {
	var status tsavorite.Status
	c.severalVerbs(func() bool {
		var s stored
		if s, status = c.store(c.keyspace, key, value); status != tsavorite.Found {
			return false
		}
		u := placeUpdater{stored: s, deadline: deadline}
		if status = c.Session.RMW(c.key(key), &u); settled(status) != tsavorite.Found {
			s.abandon()
			return false
		}
		s.commit(deadline)
		if u.replaces {
			c.State.large.reaper.add(orphan{c.keyspace.chunks(), u.old.id})
		}
		return false
	})
	return status
}

// placeUpdater gives a key a value that is ready, and notes which large string it had.
type placeUpdater struct {
	stored
	deadline int64

	replaces bool // outcome
	old      descriptor
}

// Plan replaces whatever there is.
func (u *placeUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	if u.replaces = found && current.Kind == kindLarge; u.replaces {
		u.old = parseDescriptor(current.Value)
	}
	return tsavorite.Plan{Action: tsavorite.Write, Length: len(u.value), Metadata: tsavorite.Metadata{Kind: u.kind, Deadline: u.deadline}}
}

// Write fills in the value.
func (u *placeUpdater) Write(value []byte, _ tsavorite.Record) { copy(value, u.value) }
