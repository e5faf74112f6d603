package command

import (
	"math"
	"math/big"

	"github.com/pyropedb/pyrope/tsavorite"
)

// incr is INCR key.
func incr(c *Context) { c.addInteger(1) }

// decr is DECR key.
func decr(c *Context) { c.addInteger(-1) }

// incrby is INCRBY key increment.
func incrby(c *Context) {
	if delta, ok := c.integerArgument(c.Args[2]); ok {
		c.addInteger(delta)
	}
}

// decrby is DECRBY key decrement.
func decrby(c *Context) {
	delta, ok := c.integerArgument(c.Args[2])
	switch {
	case !ok:
	case delta == math.MinInt64:
		c.error(errDecrOverflow)
	default:
		c.addInteger(-delta)
	}
}

// addInteger adds delta to the key in Args[1] and replies with the sum.
func (c *Context) addInteger(delta int64) {
	u := &c.counter
	u.delta = delta
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.problem != "" {
		c.error(u.problem)
		return
	}
	c.notify(stringEvent, "incrby", c.Args[1])
	c.integer(u.sum)
}

// counterUpdater adds to an integer that is kept as decimal digits.
type counterUpdater struct {
	delta int64

	sum     int64 // outcome, unless there is a problem
	problem string
	digits  [20]byte
	length  int
}

// Plan computes the sum and how many digits it has. A missing key counts as 0.
func (u *counterUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	if u.problem = u.add(current, found); u.problem != "" {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	u.length = len(appendInteger(u.digits[:0], u.sum))
	return tsavorite.Plan{Action: tsavorite.Write, Length: u.length, Metadata: current.Metadata}
}

// add puts the sum into sum, or returns the error.
func (u *counterUpdater) add(current tsavorite.Record, found bool) (problem string) {
	u.sum = 0
	if found {
		var ok bool
		if current.Kind != kindString {
			return errWrongType
		}
		if u.sum, ok = parseInteger(current.Value); !ok {
			return errNotInteger
		}
	}
	if u.delta > 0 && u.sum > math.MaxInt64-u.delta || u.delta < 0 && u.sum < math.MinInt64-u.delta {
		return errOverflow
	}
	u.sum += u.delta
	return ""
}

// A large string is no number: none is as long.
func (u *counterUpdater) wantsValue(int64) bool { return false }

// Write fills in the digits.
func (u *counterUpdater) Write(value []byte, _ tsavorite.Record) { copy(value, u.digits[:u.length]) }

// incrbyfloat is INCRBYFLOAT key increment.
func incrbyfloat(c *Context) {
	u := &c.float
	*u = floatUpdater{argument: c.Args[2], text: u.text}
	if _, ok := c.update(c.Args[1], u); !ok {
		return
	}
	if u.problem != "" {
		c.error(u.problem)
		return
	}
	c.notify(stringEvent, "incrbyfloat", c.Args[1])
	c.bulk(u.text)
}

// floatUpdater adds to a decimal fraction.
type floatUpdater struct {
	argument []byte

	delta   *big.Float // of argument, once a plan has asked for it
	text    []byte     // outcome: the sum as it is stored and replied
	problem string
}

// Plan computes the sum. Like Redis it looks at the kind of the key before the value, and at the
// value before the increment.
func (u *floatUpdater) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	u.problem = u.add(current, found)
	if u.problem != "" {
		return tsavorite.Plan{Action: tsavorite.Keep}
	}
	return tsavorite.Plan{Action: tsavorite.Write, Length: len(u.text), Metadata: current.Metadata}
}

// add puts the sum into text, or returns the error.
func (u *floatUpdater) add(current tsavorite.Record, found bool) (problem string) {
	if found && current.Kind != kindString {
		return errWrongType
	}
	value := new(big.Float).SetPrec(extendedMantissaBits)
	var ok bool
	if found {
		if value, ok = parseFloat(current.Value); !ok {
			return errNotFloat
		}
	}
	if u.delta == nil {
		if u.delta, ok = parseFloat(u.argument); !ok {
			return errNotFloat
		}
	}
	sum, ok := addFloats(value, u.delta)
	if !ok {
		return errNaNOrInfinity
	}
	u.text = appendFloat(u.text[:0], sum)
	return ""
}

// A large string may be a number where pages are small: one of five thousand digits.
func (u *floatUpdater) wantsValue(length int64) bool { return length < floatMaxBytes }

// Write fills in the text.
func (u *floatUpdater) Write(value []byte, _ tsavorite.Record) { copy(value, u.text) }
