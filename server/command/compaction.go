package command

import (
	"github.com/pyropedb/pyrope/tsavorite"
)

func init() { register(compactionCommands) }

var compactionCommands = []Command{
	{Name: "compact", Arity: -1, Flags: Admin | NoScript, Categories: inAdmin, Handler: compact,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is what the log has on the device",
		Summary: "Move the live records of the log's pages on the device to its tail and drop the rest"},
}

// compact is COMPACT [LOOKUP | SCAN]: it compacts every page that is on the device now, or without one every page but the last, in the
// way that --compaction-kind says if none is given. It replies with the bytes that were read, skipped, moved and freed.
func compact(c *Context) {
	kind := c.State.Server.Options.CompactionKind
	if len(c.Args) > 2 || len(c.Args) == 2 && kind.UnmarshalText(c.Args[1]) != nil {
		c.error(errSyntax)
		return
	}
	var run tsavorite.CompactionRun
	var err error
	store := c.State.Store
	c.Wait(func() { run, err = store.CompactBy(kind.Engine()) })
	if err != nil {
		c.error("ERR " + err.Error())
		return
	}
	c.mapping(4)
	for _, field := range []struct {
		name  string
		bytes uint64
	}{{"read", run.ReadBytes}, {"skipped", run.SkippedBytes}, {"moved", run.MovedBytes}, {"freed", run.FreedBytes}} {
		c.bulkString(field.name)
		c.integer(int64(field.bytes))
	}
}

// infoCompaction writes what compaction does, and what its last run did.
func infoCompaction(w *infoWriter, store tsavorite.Info) {
	last := &store.LastCompaction
	w.line("compaction_in_progress", flagOf(store.Compacting))
	ended, outcome := int64(0), "ok"
	if store.Compactions > 0 {
		ended = last.Started.Add(last.Duration).Unix()
	}
	if last.Err != nil {
		outcome = last.Err.Error()
	}
	w.line("compaction_last_time", ended)
	w.line("compaction_last_status", outcome)
	w.line("compaction_last_kind", last.Kind)
	w.line("compaction_last_milliseconds", last.Duration.Milliseconds())
	w.line("compaction_last_read_bytes", last.ReadBytes)
	w.line("compaction_last_swept_bytes", last.SweptBytes)
	w.line("compaction_last_skipped_bytes", last.SkippedBytes)
	w.line("compaction_last_moved_bytes", last.MovedBytes)
	w.line("compaction_last_freed_bytes", last.FreedBytes)
}
