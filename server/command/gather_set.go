package command

import "github.com/pyropedb/pyrope/tsavorite"

// setRunKeys is how many pipelined SETs are looked at before the first is executed. The engine
// then fetches their index lines and records at once instead of one cache miss after the other.
const setRunKeys = 32

// setRun is the Context's part of a run of SETs.
type setRun struct {
	keys   []tsavorite.Key
	values [setRunKeys][]byte
}

// gatherSets executes the SETs without options that input begins with, and returns the length of
// their requests: 0 when there is none in the usual form, which leaves it to the parser.
func (c *Context) gatherSets(input []byte) (consumed int) {
	key, value, used := scanSet(input)
	if used == 0 || c.Client.restricted || c.State.attention.any() || c.State.Server.unsaved.Load() {
		return 0
	}
	c.keyspace = c.State.databases[c.Client.Database()].Keyspace()
	run := &c.sets
	run.keys = run.keys[:0]
	for {
		run.values[len(run.keys)] = value
		run.keys = append(run.keys, c.key(key))
		consumed += used
		if len(run.keys) == setRunKeys {
			break
		}
		if key, value, used = scanSet(input[consumed:]); used == 0 {
			break
		}
	}
	c.Client.noteCommand(setCommand)
	c.command = setCommand
	if len(run.keys) > 1 {
		c.Session.Prefetch(run.keys)
	}
	for i, key := range run.keys {
		var status tsavorite.Status
		if len(run.values[i]) <= c.State.large.limit {
			status = c.Session.Upsert(key, run.values[i], tsavorite.Metadata{})
		} else {
			status = c.overwriteLarge(key.Bytes, run.values[i], 0)
		}
		c.wrote(status, key.Bytes)
		if c.failed(status) {
			c.Stats.Commands[setCommand.index].Failed.add(1)
			c.Stats.ErrorReplies.add(1)
			continue
		}
		if c.State.attention.has(watchTracking) {
			c.changes.keys = append(c.changes.keys, key.Bytes)
		}
		c.ok()
	}
	if len(c.changes.keys) > 0 {
		c.tellChanges()
	}
	if took, slow := c.charge(setCommand, uint64(len(run.keys))); slow {
		c.noteSlow(setCommand, took, runArguments(len(run.keys), []byte("SET"), run.keys[0].Bytes, run.values[0]))
	}
	return consumed
}
