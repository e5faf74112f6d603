package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// DebugAccess says who may use the command DEBUG.
type DebugAccess string

// Who may.
const (
	DebugNo    DebugAccess = "no"    // nobody
	DebugYes   DebugAccess = "yes"   // everybody
	DebugLocal DebugAccess = "local" // who is on this machine
)

// UnmarshalText reads it in any case.
func (a *DebugAccess) UnmarshalText(text []byte) error {
	return choose(a, "access to DEBUG", text, DebugNo, DebugYes, DebugLocal)
}

// eventLetters are those of the classes of keyspace events, in the order of Redis's error.
const eventLetters = "Ag$lshzxeKEtmdn"

// EventLetters is the text of notify-keyspace-events.
type EventLetters string

// UnmarshalText reads letters in any order.
func (e *EventLetters) UnmarshalText(text []byte) error {
	if strings.Trim(string(text), eventLetters) != "" {
		return fmt.Errorf("cannot read keyspace events %q: the letters are %s", text, eventLetters)
	}
	*e = EventLetters(text)
	return nil
}

// What may be wrong with percentiles; tested with errors.Is.
var (
	ErrPercentile      = errors.New("config: not a percentile")
	ErrPercentileRange = errors.New("config: a percentile is not from 0 to 100")
)

// Percentiles is the text of latency-tracking-info-percentiles: numbers from 0 to 100 with blanks between.
type Percentiles string

// UnmarshalText reads numbers.
func (p *Percentiles) UnmarshalText(text []byte) error {
	if _, err := Percentiles(text).Values(); err != nil {
		return fmt.Errorf("cannot read percentiles %q: they must be numbers from 0 to 100: %w", text, err)
	}
	*p = Percentiles(text)
	return nil
}

// Values are the numbers, or ErrPercentile or ErrPercentileRange.
func (p Percentiles) Values() ([]float64, error) {
	values := []float64{}
	for _, word := range strings.Fields(string(p)) {
		value, err := strconv.ParseFloat(word, 64)
		switch {
		case err != nil:
			return nil, ErrPercentile
		case !(value >= 0 && value <= 100):
			return nil, ErrPercentileRange
		}
		values = append(values, value)
	}
	return values, nil
}
