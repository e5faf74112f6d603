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
	{"cluster*", "there is no cluster"},
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
	return ""
}
