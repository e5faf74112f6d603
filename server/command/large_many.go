package command

import "github.com/pyropedb/pyrope/tsavorite"

// loadedCut runs a command on the values of c.keys as they are at one moment, large ones too, all of which
// it needs as a whole. attempt returns true when it is to run again, on other values.
func (c *Context) loadedCut(attempt func(entries []cutEntry) (again bool)) (ok bool) {
	c.waitWithin(func() {})
	c.severalVerbs(func() (again bool) {
		c.cut.begin()
		for _, key := range c.keys {
			c.cut.add(c.keyspace, key.Bytes)
		}
		if ok = !c.failed(c.cut.take(c, false)); !ok {
			return false
		}
		for i := range c.cut.entries {
			switch status := c.cut.entries[i].load(c); {
			case status == tsavorite.NotFound:
				return true
			case c.failed(status):
				ok = false
				return false
			}
		}
		return attempt(c.cut.entries)
	})
	return ok
}

// record is the entry as an Updater or a Reader gets it: once loaded, a large string is one like others.
func (e *cutEntry) record() tsavorite.Record {
	r := tsavorite.Record{Value: e.small, Metadata: e.metadata}
	r.Kind = typeKind(r.Kind)
	return r
}

// status is what a Reader gets with record.
func (e *cutEntry) status() tsavorite.Status {
	if e.found {
		return tsavorite.Found
	}
	return tsavorite.NotFound
}

// countSketches is PFCOUNT of the keys in c.keys, some of which are large.
func (c *Context) countSketches() {
	c.loadedCut(func(entries []cutEntry) bool {
		if m, ok := c.mergeEntries(entries); ok {
			c.integer(m.registers.estimate())
		}
		return false
	})
}

// mergeLarge is PFMERGE of the keys in c.keys, some of which are large, or become so.
func (c *Context) mergeLarge() (ok bool) {
	loaded := c.loadedCut(func(entries []cutEntry) (again bool) {
		u := &c.sketches.writer
		m, merged := c.mergeEntries(entries)
		if ok = merged; !ok {
			return false
		}
		u.registers, u.dense = m.registers, m.anyDense
		target := &entries[0]
		current := target.record()
		plan := u.Plan(current, target.found)
		s, status := c.store(target.keyspace, target.key, c.newValue(u, plan, current))
		u.editor.release()
		if status == tsavorite.Found {
			if status, again = c.replace(target, s, plan.Metadata); again {
				return true
			}
			c.wrote(status, target.key)
		}
		ok = !c.failed(status)
		return false
	})
	return loaded && ok
}

// mergeEntries merges the HyperLogLogs of a cut of c.keys. When ok is false it replied why not.
func (c *Context) mergeEntries(entries []cutEntry) (m *sketchMerger, ok bool) {
	m = c.beginMerge(len(entries))
	for i := range entries {
		m.Read(uint64(i), entries[i].status(), entries[i].record())
	}
	return m, m.keys.ready(c, 0)
}
