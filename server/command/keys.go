package command

import "github.com/pyropedb/pyrope/tsavorite"

func init() { register(keyCommands) }

// Key positions and categories that the commands on keys of any kind share.
var (
	manyKeysProbed  = []KeySpec{{First: 1, Last: -1, Step: 1, Flags: "RO"}}
	manyKeysRemoved = []KeySpec{{First: 1, Last: -1, Step: 1, Flags: "RM delete"}}
	oneKeyProbed    = []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RO"}}
)

const (
	keyRead      = InKeyspace | InRead | InFast
	keyReadSlow  = InKeyspace | InRead | InSlow
	keyWrite     = InKeyspace | InWrite | InFast
	keyWriteSlow = InKeyspace | InWrite | InSlow
)

var keyCommands = []Command{
	{Name: "del", Arity: -2, Flags: Write, Categories: keyWriteSlow, Keys: manyKeysRemoved, Handler: del,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) in the number of keys", Summary: "Deletes keys."},
	{Name: "unlink", Arity: -2, Flags: Write | Fast, Categories: keyWrite, Keys: manyKeysRemoved, Handler: del,
		Group: "generic", Since: "4.0.0", Complexity: "O(N) in the number of keys", Summary: "Deletes keys, and leaves the work on large values for later."},
	{Name: "exists", Arity: -2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: manyKeysProbed, Handler: exists,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) in the number of keys", Summary: "Counts how many of the keys exist."},
	{Name: "touch", Arity: -2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: manyKeysProbed, Handler: exists,
		Group: "generic", Since: "3.2.1", Complexity: "O(N) in the number of keys", Summary: "Reads keys for the sake of their age, and counts how many exist."},
	{Name: "type", Arity: 2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: oneKeyProbed, Handler: typeOf,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Summary: "Tells what kind of value a key has."},
	{Name: "expire", Arity: -3, Flags: Write | Fast, Categories: keyWrite, Keys: oneKeyUpdate, Handler: expire,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Summary: "Sets the time to live of a key in seconds."},
	{Name: "pexpire", Arity: -3, Flags: Write | Fast, Categories: keyWrite, Keys: oneKeyUpdate, Handler: pexpire,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)", Summary: "Sets the time to live of a key in milliseconds."},
	{Name: "expireat", Arity: -3, Flags: Write | Fast, Categories: keyWrite, Keys: oneKeyUpdate, Handler: expireat,
		Group: "generic", Since: "1.2.0", Complexity: "O(1)", Summary: "Sets the deadline of a key as a Unix time in seconds."},
	{Name: "pexpireat", Arity: -3, Flags: Write | Fast, Categories: keyWrite, Keys: oneKeyUpdate, Handler: pexpireat,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)", Summary: "Sets the deadline of a key as a Unix time in milliseconds."},
	{Name: "expiretime", Arity: 2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: oneKeyRead, Handler: expiretime,
		Group: "generic", Since: "7.0.0", Complexity: "O(1)", Summary: "Returns the deadline of a key as a Unix time in seconds."},
	{Name: "pexpiretime", Arity: 2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: oneKeyRead, Handler: pexpiretime,
		Group: "generic", Since: "7.0.0", Complexity: "O(1)", Summary: "Returns the deadline of a key as a Unix time in milliseconds."},
	{Name: "ttl", Arity: 2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: oneKeyRead, Handler: ttl,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Summary: "Returns the time a key has to live, in seconds."},
	{Name: "pttl", Arity: 2, Flags: ReadOnly | Fast, Categories: keyRead, Keys: oneKeyRead, Handler: pttl,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)", Summary: "Returns the time a key has to live, in milliseconds."},
	{Name: "persist", Arity: 2, Flags: Write | Fast, Categories: keyWrite, Keys: oneKeyUpdate, Handler: persist,
		Group: "generic", Since: "2.2.0", Complexity: "O(1)", Summary: "Takes the deadline of a key away."},
	{Name: "keys", Arity: 2, Flags: ReadOnly, Categories: keyReadSlow | InDangerous, Handler: keys,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) in the size of the log", Summary: "Lists the keys that match a pattern."},
	{Name: "scan", Arity: -2, Flags: ReadOnly, Categories: keyReadSlow, Handler: scan,
		Group: "generic", Since: "2.8.0", Complexity: "O(1) a call, O(N) in the size of the log for all", Summary: "Lists the keys a few at a time."},
	{Name: "randomkey", Arity: 1, Flags: ReadOnly, Categories: keyReadSlow, Handler: randomkey,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)", Summary: "Returns a key chosen at random."},
	{Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast, Categories: keyRead, Handler: dbsize,
		Group: "server", Since: "1.0.0", Complexity: "O(1), or O(N) in the size of the log once keys expire or were written unseen", Summary: "Counts the keys of the database."},
	{Name: "flushdb", Arity: -1, Flags: Write, Categories: keyWriteSlow | InDangerous, Handler: flushdb,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "Deletes all keys of the database."},
	{Name: "flushall", Arity: -1, Flags: Write, Categories: keyWriteSlow | InDangerous, Handler: flushall,
		Group: "server", Since: "1.0.0", Complexity: "O(1)", Summary: "Deletes all keys of all databases."},
}

// del is DEL key [key ...], and UNLINK. It asks the device about cold keys, since the reply counts
// those that existed.
func del(c *Context) {
	if len(c.Args) > 2 {
		c.deleteTogether()
		return
	}
	c.remove = removeUpdater{}
	status, ok := c.update(c.Args[1], &c.remove)
	if !ok {
		return
	}
	if status == tsavorite.Deleted {
		c.notify(genericEvent, "del", c.Args[1])
	}
	c.flag(status == tsavorite.Deleted)
}

// doomedReader notes of each key whether it is there, and which large string it has.
type doomedReader struct {
	found  []bool
	large  []orphan // of those that have one
	chunks uint32   // the namespace
	failed bool
}

func (r *doomedReader) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	r.failed = r.failed || status == tsavorite.StatusError
	r.found = append(r.found, status == tsavorite.Found)
	if status == tsavorite.Found && record.Kind == kindLarge {
		r.large = append(r.large, orphan{r.chunks, parseDescriptor(record.Value).id})
	}
}

// deleteTogether deletes all keys that are arguments in one step.
func (c *Context) deleteTogether() {
	c.collectKeys()
	r := &c.doomed
	*r = doomedReader{found: r.found[:0], large: r.large[:0], chunks: c.keyspace.chunks()}
	c.Session.Prefetch(c.keys)
	c.Session.LatchRead(c.keys, r)
	removed, status := c.deleteFound()
	c.Session.Unlatch()
	for _, large := range r.large {
		c.State.large.reaper.add(large)
	}
	if !c.failed(status) {
		c.integer(removed)
	}
}

// deleteFound deletes those of the latched keys that are there.
func (c *Context) deleteFound() (removed int64, status tsavorite.Status) {
	if c.doomed.failed {
		return 0, tsavorite.StatusError
	}
	c.intents = c.intents[:0]
	for i, key := range c.keys {
		if c.doomed.found[i] {
			c.intents = append(c.intents, tsavorite.Intent{Key: key, Removal: true})
		}
	}
	status = c.Session.ReserveRoom(c.intents)
	clear(c.intents)
	if status != tsavorite.Found {
		c.doomed.large = c.doomed.large[:0]
		return 0, status
	}
	c.State.groups.begun.Add(1)
	defer c.State.groups.ended.Add(1)
	for i, key := range c.keys {
		if !c.doomed.found[i] {
			continue
		}
		if status = c.Session.Delete(key); status == tsavorite.Blind {
			status = tsavorite.Deleted // it was there
		}
		c.keyspace.note(status, c.Session)
		if settled(status) != tsavorite.Found {
			return removed, status
		}
		if status == tsavorite.Deleted { // else the key came before in the arguments
			removed++
			c.notify(genericEvent, "del", key.Bytes)
		}
	}
	return removed, tsavorite.Found
}

// exists is EXISTS key [key ...], and TOUCH. A key that is named twice counts twice.
func exists(c *Context) {
	c.collectKeys()
	c.readTogether(c.keys, existsOnce, existsLatched)
	if c.probe.failures > 0 {
		c.failedBy(c.Session.Err())
		return
	}
	c.allLookedUp(c.keys)
	c.integer(int64(c.probe.found))
}

// existsOnce counts the keys that exist.
func existsOnce(c *Context) {
	c.looked = c.looked[:0]
	c.probe = probeReader{looked: &c.looked}
	c.Session.ReadBatch(c.keys, &c.probe)
}

// existsLatched is existsOnce with the keys latched.
func existsLatched(c *Context) {
	c.looked = c.looked[:0]
	c.probe = probeReader{looked: &c.looked}
	c.Session.LatchRead(c.keys, &c.probe)
}

// look reads the metadata of the key in Args[1]; ok is false after it replied that it could not.
func (c *Context) look() (metadata tsavorite.Metadata, found, ok bool) {
	c.probe = probeReader{}
	if c.failed(c.Session.Read(c.key(c.Args[1]), 0, &c.probe)) {
		return metadata, false, false
	}
	return c.probe.last, c.probe.found > 0, true
}

// kindNames are the names of the engine's kinds as TYPE gives them.
var kindNames = [...]string{kindString: "string"}

// typeKind is the kind of whose type a kind is.
func typeKind(kind tsavorite.Kind) tsavorite.Kind {
	if kind == kindLarge {
		return kindString
	}
	return kind
}

// typeOf is TYPE key.
func typeOf(c *Context) {
	metadata, found, ok := c.look()
	if !ok {
		return
	}
	if c.lookedUp(c.Args[1], found); !found {
		c.simple("none")
		return
	}
	c.simple(kindNames[typeKind(metadata.Kind)])
}
