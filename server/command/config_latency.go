package command

import (
	"errors"
	"math"
	"strings"

	"github.com/pyropedb/pyrope/server/config"
)

// The parameters of the slow log and of LATENCY.

func setSlowMicroseconds(s *State, value string) (func(), string) {
	return s.latency.setter(&s.latency.slowMicroseconds, value, -1)
}

func setSlowLimit(s *State, value string) (func(), string) {
	return s.latency.setter(&s.latency.slowLimit, value, 0)
}

func setLatencyThreshold(s *State, value string) (func(), string) {
	return s.latency.setter(&s.latency.thresholdMilliseconds, value, 0)
}

// setter is the set of an integer parameter.
func (m *latencyMonitor) setter(parameter *int64, value string, least int64) (func(), string) {
	n, problem := integerBetween(value, least, math.MaxInt64)
	return func() { m.set(func() { *parameter = n }) }, problem
}

func setLatencyTracking(s *State, value string) (func(), string) {
	off := strings.EqualFold(value, string(config.Off))
	return func() { s.latency.untracked.Store(off) }, checkSwitch(value)
}

// latencyPercentiles is latency-tracking-info-percentiles.
func latencyPercentiles(s *State) string {
	var words []string
	for _, percent := range *s.latency.percentiles.Load() {
		words = append(words, percentText(percent))
	}
	return strings.Join(words, " ")
}

func setLatencyPercentiles(s *State, value string) (func(), string) {
	values, err := config.Percentiles(value).Values()
	switch {
	case errors.Is(err, config.ErrPercentileRange):
		return nil, "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
	case err != nil:
		return nil, "Invalid latency-tracking-info-percentiles parameters"
	}
	return func() { s.latency.percentiles.Store(&values) }, ""
}

// startParameters are the options that a start puts to use as CONFIG SET does.
var startParameters = []string{
	"active-expire-effort", "latency-monitor-threshold", "latency-tracking", "latency-tracking-info-percentiles",
	"notify-keyspace-events", "sg-get", "slowlog-log-slower-than", "slowlog-max-len",
	"tracking-table-max-keys",
}

// UseOptions puts to use what the server's options say of commands. Server.Options is set and was checked before.
func (s *State) UseOptions() {
	for _, name := range startParameters {
		if value := s.Server.Options.Get(name); value != "" {
			if change, problem := parameterNamed(name).set(s, value); problem == "" {
				change()
			}
		}
	}
}
