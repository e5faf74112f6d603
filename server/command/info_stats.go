package command

import (
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/server/pubsub"
	"github.com/pyropedb/pyrope/tsavorite"
)

// infoStats writes the counters since the start or the last CONFIG RESETSTAT.
func infoStats(s *State, w *infoWriter) {
	totals := s.Totals()
	traffic := s.Server.traffic()
	rates := s.Server.rates()
	w.line("total_connections_received", traffic.Accepted)
	w.line("total_commands_processed", totals.Processed())
	w.line("instantaneous_ops_per_sec", int64(rates.opsPerSecond+0.5))
	w.line("total_net_input_bytes", traffic.InputBytes)
	w.line("total_net_output_bytes", traffic.OutputBytes)
	w.line("instantaneous_input_kbps", rates.inputPerSecond/1024)
	w.line("instantaneous_output_kbps", rates.outputPerSecond/1024)
	w.line("rejected_connections", traffic.Refused)
	w.line("client_query_buffer_limit_disconnections", traffic.InputDisconnections)
	w.line("client_output_buffer_limit_disconnections", traffic.OutputDisconnections)
	w.line("expired_keys", s.expiredKeys())
	w.line("evicted_keys", s.evictedKeys())
	w.line("keyspace_hits", totals.Hits.Load())
	w.line("keyspace_misses", totals.Misses.Load())
	w.line("pubsub_channels", s.Broker.Count(pubsub.Channels))
	w.line("pubsub_patterns", s.Broker.Count(pubsub.Patterns))
	w.line("pubsubshard_channels", s.Broker.Count(pubsub.Shards))
	w.line("latest_fork_usec", 0)
	w.line("tracking_total_keys", s.tracking.table.Keys())
	w.line("tracking_total_items", s.tracking.table.Items())
	w.line("tracking_total_prefixes", s.tracking.prefixes.Count())
	w.line("total_error_replies", totals.ErrorReplies.Load())
	w.line("total_batches_processed", totals.Batches.Load())
	w.line("total_reads_gathered", totals.GatheredReads.Load())
}

// infoCommandStats writes the counters of every command that was called.
func infoCommandStats(s *State, w *infoWriter) {
	totals := s.Totals()
	for i, d := range commandsByIndex {
		stats := &totals.Commands[i]
		calls, rejected := stats.Calls.Load(), stats.Rejected.Load()
		if calls == 0 && rejected == 0 {
			continue
		}
		microseconds := stats.Nanoseconds.Load() / 1000
		w.line("cmdstat_"+d.fullName, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			calls, microseconds, float64(stats.Nanoseconds.Load())/1000/float64(max(calls, 1)), rejected, stats.Failed.Load()))
	}
}

// infoKeyspace writes the number of keys of every database that may have some: as the writes told,
// which is exact until a write was blind or a key expired unseen.
func infoKeyspace(s *State, w *infoWriter) {
	now := time.Now().UnixMilli()
	for i := range s.databases {
		if count, _ := s.databases[i].Keyspace().Count(now); count > 0 {
			expires, averageTTL := w.context.expiring(s.databases[i].Keyspace(), count)
			w.line(fmt.Sprintf("db%d", i), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d", count, expires, averageTTL))
		}
	}
}

// expiringSample is how many records in memory INFO looks at to tell how many keys of a database have a deadline. Where there
// are no more, of all databases, it knows.
const expiringSample = 10_000

// expiring tells how many of a keyspace's keys have a deadline, by the share of those that were written longest ago of what is in
// memory, and how many milliseconds those have on average until it.
func (c *Context) expiring(keyspace *Keyspace, count int64) (expires, averageTTL int64) {
	if !keyspace.HasDeadlines() || c.State.Loading.Load() != 0 {
		return 0, 0
	}
	sample := deadlineSample{now: c.Now()}
	whole, err := c.Session.Sample(keyspace.Namespace, expiringSample, &sample)
	if err != nil || sample.expiring == 0 {
		return 0, 0
	}
	expires, averageTTL = sample.expiring, int64(sample.milliseconds/float64(sample.expiring))
	if !whole {
		expires = int64(float64(sample.expiring) / float64(sample.seen) * float64(count))
	}
	return expires, averageTTL
}

// deadlineSample is a Visitor that adds up the time that is left.
type deadlineSample struct {
	now            int64
	seen, expiring int64
	milliseconds   float64
}

// Visit looks at one record.
func (d *deadlineSample) Visit(_ []byte, r tsavorite.Record) bool {
	d.seen++
	if r.Deadline != 0 {
		d.expiring++
		d.milliseconds += float64(r.Deadline - d.now)
	}
	return true
}
