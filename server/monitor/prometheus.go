package monitor

import (
	"strconv"

	"github.com/pyropedb/pyrope/server/command"
)

// series is one line of Prometheus's text format, or a family of lines when label is not empty.
type series struct {
	name, kind, help string
	value            float64
}

// appendMetrics appends the figures in Prometheus's text format, version 0.0.4.
func appendMetrics(to []byte, m *command.Metrics) []byte {
	store := &m.Store
	for _, s := range []series{
		{"uptime_seconds", "gauge", "Time since the start.", m.Uptime.Seconds()},
		{"connected_clients", "gauge", "Connections now.", float64(m.Clients)},
		{"max_clients", "gauge", "Connections that are served at a time.", float64(m.MaxClients)},
		{"connections_total", "counter", "Connections accepted.", float64(m.Traffic.Accepted)},
		{"connections_refused_total", "counter", "Connections refused.", float64(m.Traffic.Refused)},
		{"input_limit_disconnections_total", "counter", "Connections closed by client-query-buffer-limit.", float64(m.Traffic.InputDisconnections)},
		{"output_limit_disconnections_total", "counter", "Connections closed by client-output-buffer-limit.", float64(m.Traffic.OutputDisconnections)},
		{"net_input_bytes_total", "counter", "Bytes of requests.", float64(m.Traffic.InputBytes)},
		{"net_output_bytes_total", "counter", "Bytes of replies.", float64(m.Traffic.OutputBytes)},
		{"keyspace_hits_total", "counter", "Reading commands that found their key.", float64(m.Hits)},
		{"keyspace_misses_total", "counter", "Reading commands that did not.", float64(m.Misses)},
		{"evicted_keys_total", "counter", "Keys dropped to make room.", float64(m.Evicted)},
		{"error_replies_total", "counter", "Replies that are errors.", float64(m.ErrorReplies)},
		{"writes_refused_total", "counter", "Commands refused because memory was full.", float64(m.Refused)},
		{"memory_log_bytes", "gauge", "Log in memory.", float64(m.LogBytes)},
		{"memory_index_bytes", "gauge", "Hash index.", float64(m.IndexBytes)},
		{"memory_heap_bytes", "gauge", "Objects on the Go heap.", float64(m.HeapBytes)},
		{"memory_resident_bytes", "gauge", "Process in RAM.", float64(m.ResidentBytes)},
		{"cpu_system_seconds_total", "counter", "Processor time in the kernel.", m.SystemTime.Seconds()},
		{"cpu_user_seconds_total", "counter", "Processor time outside the kernel.", m.UserTime.Seconds()},
		{"log_begin_address", "gauge", "Where the log begins.", float64(store.BeginAddress)},
		{"log_head_address", "gauge", "Where the log in memory begins.", float64(store.HeadAddress)},
		{"log_flushed_until_address", "gauge", "How far the log is on the device.", float64(store.FlushedUntilAddress)},
		{"log_read_only_address", "gauge", "Where updates in place begin.", float64(store.ReadOnlyAddress)},
		{"log_tail_address", "gauge", "Where the log ends.", float64(store.TailAddress)},
		{"log_flushed_bytes_total", "counter", "Bytes written to the device.", float64(store.FlushedBytes)},
		{"engine_reads_total", "counter", "Reads of the engine.", float64(store.Reads)},
		{"engine_writes_total", "counter", "Writes of the engine.", float64(store.Writes)},
		{"pending_reads_total", "counter", "Operations that had to ask the device.", float64(store.PendingReads)},
		{"device_reads_total", "counter", "Reads of the device.", float64(store.DeviceReads)},
		{"device_failing", "gauge", "1 while the device takes no pages.", boolean(store.FlushError != "")},
	} {
		to = appendHead(to, s.name, s.kind, s.help)
		to = appendSample(to, s.name, "", s.value)
	}
	return appendCommands(to, m.Commands)
}

// appendCommands appends the counters that every command has.
func appendCommands(to []byte, commands []command.CommandMetrics) []byte {
	for _, family := range []struct {
		name, help string
		value      func(c *command.CommandMetrics) float64
	}{
		{"commands_total", "Executions of a command.", func(c *command.CommandMetrics) float64 { return float64(c.Calls) }},
		{"command_seconds_total", "Time spent in a command.", func(c *command.CommandMetrics) float64 { return c.Time.Seconds() }},
		{"commands_failed_total", "Executions that replied with an error.", func(c *command.CommandMetrics) float64 { return float64(c.Failed) }},
		{"commands_rejected_total", "Calls refused before they were executed.", func(c *command.CommandMetrics) float64 { return float64(c.Rejected) }},
	} {
		to = appendHead(to, family.name, "counter", family.help)
		for i := range commands {
			to = appendSample(to, family.name, commands[i].Name, family.value(&commands[i]))
		}
	}
	return to
}

const prefix = "pyrope_"

func appendHead(to []byte, name, kind, help string) []byte {
	to = append(append(append(to, "# HELP "+prefix...), name+" "...), help+"\n# TYPE "...)
	return append(append(to, prefix+name+" "...), kind+"\n"...)
}

// appendSample appends a line; command labels it unless it is empty. Command names need no quoting.
func appendSample(to []byte, name, command string, value float64) []byte {
	to = append(to, prefix+name...)
	if command != "" {
		to = append(to, `{command="`+command+`"}`...)
	}
	to = append(to, ' ')
	return append(strconv.AppendFloat(to, value, 'g', -1, 64), '\n')
}

func boolean(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
