package command

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/pyropedb/pyrope/server/config"
)

// Version is the version of Pyrope.
const Version = "0.1.0"

// infoServer writes who this server is and since when it runs.
func infoServer(s *State, w *infoWriter) {
	server := &s.Server
	now := time.Now()
	uptime := int64(0)
	if !server.Started.IsZero() {
		uptime = seconds(now.Sub(server.Started))
	}
	executable, _ := os.Executable()
	multiplexing := "goroutines"
	switch server.Options.NetworkBackend {
	case config.BackendEpoll:
		multiplexing = "epoll"
	case config.BackendUring:
		multiplexing = "io_uring"
	}
	w.line("redis_version", CompatibleVersion)
	w.line("pyrope_version", Version)
	w.line("redis_mode", "standalone")
	w.line("os", runtime.GOOS+" "+runtime.GOARCH)
	w.line("arch_bits", strconv.IntSize)
	w.line("multiplexing_api", multiplexing)
	w.line("go_version", runtime.Version())
	w.line("processor_count", runtime.NumCPU())
	w.line("process_id", os.Getpid())
	w.line("process_supervised", "no")
	w.line("run_id", server.RunID)
	w.line("tcp_port", server.Port.Load())
	w.line("server_time_usec", now.UnixMicro())
	w.line("uptime_in_seconds", uptime)
	w.line("uptime_in_days", uptime/(24*60*60))
	w.line("hz", 10)
	w.line("configured_hz", 10)
	w.line("executable", executable)
	w.line("config_file", "")
	w.line("io_threads_active", flagOf(server.threads() > 1))
}

// infoClients writes how many connections there are.
func infoClients(s *State, w *infoWriter) {
	w.line("connected_clients", s.Server.Clients.Count())
	w.line("cluster_connections", 0)
	w.line("maxclients", s.Server.MaxClients())
	w.line("blocked_clients", 0)
	w.line("tracking_clients", s.tracking.count())
	w.line("input_waiting_clients", s.Server.buffers().Waiting)
	w.line("clients_in_timeout_table", 0)
}

// infoReplication writes that this server is alone.
func infoReplication(s *State, w *infoWriter) {
	w.line("role", "master")
	w.line("connected_slaves", 0)
	w.line("master_failover_state", "no-failover")
	w.line("master_replid", s.Server.RunID)
	w.line("master_replid2", "0000000000000000000000000000000000000000")
	w.line("master_repl_offset", 0)
	w.line("second_repl_offset", -1)
	w.line("repl_backlog_active", 0)
	w.line("repl_backlog_size", 0)
	w.line("repl_backlog_first_byte_offset", 0)
	w.line("repl_backlog_histlen", 0)
}

// infoCPU writes the processor time of the process, in seconds.
func infoCPU(_ *State, w *infoWriter) {
	system, user := processorTime()
	w.line("used_cpu_sys", decimal(system.Seconds(), 6))
	w.line("used_cpu_user", decimal(user.Seconds(), 6))
	w.line("used_cpu_sys_children", decimal(0, 6))
	w.line("used_cpu_user_children", decimal(0, 6))
}

// decimal is a number with so many digits behind the point.
func decimal(value float64, digits int) string { return strconv.FormatFloat(value, 'f', digits, 64) }

// infoCluster writes that there is no cluster.
func infoCluster(_ *State, w *infoWriter) { w.line("cluster_enabled", 0) }
