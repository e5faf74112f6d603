package config

import "strings"

// refused are options of Garnet that do not exist here, with the reason: who moves a configuration over learns what
// to do instead. The part before a "*" stands for every option that begins with it.
var refused = []struct{ name, reason string }{
	{"network-send-throttle", "a connection has one write at a time; client-output-buffer-limit bounds what waits"},
	{"minthreads", "there is no thread pool: Go sizes its own; see network-threads"},
	{"maxthreads", "there is no thread pool: Go sizes its own; see network-threads"},
	{"miniothreads", "there is no thread pool: see device-completion-threads"},
	{"maxiothreads", "there is no thread pool: see device-completion-threads"},
	{"cert-subject-name", "there is no certificate store: give tls-cert-file"},
	{"certificate-revocation-check-mode", "revocation is not checked: issue short-lived certificates and replace them with a reload"},
	{"server-certificate-required", "this server opens no connections of its own"},
	{"auth", "there is one password, for all: password"},
	{"aad-*", "there is one password, for all: password"},
	{"acl-*", "there are no users and no rules for them"},
	{"lua*", "there are no scripts"},
	{"extension-*", "nothing can be loaded into the server"},
	{"loadmodulecs", "nothing can be loaded into the server"},
	{"no-pubsub", "a channel that nobody uses costs nothing"},
	{"pubsub-pagesize", "messages go to subscribers as they come; client-output-buffer-limit bounds what waits"},
	{"no-obj", "there are strings only"},
	{"enable-vector-set-preview", "there are strings only"},
	{"vector-set-*", "there are strings only"},
	{"enable-range-index-preview", "there are strings only"},
	{"expired-object-collection-freq", "there are strings only"},
	{"object-scan-count-limit", "there are strings only"},
	{"cluster*", "there is no cluster"},
	{"clean-cluster-config", "there is no cluster"},
	{"gossip-*", "there is no cluster"},
	{"fast-migrate", "there is no cluster"},
	{"replica-sync-*", "there is no replication"},
	{"repl-attach-timeout", "there is no replication"},
	{"repl-sync-timeout", "there is no replication"},
	{"repl-diskless-sync-full-sync-aof-threshold", "there is no replication"},
	{"on-demand-checkpoint", "there is no replication"},
	{"fast-aof-truncate", "there is no replication: a checkpoint shortens the file"},
	{"main-memory-replication", "there is no replication"},
	{"aof-commit-wait", "say appendfsync always"},
	{"aof-null-device", "without aof nothing is written"},
	{"aof-segment-size", "the files of the append-only file have 64 MiB; see aof-size-limit"},
	{"aof-size-limit-enforce-frequency", "the size of the append-only file is looked at all the time"},
	{"aof-*", "there is one append-only file, and no replication of it"},
	{"checkpoint-throttle-delay", "say checkpoint-rate, in megabytes a second"},
	{"expired-key-deletion-scan-freq", "expired keys are looked for all the time; see active-expire-effort"},
	{"fail-on-recovery-error", "a start over data that cannot be loaded is always refused"},
	{"config-export-*", "CONFIG GET * shows what is in force, CONFIG REWRITE writes it to the config file"},
	{"pagecount", "it follows from memory and page"},
	{"object-log-segment", "there is one log, with segments of --segment"},
	{"index-resize-freq", "the index grows as it fills, without a timer; see index-max-size"},
	{"index-resize-threshold", "the index grows as it fills; see index-max-size"},
	{"readcache*", "there is no second log for reads: copy-reads-to-tail keeps in memory what was read"},
	{"use-native-allocator", "log and index are always outside the Go heap"},
	{"use-legacy-buffer-pool", "there is one kind of buffer for device reads"},
	{"buffer-pool-memory-budget", "buffers for device reads belong to sessions and are bounded by the reads in flight"},
	{"max-inline-key-size", "keys are in the log, up to a page"},
	{"max-inline-value-size", "values are in the log"},
	{"initial-io-record-size", "the engine chooses the size of the first read"},
	{"compaction-freq", "the share of dead bytes is looked at every second; see compaction-max-dead-percent"},
	{"compaction-force-delete", "what is dropped leaves the disk as soon as no checkpoint needs it"},
	{"compaction-max-segments", "the share of dead bytes decides, not the size: compaction-max-dead-percent, and maxdisk for a bound"},
	{"reviv*", "there are no free lists: dead records are reclaimed by the page"},
	{"device-uring-sqpoll*", "there is no kernel thread that polls"},
	{"device-aio-max-devices", "a server has one device; device-io-contexts times device-queue-depth is what it takes of fs.aio-max-nr"},
	{"use-native-device-linux", "say device-type Native"},
	{"use-azure-storage*", "devices are local"},
	{"storage-string", "devices are local"},
	{"storage-service-uri", "devices are local"},
	{"storage-managed-identity", "devices are local"},
	{"metrics-sampling-freq", "counters are always on"},
	{"latency-monitor", "there is nothing to switch on"},
	{"commandstats-monitor", "command statistics are always on: INFO commandstats"},
	{"logger-freq", "nothing is logged by the clock"},
	{"disable-console-logger", "logger-level None, or logfile"},
}

// WhyNot tells why there is no option of this name, in any case; empty when nothing is known about it.
func WhyNot(name string) string {
	name = strings.ToLower(name)
	for _, r := range refused {
		if prefix, open := strings.CutSuffix(r.name, "*"); name == prefix || open && strings.HasPrefix(name, prefix) {
			return r.reason
		}
	}
	if redisDirectives[name] {
		return "it means something to Redis only; in a config file in the manner of redis.conf it is ignored"
	}
	return ""
}
