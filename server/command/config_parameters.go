package command

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pyropedb/pyrope/server/config"
)

// parameter is one name of CONFIG GET and SET.
type parameter struct {
	name string // lower case
	get  func(s *State) string
	// set checks a value and returns what puts it to use, or the problem with it. nil for a
	// parameter that is fixed while the server runs.
	set func(s *State, value string) (change func(), problem string)
	// check is there instead of set for an option that the server around the commands puts to use, all of one
	// CONFIG SET together; it returns the problem with a value.
	check func(value string) (problem string)
}

// immutable is the problem of a parameter that is fixed while the server runs.
const immutable = "can't set immutable config"

// prepare is set; a fixed parameter may be set to the value it has, since tools do so.
func (p *parameter) prepare(s *State, value string) (change func(), problem string) {
	switch {
	case p.set != nil:
		return p.set(s, value)
	case strings.EqualFold(value, p.get(s)):
		return func() {}, ""
	}
	return nil, immutable
}

// parameters are all there are, sorted by name; immutable.
var parameters = describeParameters()

// parameterNamed returns the parameter with a name in lower case, or nil.
func parameterNamed(name string) *parameter {
	i, found := slices.BinarySearchFunc(parameters, name, func(p parameter, name string) int {
		return strings.Compare(p.name, name)
	})
	if !found {
		return nil
	}
	return &parameters[i]
}

// describeParameters puts together those with a meaning of their own, those of Redis that are
// always the same here, and the options of the server that are left.
func describeParameters() []parameter {
	all := append(append([]parameter{}, ownParameters...), runtimeParameters()...)
	for name, value := range constantParameters {
		all = append(all, parameter{name: name, get: func(*State) string { return value }})
	}
	known := make(map[string]bool)
	for _, p := range all {
		known[p.name] = true
	}
	for _, option := range config.Names() {
		for _, name := range append(config.Aliases(option), option) {
			if !known[name] {
				all = append(all, parameter{name: name, get: optionText(option)})
			}
		}
	}
	slices.SortFunc(all, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	return all
}

// constantParameters are Redis's for what the server does one way only.
var constantParameters = map[string]string{
	"cluster-enabled":      "no",
	"hz":                   "10",
	"lazyfree-lazy-expire": "no",
}

// ownParameters are those whose value is not just the text of an option.
var ownParameters = []parameter{
	{name: "active-expire-effort", get: expireEffort, set: setExpireEffort},
	{name: "latency-monitor-threshold", set: setLatencyThreshold,
		get: func(s *State) string { return s.latency.get(&s.latency.thresholdMilliseconds) }},
	{name: "latency-tracking", get: func(s *State) string { return yesNo(!s.latency.untracked.Load()) }, set: setLatencyTracking},
	{name: "latency-tracking-info-percentiles", get: latencyPercentiles, set: setLatencyPercentiles},
	{name: "slowlog-log-slower-than", set: setSlowMicroseconds,
		get: func(s *State) string { return s.latency.get(&s.latency.slowMicroseconds) }},
	{name: "slowlog-max-len", set: setSlowLimit,
		get: func(s *State) string { return s.latency.get(&s.latency.slowLimit) }},
	{name: "aof-commit-freq", get: func(s *State) string { return string(s.commitFrequency()) }, set: setCommitFrequency},
	{name: "appendfsync", get: appendFsync, set: setCommitFrequency},
	{name: "appendonly", get: func(s *State) string { return yesNo(s.AppendOnly != nil) }},
	{name: "bind", get: func(s *State) string { return s.Server.Options.Hosts() }},
	{name: "databases", get: func(s *State) string { return strconv.Itoa(len(s.databases)) }},
	{name: "dir", get: directory},
	{name: "io-threads", get: func(s *State) string { return strconv.Itoa(s.Server.threads()) }},
	{name: "logger-level", get: func(s *State) string { return string(s.level()) }, set: setLevel},
	{name: "loglevel", get: redisLevel, set: setLevel},
	{name: "max-databases", get: func(s *State) string { return strconv.Itoa(len(s.databases)) }},
	{name: "maxclients", get: func(s *State) string { return strconv.Itoa(s.Server.MaxClients()) }, set: setMaxClients},
	{name: "maxdisk", get: func(s *State) string { return strconv.FormatUint(s.Store.Info().MaxDeviceBytes, 10) }, set: setMaxDisk},
	{name: "network-connection-limit", get: func(s *State) string { return strconv.Itoa(s.Server.MaxClients()) }, set: setMaxClients},
	{name: "notify-keyspace-events", get: func(s *State) string { return eventClass(s.eventClasses.Load()).String() }, set: setEvents},
	{name: "password", get: func(s *State) string { return s.Server.Password() }, set: setPassword},
	{name: "port", get: func(s *State) string { return strconv.Itoa(int(s.Server.Port.Load())) }},
	{name: "requirepass", get: func(s *State) string { return s.Server.Password() }, set: setPassword},
	{name: "tracking-table-max-keys", get: func(s *State) string { return decimalNumber(s.tracking.limit.Load()) }, set: setTrackedKeys},
	{name: "sg-get", get: func(s *State) string { return yesNo(s.ScatterGather.Load()) }, set: setScatterGather},
}

// directory is the directory of what outlives the server.
func directory(s *State) string {
	if absolute, err := filepath.Abs(s.Server.Options.CheckpointDir); err == nil {
		return absolute
	}
	working, _ := os.Getwd()
	return working
}

// yesNo is the text of a switch.
func yesNo(on bool) string {
	if on {
		return string(config.On)
	}
	return string(config.Off)
}

// setPassword changes what new connections must give.
func setPassword(s *State, value string) (func(), string) {
	return func() { s.Server.SetPassword(value) }, ""
}

// setMaxClients changes how many connections are served at a time; those there are stay.
func setMaxClients(s *State, value string) (func(), string) {
	limit, problem := integerBetween(value, 1, math.MaxInt32)
	return func() { s.Server.maxClients.Store(limit) }, problem
}

// setMaxDisk bounds what the log may take on the device; 0 is no bound.
func setMaxDisk(s *State, value string) (func(), string) {
	size, err := config.ParseSize(value)
	page := config.Size(s.Store.PageBytes())
	switch {
	case err != nil:
		return nil, "argument must be a memory value"
	case s.Server.Device.Kind == "":
		return nil, "there is no storage tier"
	case size != 0 && size < page:
		return nil, fmt.Sprintf("argument must be 0 or at least a page, %s", page)
	}
	return func() { s.Store.BoundDevice(uint64(size), s.Server.Current().Policy.EvictsAny()) }, ""
}

// integerBetween reads the value of a parameter that is an integer from least to most, or says what is wrong with it.
func integerBetween(value string, least, most int64) (n int64, problem string) {
	n, ok := parseInteger([]byte(value))
	switch {
	case !ok:
		return 0, "argument couldn't be parsed into an integer"
	case n < least || n > most:
		return 0, fmt.Sprintf("argument must be between %d and %d inclusive", least, most)
	}
	return n, ""
}

// expireEffort is how much of a processor active expiry may take, from 1 to 10.
func expireEffort(s *State) string {
	return decimalNumber(int64(max(s.expiry.effort.Load(), defaultExpireEffort)))
}

func setExpireEffort(s *State, value string) (func(), string) {
	effort, problem := integerBetween(value, 1, maxExpireEffort)
	return func() { s.expiry.effort.Store(int32(effort)) }, problem
}

// setTrackedKeys bounds the table of tracked keys; 0 is no bound.
func setTrackedKeys(s *State, value string) (func(), string) {
	limit, problem := integerBetween(value, 0, math.MaxInt64)
	return func() { s.tracking.limit.Store(limit) }, problem
}

// setScatterGather turns the gathering of reads on or off.
func setScatterGather(s *State, value string) (func(), string) {
	if problem := checkSwitch(value); problem != "" {
		return nil, problem
	}
	on := strings.EqualFold(value, string(config.On))
	return func() { s.ScatterGather.Store(on) }, ""
}

// setLevel changes which log lines are written.
func setLevel(s *State, value string) (func(), string) {
	var level config.Level
	if err := level.UnmarshalText([]byte(value)); err != nil {
		return nil, oneOf("debug", "verbose", "notice", "warning")
	}
	if s.Server.LogLevel == nil {
		return nil, immutable
	}
	return func() { s.Server.LogLevel.Set(level.Slog()) }, ""
}

// level is the least level that is logged now.
func (s *State) level() config.Level {
	if s.Server.LogLevel == nil {
		return s.Server.Options.LoggerLevel
	}
	return config.LevelOf(s.Server.LogLevel.Level())
}

// redisLevel is the level by the nearest of Redis's names.
func redisLevel(s *State) string {
	switch s.level() {
	case config.Trace:
		return "verbose"
	case config.Debug:
		return "debug"
	case config.Warning, config.Error, config.Critical:
		return "warning"
	case config.None:
		return "nothing"
	}
	return "notice"
}
