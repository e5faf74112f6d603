package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// OutputLimit bounds the output of one connection that its peer has not taken. 0 is no bound.
type OutputLimit struct {
	Hard        Size // a connection above it is closed at once
	Soft        Size // and one above this for SoftSeconds on end
	SoftSeconds int
	Given       bool // false is the default of the class
}

// OutputLimits are the limits by class of connection.
type OutputLimits struct{ Normal, Replica, PubSub OutputLimit }

// The classes' defaults are Redis's.
var defaultOutputLimits = OutputLimits{
	Normal:  OutputLimit{Given: true},
	Replica: OutputLimit{256 << 20, 64 << 20, 60, true},
	PubSub:  OutputLimit{32 << 20, 8 << 20, 60, true},
}

// What may be wrong with the text of limits; tested with errors.Is.
var (
	ErrLimitCount = errors.New("it must be a class, a hard limit, a soft limit and seconds, once or more")
	ErrLimitClass = errors.New("the class must be normal, replica or pubsub")
	ErrLimitValue = errors.New("limits must be sizes, and seconds a number from 0")
)

// UnmarshalText reads groups of a class (normal, replica or slave, pubsub), a hard limit, a soft limit and seconds.
// Classes that do not come keep what they have.
func (l *OutputLimits) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) == 0 || len(words)%4 != 0 {
		return fmt.Errorf("cannot read limits %q: %w", text, ErrLimitCount)
	}
	changed := *l
	for ; len(words) > 0; words = words[4:] {
		class := changed.class(words[0])
		if class == nil {
			return fmt.Errorf("cannot read limits %q: %w", text, ErrLimitClass)
		}
		hard, errHard := ParseSize(words[1])
		soft, errSoft := ParseSize(words[2])
		seconds, errSeconds := strconv.ParseInt(words[3], 10, 32)
		if errHard != nil || errSoft != nil || errSeconds != nil || seconds < 0 {
			return fmt.Errorf("cannot read limits %q: %w", text, ErrLimitValue)
		}
		*class = OutputLimit{hard, soft, int(seconds), true}
	}
	*l = changed
	return nil
}

// class returns the limit of a class by its name in any case, or nil.
func (l *OutputLimits) class(name string) *OutputLimit {
	switch strings.ToLower(name) {
	case "normal":
		return &l.Normal
	case "replica", "slave":
		return &l.Replica
	case "pubsub":
		return &l.PubSub
	}
	return nil
}

// String returns the limits as CONFIG GET shows them, with plain numbers of bytes.
func (l OutputLimits) String() string {
	text := func(class string, limit OutputLimit) string {
		return fmt.Sprintf("%s %d %d %d", class, uint64(limit.Hard), uint64(limit.Soft), limit.SoftSeconds)
	}
	return text("normal", l.Normal) + " " + text("slave", l.Replica) + " " + text("pubsub", l.PubSub)
}

// WithDefaults fills in the classes that are not given.
func (l OutputLimits) WithDefaults() OutputLimits {
	for _, class := range []struct {
		limit    *OutputLimit
		ordinary OutputLimit
	}{
		{&l.Normal, defaultOutputLimits.Normal}, {&l.Replica, defaultOutputLimits.Replica}, {&l.PubSub, defaultOutputLimits.PubSub},
	} {
		if !class.limit.Given {
			*class.limit = class.ordinary
		}
	}
	return l
}
