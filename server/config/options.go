// Package config holds the options of the server: what each means, how its text is read from a
// command line or a file, and which values go together.
//
//	defaults  <  config file  <  environment  <  command line        each overrides the one to its left
//	        \         |              |          /
//	         Options (zero = not given) --Resolve--> Options (complete, checked) + notes for the log
//
// The `name` tag of a field is its name everywhere: on the command line (where package main gives
// the tags to kong), in both kinds of file, and in CONFIG GET. Aliases are the names Redis has for
// the same thing. Everything here is pure but ReadFile and MachineMemory.
package config

import "github.com/pyropedb/pyrope/device"

// DefaultPort is the TCP port the command line listens on when none is given.
const DefaultPort = 6379

// Options of the server. The zero value is a server in memory on a free loopback port. For every
// field zero means "not given", and the field says what is taken then. Sizes are bytes.
type Options struct {
	// Port is the TCP port, 0 to 65535. 0 takes a free one, or none when UnixSocket or TLSPort is set.
	Port int `name:"port" min:"0" max:"65535" group:"Network" default:"6379" help:"TCP port; 0 picks a free one, or none with --unixsocket or --tls-port (6379)."`
	// Bind lists the addresses to listen on, separated by commas or blanks. Empty is loopback in
	// protected mode, otherwise every address. "*" is every address, "localhost" both loopbacks. One
	// with a "-" before it may be missing on this machine.
	Bind string `name:"bind" group:"Network" help:"Addresses to listen on, separated by commas or blanks (loopback)."`
	// ProtectedMode refuses peers that are not on this machine as long as there is no password, and
	// decides what an empty Bind means. Default is on.
	ProtectedMode Switch `name:"protected-mode" group:"Network" help:"Without a password serve this machine only; without --bind listen on loopback only (yes)."`
	// UnixSocket is the path of an additional unix socket. Empty is none.
	UnixSocket string `name:"unixsocket" group:"Network" help:"Path of a unix socket to listen on too."`
	// UnixSocketPerm is the mode of the socket file, 1 to 0777. 0 leaves what the umask gives.
	UnixSocketPerm FileMode `name:"unixsocketperm" group:"Network" help:"Mode of the socket file, octal (what the umask gives)."`
	// NetworkThreads is the number of event loops, 0 to 1024. 0 is as many as the load needs, up to one a processor.
	NetworkThreads int `name:"network-threads" min:"0" max:"1024" group:"Network" help:"Event loops, up to 1024 (as many as the load needs, up to one a processor)."`
	// NetworkBackend serves the connections without TLS. Empty is the best one that the platform has.
	NetworkBackend NetworkBackend `name:"network-backend" group:"Network" help:"Connections by event loops or by a goroutine each: epoll, uring or net (epoll on Linux)."`
	// MaxClients is the number of connections served at a time, 1 to 1000000. 0 is 10000.
	MaxClients int `name:"network-connection-limit" min:"1" max:"1000000" aliases:"maxclients" group:"Network" help:"Connections served at a time (10000)."`
	// Password is what AUTH asks for. Empty asks for none.
	Password string `name:"password" aliases:"requirepass" group:"Network" help:"Password that AUTH asks for (none)."`
	// TCPBacklog is how many connections may wait to be accepted. 0 is what the system allows.
	TCPBacklog int `name:"tcp-backlog" min:"0" max:"65535" group:"Network" help:"Connections that may wait to be accepted (what the system allows)."`
	// TCPKeepAlive is the idle time in seconds before a TCP peer is probed; a given 0 is never. Not given is 300.
	TCPKeepAlive Number `name:"tcp-keepalive" min:"0" max:"2147483647" group:"Network" help:"Idle seconds before a TCP peer is probed, 0 for never (300)."`
	// Timeout is the idle time in seconds after which a connection is closed. 0 is never.
	Timeout int `name:"timeout" min:"0" max:"2147483647" group:"Network" help:"Idle seconds after which a connection is closed, 0 for never (0)."`
	// ShutdownTimeout is how many seconds a closing server goes on with requests that were read and with peers that are slow to take
	// replies, from 1. 0 is 5.
	ShutdownTimeout int `name:"shutdown-timeout" min:"1" max:"2147483647" group:"Network" help:"Seconds a closing server goes on with what it has read (5)."`
	// OutputLimits bound the output that peers have not taken, by class. A class that is not given has
	// Redis's bounds: none for normal connections.
	OutputLimits OutputLimits `name:"client-output-buffer-limit" group:"Network" help:"Unsent output: class hard soft seconds, for normal, replica and pubsub (Redis's)."`
	// QueryBufferLimit bounds a request that is incomplete, from 1m. 0 is 1g.
	QueryBufferLimit Size `name:"client-query-buffer-limit" min:"1048576" max:"9223372036854775807" group:"Network" help:"Largest incomplete request (1g)."`
	// MaxBulk bounds an argument of a request, from 1m. 0 is 512m.
	MaxBulk Size `name:"proto-max-bulk-len" min:"1048576" max:"9223372036854775807" group:"Network" help:"Largest argument of a request (512m)."`
	// ScatterGather reads the cold records of pipelined GETs together. Default is on.
	ScatterGather Switch `name:"sg-get" group:"Network" help:"Read the cold records of pipelined GETs together (yes)."`

	// TLS makes Port speak TLS. Default is off.
	TLS Switch `name:"tls" group:"TLS" help:"Speak TLS on --port (no)."`
	// TLSPort is a further port, which speaks TLS, 0 to 65535. 0 is none.
	TLSPort int `name:"tls-port" min:"0" max:"65535" group:"TLS" help:"A port that speaks TLS, beside --port or with --port 0 alone (none)."`
	// CertFile holds the certificate: PEM, or PKCS#12 with its key.
	CertFile string `name:"tls-cert-file" aliases:"cert-file-name" group:"TLS" help:"Certificate: PEM, or PKCS#12 with its key."`
	// KeyFile holds the key of a PEM certificate. Empty: the certificate's file has it too.
	KeyFile string `name:"tls-key-file" group:"TLS" help:"Key of a PEM certificate (in the certificate's file)."`
	// KeyPassword opens a PKCS#12 file.
	KeyPassword string `name:"tls-key-file-pass" aliases:"cert-password" group:"TLS" help:"Password of a PKCS#12 file."`
	// CAFile and CADir hold the authorities for clients' certificates, in PEM.
	CAFile string `name:"tls-ca-cert-file" aliases:"issuer-certificate-path" group:"TLS" help:"Authorities for clients' certificates, PEM."`
	CADir  string `name:"tls-ca-cert-dir" group:"TLS" help:"Directory of such authorities."`
	// AuthClients says whether clients must show a certificate. Default is yes.
	AuthClients ClientAuth `name:"tls-auth-clients" aliases:"client-certificate-required" group:"TLS" help:"Certificates of clients: yes (they must), optional or no (yes)."`
	// Protocols are the versions of TLS. Empty is 1.2 and 1.3.
	Protocols string `name:"tls-protocols" group:"TLS" help:"Versions, of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3 (TLSv1.2 TLSv1.3)."`
	// Ciphers are the suites of TLS 1.2 by OpenSSL's names. Empty is Go's choice.
	Ciphers string `name:"tls-ciphers" group:"TLS" help:"Suites of TLS 1.2 by OpenSSL's names, with colons between (Go's choice)."`
	// SessionCaching lets clients resume sessions. Default is on.
	SessionCaching Switch `name:"tls-session-caching" group:"TLS" help:"Let clients resume sessions (yes)."`
	// CertRefresh is how often in seconds the files are looked at for changes; a given 0 is never. Not given is 10.
	CertRefresh Number `name:"cert-refresh-freq" min:"0" max:"2147483647" group:"TLS" help:"Seconds between looks whether a file has changed, 0 for never (10)."`

	// Memory bounds everything: log, index, buffers of connections and of the append-only file, the Go heap; at least three
	// of Page. The log has what the rest leaves, and never less than three pages. 0 is 16g, or 70% of the machine's memory if that is less.
	Memory Size `name:"memory" short:"m" aliases:"maxmemory" group:"Memory" help:"Memory of the whole server, e.g. 64m, 16g (16g, at most 70% of the machine)."`
	// Page is the size of a log page, a power of two from 4k to 128m. 0 is 16m, or less so that
	// Memory holds 16 of them.
	Page Size `name:"page" short:"p" group:"Memory" help:"Log page, a power of two from 4k to 128m (16m, less when --memory is small)."`
	// Index is the initial size of the hash index, rounded down to a power of two, from 512 to
	// 128g. 0 is 4m, or IndexMax if that is less.
	Index Size `name:"index" short:"i" group:"Memory" help:"Initial hash index; it doubles as it fills (4m)."`
	// IndexMax is the size up to which the index grows, rounded down to a power of two. 0 is no bound.
	IndexMax Size `name:"index-max-size" group:"Memory" help:"Size up to which the hash index doubles (no bound)."`
	// MutablePercent is the share of Memory that is updated in place, 1 to 99. 0 is 90.
	MutablePercent int `name:"mutable-percent" min:"1" max:"99" group:"Memory" help:"Share of the memory updated in place, 1 to 99 (90)."`
	// CopyReads copies what was read from the device to the tail of the log. Default is off.
	CopyReads Switch `name:"copy-reads-to-tail" group:"Memory" help:"Copy what was read from the device to memory (no)."`
	// Policy decides what a full memory does when there is no storage tier. Default is noeviction.
	Policy Policy `name:"maxmemory-policy" group:"Memory" help:"Full memory without a storage tier, or a full maxdisk: noeviction, or allkeys-lru, -lfu or -random; without a tier also volatile-lru, -lfu, -random or -ttl (noeviction)."`
	// MaxDatabases is the number of logical databases, 1 to 256. 0 is 16.
	MaxDatabases int `name:"max-databases" min:"1" max:"256" aliases:"databases" group:"Memory" help:"Logical databases, 1 to 256 (16)."`

	// StorageTier spills what does not fit in memory to a device. Default is off.
	StorageTier Switch `name:"storage-tier" group:"Storage" help:"Spill what does not fit in memory to a device (no)."`
	// LogDir is the directory of the log's segment files; it needs StorageTier. Empty is the
	// current directory.
	LogDir string `name:"logdir" short:"l" group:"Storage" help:"Directory of the log segments; needs --storage-tier (current directory)."`
	// Segment is the size of a segment file, a power of two of at least Page. 0 is 1g.
	Segment Size `name:"segment" short:"s" group:"Storage" help:"Log segment file, a power of two, at least --page (1g)."`
	// MaxDisk bounds what the log may take on the device, at least a page; it needs StorageTier. What then happens is
	// Policy's choice. 0 is no bound.
	MaxDisk Size `name:"maxdisk" group:"Storage" help:"Most that the log may take on the device (no bound)."`
	// MaxDeadPercent is the share of the log that may be dead before what is live in its oldest pages on the device is moved to the
	// tail and the rest dropped, 1 to 100; 100 is never. 0 is 50.
	MaxDeadPercent int `name:"compaction-max-dead-percent" min:"1" max:"100" group:"Storage" help:"Share of the log that may be dead before it is compacted, 1 to 100 for never (50)."`
	// CompactionKind says how compaction of the pages on the device finds out what is live in them. Default is lookup.
	CompactionKind CompactionKind `name:"compaction-kind" aliases:"compaction-type" group:"Storage" help:"How live records are told from dead ones: lookup, a read for each that is in doubt, or scan, the log in large reads (lookup)."`
	// DeviceType is the kind of device behind the storage tier. Default probes for the best,
	// or is Native where DeviceBackend is given.
	DeviceType device.Kind `name:"device-type" group:"Storage" help:"Default, Native, RandomAccess, FileStream, LocalMemory or Null (Default)."`
	// DeviceBackend is how a Native device talks to the kernel. Default is Libaio.
	DeviceBackend device.Backend `name:"device-io-backend" group:"Storage" help:"Of a Native device: Libaio or Uring (Libaio)."`
	// DeviceCompletionThreads is the number of goroutines that wait for completions, 0 to 64. 0 is
	// the device's choice.
	DeviceCompletionThreads int `name:"device-completion-threads" min:"0" max:"64" group:"Storage" help:"Goroutines that wait for completions, up to 64 (the device's choice)."`
	// DeviceContexts is the number of rings or I/O contexts, 0 to 4096. 0 is the device's choice.
	DeviceContexts int `name:"device-io-contexts" min:"0" max:"4096" group:"Storage" help:"Rings or contexts of the device, up to 4096 (the device's choice)."`
	// DeviceQueueDepth is the depth of each ring, 0 to 32768. 0 is the device's choice.
	DeviceQueueDepth int `name:"device-queue-depth" min:"0" max:"32768" group:"Storage" help:"Depth of each ring, up to 32768 (the device's choice)."`
	// DeviceThrottle bounds the requests in flight, 0 to 65536, from DeviceContexts to
	// DeviceContexts × DeviceQueueDepth where those are given. 0 is the device's choice.
	DeviceThrottle int `name:"device-throttle-limit" min:"0" max:"65536" group:"Storage" help:"Requests in flight, up to 65536 and to contexts × depth (the device's choice)."`

	// AppendOnly enters every write in an append-only file, from which the next start loads the data. Default is off.
	AppendOnly Switch `name:"aof" aliases:"appendonly" group:"Durability" help:"Enter every write in an append-only file, and load it at the start (no)."`
	// CheckpointDir is the directory of what outlives the server: the append-only file lies in its directory aof, checkpoints in
	// checkpoints. Empty is LogDir, or the current directory.
	CheckpointDir string `name:"checkpointdir" aliases:"dir" short:"c" group:"Durability" help:"Directory of what outlives the server (--logdir, or the current directory)."`
	// Recover loads the newest checkpoint of CheckpointDir at the start, if there is one. Off refuses to start over one. Default is on.
	Recover Switch `name:"recover" group:"Durability" help:"Load the newest checkpoint at the start; no refuses to start over one (yes)."`
	// RecoverVerify reads every page of the storage tier before the start, to find damage in what is cold. Default is off: that is done
	// after the start.
	RecoverVerify Switch `name:"recover-verify" group:"Durability" help:"Verify all of the storage tier before the start (no: after it)."`
	// RecoverVerifyRate is how many megabytes a second are read to verify, after the start, what is cold. A given 0 leaves that out.
	// Not given is 64.
	RecoverVerifyRate Number `name:"recover-verify-rate" min:"0" max:"1000000" group:"Durability" help:"Megabytes a second that are verified after the start, 0 for none (64)."`
	// SavePoints say when a checkpoint is taken. Empty is never.
	SavePoints SavePoints `name:"save" group:"Durability" help:"Take a checkpoint after so many seconds if there were so many writes, e.g. '3600 1 300 100' (never)."`
	// CheckpointRate is how many megabytes a second a checkpoint in the background writes and reads back, at most, so that clients are
	// served meanwhile. A given 0 is no bound. Not given is 256.
	CheckpointRate Number `name:"checkpoint-rate" min:"0" max:"1000000" group:"Durability" help:"Megabytes a second that BGSAVE and save points write and read back, 0 for no bound (256)."`
	// KeepCheckpoints is how many checkpoints stay, 1 to 1000. 0 is 1.
	KeepCheckpoints int `name:"keep-checkpoints" min:"1" max:"1000" group:"Durability" help:"Checkpoints that stay (1)."`
	// StopWrites refuses writes when there are save points and the last checkpoint failed. Default is on.
	StopWrites Switch `name:"stop-writes-on-bgsave-error" group:"Durability" help:"With --save, refuse writes while checkpoints fail (yes)."`
	// CommitFrequency is how often the append-only file is made durable. Default is every second.
	CommitFrequency CommitFrequency `name:"aof-commit-freq" aliases:"appendfsync" group:"Durability" help:"Milliseconds between commits, or always (0), everysec (1000), no (=-1) (everysec)."`
	// CommitMemory bounds the entries of the append-only file that are not written yet, at least two of CommitPage. 0 is 32m,
	// or 32 of CommitPage if that is given.
	CommitMemory Size `name:"aof-memory" group:"Durability" help:"Entries of the append-only file in memory, at least two --aof-page-size (32m)."`
	// CommitPage is the longest write to the append-only file, a power of two from 4k to 64m. 0 is 1m.
	CommitPage Size `name:"aof-page-size" group:"Durability" help:"Longest write to the append-only file, a power of two from 4k to 64m (1m)."`
	// CommitLimit is the size of the append-only file above which it is shortened by a checkpoint. 0 is no limit.
	CommitLimit Size `name:"aof-size-limit" group:"Durability" help:"Size of the append-only file above which a checkpoint shortens it (no limit)."`

	// HTTPPort answers /metrics, /healthz, /readyz and a page. A given 0 takes a free port. Not given is none.
	HTTPPort Number `name:"http-port" min:"0" max:"65535" group:"HTTP" help:"HTTP port for /metrics, /healthz, /readyz and a page of figures (none)."`
	// HTTPBind is the address of HTTPPort. Empty is loopback; "*" is every address.
	HTTPBind string `name:"http-bind" group:"HTTP" help:"Address of --http-port, * for every one (127.0.0.1)."`

	// SlowMicroseconds is the time in microseconds from which a call is kept in the slow log; a given 0 keeps every call, -1
	// none. Not given is 10000.
	SlowMicroseconds Number `name:"slowlog-log-slower-than" min:"-1" max:"9223372036854775807" group:"Log" help:"Microseconds from which a call is kept in the slow log, 0 for every call, -1 for none (10000)."`
	// SlowEntries is how many calls the slow log keeps. Not given is 128.
	SlowEntries Number `name:"slowlog-max-len" min:"0" max:"9223372036854775807" group:"Log" help:"Calls that the slow log keeps (128)."`
	// LatencyThreshold is the time in milliseconds from which a cause of latency is kept for LATENCY. 0 is never.
	LatencyThreshold Number `name:"latency-monitor-threshold" min:"0" max:"9223372036854775807" group:"Log" help:"Milliseconds from which LATENCY keeps what took long, 0 for never (0)."`
	// LatencyTracking counts the times that commands take, for INFO latencystats and LATENCY HISTOGRAM. Default is on.
	LatencyTracking Switch `name:"latency-tracking" group:"Log" help:"Count the times that commands take, for INFO latencystats (yes)."`
	// LatencyPercentiles are those that INFO latencystats shows. Empty is 50, 99 and 99.9.
	LatencyPercentiles Percentiles `name:"latency-tracking-info-percentiles" group:"Log" help:"Percentiles in INFO latencystats (50 99 99.9)."`
	// KeyspaceEvents are the classes of keyspace events that are told, by Redis's letters. Empty is none.
	KeyspaceEvents EventLetters `name:"notify-keyspace-events" group:"Network" help:"Keyspace events to tell, by Redis's letters, e.g. KEA (none)."`
	// TrackedKeys bounds the keys that the server remembers for clients with a cache of their own. A given 0 is no bound. Not
	// given is 1000000.
	TrackedKeys Number `name:"tracking-table-max-keys" min:"0" max:"9223372036854775807" group:"Network" help:"Keys remembered for clients that cache (CLIENT TRACKING), 0 for no bound (1000000)."`
	// ExpireEffort is how much of a processor active expiry may take, 1 to 10. 0 is 1.
	ExpireEffort int `name:"active-expire-effort" min:"1" max:"10" group:"Memory" help:"Effort of active expiry, 1 to 10 (1)."`
	// EnableDebug says who may use DEBUG. Default is nobody.
	EnableDebug DebugAccess `name:"enable-debug-command" group:"Network" help:"Who may use DEBUG: no, yes, or local for connections from this machine (no)."`

	// LoggerLevel is the least level that is logged. Default is Information.
	LoggerLevel Level `name:"logger-level" aliases:"loglevel" group:"Log" help:"Trace, Debug, Information, Warning, Error, Critical or None (Information)."`
	// LoggerFormat is how a log line is written. Default is Text.
	LoggerFormat LogFormat `name:"logger-format" group:"Log" help:"Text or JSON (Text)."`
	// LogFile is the file that log lines are appended to. Empty is the standard error.
	LogFile string `name:"logfile" aliases:"file-logger" group:"Log" help:"File for the log, opened again at SIGHUP (standard error)."`
}
