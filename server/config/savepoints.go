package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pyropedb/pyrope/device"
)

// SavePoints say when a checkpoint is taken: pairs of numbers, separated by blanks. Each pair asks for one once so
// many seconds have passed since the last and there were at least so many writes.
type SavePoints string

// SavePoint is one pair.
type SavePoint struct {
	After  time.Duration
	Writes uint64
}

// noSavePoints is the error for a text that is none.
func noSavePoints(text []byte) error {
	return fmt.Errorf("cannot read save points %q: they are pairs of seconds and writes, each at least 1 second and 0 writes, e.g. 3600 1 300 100", text)
}

// UnmarshalText reads pairs; none is never.
func (p *SavePoints) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words)%2 != 0 {
		return noSavePoints(text)
	}
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 0 || i%2 == 0 && n == 0 {
			return noSavePoints(text)
		}
	}
	*p = SavePoints(strings.Join(words, " "))
	return nil
}

// Points returns the pairs.
func (p SavePoints) Points() []SavePoint {
	words := strings.Fields(string(p))
	points := make([]SavePoint, len(words)/2)
	for i := range points {
		seconds, _ := strconv.Atoi(words[2*i]) // digits, as UnmarshalText checks
		writes, _ := strconv.ParseUint(words[2*i+1], 10, 64)
		points[i] = SavePoint{time.Duration(seconds) * time.Second, writes}
	}
	return points
}

// CanSave reports whether checkpoints can be taken: not when the log's cold part lies where the next start finds nothing.
func (o *Options) CanSave() bool {
	return !o.StorageTier.IsOn() || o.DeviceType != device.LocalMemory && o.DeviceType != device.Null
}
