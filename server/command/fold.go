package command

import "github.com/pyropedb/pyrope/tsavorite"

// foldedKeys is what commands that fold the values of several keys into one learn of them besides. The engine gives the keys in any
// order (LatchFold): the reply is the one they would get in the order of the arguments.
type foldedKeys struct {
	found  []bool // by key
	failed bool   // one could not be read: the session's Err says why
	large  bool   // one has a large string: there is no result

	problem   string // of the first key that has one
	problemAt int
}

// begin forgets what is known, for so many keys.
func (f *foldedKeys) begin(keys int) {
	*f = foldedKeys{found: f.found[:0]}
	for range keys {
		f.found = append(f.found, false)
	}
}

// take notes what a key is, and reports whether it has a record that is to be folded in.
func (f *foldedKeys) take(token uint64, status tsavorite.Status, record tsavorite.Record) bool {
	f.found[token] = status == tsavorite.Found
	f.failed = f.failed || status == tsavorite.StatusError
	if !f.found[token] {
		return false
	}
	f.large = f.large || record.Kind == kindLarge
	return record.Kind != kindLarge
}

// note keeps the problem of a key, if it is the first.
func (f *foldedKeys) note(token uint64, problem string) {
	if problem != "" && (f.problem == "" || int(token) < f.problemAt) {
		f.problem, f.problemAt = problem, int(token)
	}
}

// ready reports whether there is a result. It replies why not, unless one of the keys is large; those up to a problem, or all, count as
// looked up from the first-th on.
func (f *foldedKeys) ready(c *Context, first int) bool {
	switch {
	case f.large:
		return false
	case f.failed:
		return !c.failed(tsavorite.StatusError)
	}
	looked := len(f.found)
	if f.problem != "" {
		looked = f.problemAt + 1
	}
	for i := first; i < looked; i++ {
		c.lookedUp(c.keys[i].Bytes, f.found[i])
	}
	if f.problem != "" {
		c.error(f.problem)
	}
	return f.problem == ""
}

// destination is a Reader that notes what is there where a command is about to write.
type destination struct {
	found bool
	large descriptor // of its large string, if it has one
}

func (d *destination) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	*d = destination{found: status == tsavorite.Found}
	if d.found && record.Kind == kindLarge {
		d.large = parseDescriptor(record.Value)
	}
}

// replace gives the latched key, which was looked up since, another value; an empty one deletes it.
func (d *destination) replace(c *Context, key tsavorite.Key, value []byte, metadata tsavorite.Metadata) (status tsavorite.Status) {
	switch {
	case len(value) > 0:
		status = c.upsertKnown(key, value, metadata, d.found)
	case d.found:
		if status = c.Session.Delete(key); status == tsavorite.Blind {
			status = tsavorite.Deleted
		}
	default:
		return tsavorite.NotFound
	}
	if d.large.id != 0 && settled(status) == tsavorite.Found {
		c.State.large.reaper.add(orphan{c.keyspace.chunks(), d.large.id})
	}
	return status
}
