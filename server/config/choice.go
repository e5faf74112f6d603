package config

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
)

// Switch is an option that is on or off, with Default for one that is not given. Its text is yes
// or no; true, false, on, off, 1 and 0 are read too.
type Switch string

// The values of a Switch.
const (
	DefaultSwitch Switch = ""
	On            Switch = "yes"
	Off           Switch = "no"
)

// UnmarshalText reads a switch in any case.
func (s *Switch) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "yes", "true", "on", "1":
		*s = On
	case "no", "false", "off", "0":
		*s = Off
	default:
		return fmt.Errorf("cannot read switch %q: it must be yes or no", text)
	}
	return nil
}

// IsOn says whether the switch is on; Default is off here, so that resolved options read well.
func (s Switch) IsOn() bool { return s == On }

// Policy is what a full memory does when there is no storage tier.
type Policy string

// The policies, by Redis's names. The log knows one order, that of writing: those written longest ago go first, of all keys or of
// those with a deadline, whatever order is named.
const (
	NoEviction    Policy = "noeviction"  // writes are refused with -OOM
	AllKeysLRU    Policy = "allkeys-lru" // the oldest page of the log is dropped
	AllKeysLFU    Policy = "allkeys-lfu"
	AllKeysRandom Policy = "allkeys-random"

	VolatileLRU    Policy = "volatile-lru" // of the oldest page of the log the records with a deadline are dropped
	VolatileLFU    Policy = "volatile-lfu"
	VolatileRandom Policy = "volatile-random"
	VolatileTTL    Policy = "volatile-ttl"
)

// EvictsAny says whether any live record may be dropped to make room.
func (p Policy) EvictsAny() bool { return p == AllKeysLRU || p == AllKeysLFU || p == AllKeysRandom }

// EvictsExpiring says whether live records with a deadline are dropped to make room, and no others.
func (p Policy) EvictsExpiring() bool {
	return p == VolatileLRU || p == VolatileLFU || p == VolatileRandom || p == VolatileTTL
}

// UnmarshalText reads a policy in any case.
func (p *Policy) UnmarshalText(text []byte) error {
	return choose(p, "policy", text, NoEviction, AllKeysLRU, AllKeysLFU, AllKeysRandom, VolatileLRU, VolatileLFU, VolatileRandom, VolatileTTL)
}

// CompactionKind is how compaction of the storage tier finds out which records are live.
type CompactionKind string

// The kinds that exist.
const (
	CompactionLookUp CompactionKind = "lookup" // the keys of a page are looked up
	CompactionScan   CompactionKind = "scan"   // the rest of the log is read, for many pages at once
)

// UnmarshalText reads a kind in any case.
func (k *CompactionKind) UnmarshalText(text []byte) error {
	return choose(k, "compaction kind", text, CompactionLookUp, CompactionScan)
}

// Engine is the kind as the engine has it.
func (k CompactionKind) Engine() tsavorite.CompactionKind {
	if k == CompactionScan {
		return tsavorite.ScanCompaction
	}
	return tsavorite.LookUpCompaction
}

// CommitFrequency is how often the append-only file is made durable: milliseconds, 0 for before each reply, -1 for on
// demand alone. Redis's always, everysec and no are read as 0, 1000 and -1.
type CommitFrequency string

// The frequencies that have names.
const (
	CommitAlways      CommitFrequency = "0"
	CommitEverySecond CommitFrequency = "1000"
	CommitManually    CommitFrequency = "-1"
)

// maxCommitFrequency is the longest time between two commits, in milliseconds: an hour.
const maxCommitFrequency = 3_600_000

// UnmarshalText reads a number or one of Redis's names, in any case.
func (f *CommitFrequency) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "always":
		*f = CommitAlways
	case "everysec":
		*f = CommitEverySecond
	case "no":
		*f = CommitManually
	default:
		n, err := strconv.Atoi(string(text))
		if err != nil || n < -1 || n > maxCommitFrequency {
			return fmt.Errorf("cannot read commit frequency %q: it must be always, everysec, no, or milliseconds from -1 to %d", text, maxCommitFrequency)
		}
		*f = CommitFrequency(strconv.Itoa(n))
	}
	return nil
}

// Interval is the time between two commits; 0 and negative as the type says.
func (f CommitFrequency) Interval() time.Duration {
	if f == CommitManually {
		return -1
	}
	n, _ := strconv.Atoi(string(f)) // digits, as UnmarshalText writes them
	return time.Duration(n) * time.Millisecond
}

// AppendFsync is the nearest of Redis's names.
func (f CommitFrequency) AppendFsync() string {
	switch f {
	case CommitAlways:
		return "always"
	case CommitManually:
		return "no"
	}
	return "everysec"
}

// Level is the least level of a log line that is written.
type Level string

// The levels, most talkative first.
const (
	Trace       Level = "Trace"
	Debug       Level = "Debug"
	Information Level = "Information"
	Warning     Level = "Warning"
	Error       Level = "Error"
	Critical    Level = "Critical"
	None        Level = "None"
)

// redisLevels are the names Redis gives to levels.
var redisLevels = map[string]Level{
	"debug": Debug, "verbose": Trace, "notice": Information, "warning": Warning, "nothing": None,
}

// UnmarshalText reads a level in any case; Redis's names are read too.
func (l *Level) UnmarshalText(text []byte) error {
	if level, ok := redisLevels[strings.ToLower(string(text))]; ok {
		*l = level
		return nil
	}
	return choose(l, "level", text, Trace, Debug, Information, Warning, Error, Critical, None)
}

// Slog returns the level as log/slog counts it.
func (l Level) Slog() slog.Level {
	switch l {
	case Trace:
		return slog.LevelDebug - 4
	case Debug:
		return slog.LevelDebug
	case Warning:
		return slog.LevelWarn
	case Error:
		return slog.LevelError
	case Critical:
		return slog.LevelError + 4
	case None:
		return math.MaxInt
	}
	return slog.LevelInfo
}

// LevelOf is the level whose Slog value is the given one, or the next above it.
func LevelOf(level slog.Level) Level {
	for _, known := range []Level{Trace, Debug, Information, Warning, Error, Critical} {
		if level <= known.Slog() {
			return known
		}
	}
	return None
}

// LogFormat is how log lines are written.
type LogFormat string

// The formats of log lines.
const (
	LogText LogFormat = "Text" // time=… level=… msg=… key=value
	LogJSON LogFormat = "JSON" // an object a line
)

// UnmarshalText reads a log format in any case.
func (f *LogFormat) UnmarshalText(text []byte) error {
	return choose(f, "log format", text, LogText, LogJSON)
}

// ClientAuth says whether clients must show a certificate.
type ClientAuth string

// What may be asked of clients.
const (
	AuthNo       ClientAuth = "no"       // no certificate is asked for
	AuthOptional ClientAuth = "optional" // one that is shown must be good
	AuthYes      ClientAuth = "yes"      // a good one must be shown
)

// UnmarshalText reads it in any case; true and false, as Garnet has it, are yes and no.
func (a *ClientAuth) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "true":
		*a = AuthYes
		return nil
	case "false":
		*a = AuthNo
		return nil
	}
	return choose(a, "demand for clients' certificates", text, AuthNo, AuthYes, AuthOptional)
}

// NetworkBackend is how connections without TLS are served; each with TLS has a goroutine of its own.
type NetworkBackend string

// The backends that exist.
const (
	BackendEpoll NetworkBackend = "epoll" // by event loops; Linux alone has them
	BackendUring NetworkBackend = "uring" // by event loops over io_uring
	BackendNet   NetworkBackend = "net"   // by a goroutine a connection
)

// UnmarshalText reads a backend in any case.
func (b *NetworkBackend) UnmarshalText(text []byte) error {
	return choose(b, "network backend", text, BackendEpoll, BackendUring, BackendNet)
}

// defaultNetworkBackend is the best one that the platform has.
func defaultNetworkBackend() NetworkBackend {
	if runtime.GOOS == "linux" {
		return BackendEpoll
	}
	return BackendNet
}

// Format is the format of a config file.
type Format string

// The formats that exist.
const (
	RedisConf Format = "RedisConf" // `key value` lines with # comments
	JSON      Format = "JSON"      // an object with option names as keys
)

// UnmarshalText reads a format in any case.
func (f *Format) UnmarshalText(text []byte) error {
	return choose(f, "config format", text, RedisConf, JSON)
}

// FileMode is the permission bits of a file; its text is octal.
type FileMode uint32

// UnmarshalText reads an octal mode of at most 777.
func (m *FileMode) UnmarshalText(text []byte) error {
	mode, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil || mode > 0o777 {
		return fmt.Errorf("cannot read file mode %q: it must be octal, from 0 to 777", text)
	}
	*m = FileMode(mode)
	return nil
}

// FileMode returns the mode as package io/fs has it.
func (m FileMode) FileMode() fs.FileMode { return fs.FileMode(m).Perm() }

// String returns the mode in octal.
func (m FileMode) String() string { return strconv.FormatUint(uint64(m), 8) }

// choose sets target to the choice whose name is text in any case, or says which there are.
func choose[T ~string](target *T, what string, text []byte, choices ...T) error {
	names := make([]string, len(choices))
	for i, choice := range choices {
		if strings.EqualFold(string(choice), string(text)) {
			*target = choice
			return nil
		}
		names[i] = string(choice)
	}
	last := len(names) - 1
	return fmt.Errorf("cannot read %s %q: it must be %s or %s",
		what, text, strings.Join(names[:last], ", "), names[last])
}
