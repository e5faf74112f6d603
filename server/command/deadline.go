package command

import "math"

// expiryUnit is the form in which a command names a deadline.
type expiryUnit uint8

const (
	noExpiry             expiryUnit = iota
	relativeSeconds                 // EX
	relativeMilliseconds            // PX
	absoluteSeconds                 // EXAT
	absoluteMilliseconds            // PXAT
)

func (u expiryUnit) inSeconds() bool { return u == relativeSeconds || u == absoluteSeconds }

func (u expiryUnit) isRelative() bool { return u == relativeSeconds || u == relativeMilliseconds }

// deadlineOf turns the argument of EX, PX, EXAT or PXAT into a deadline in Unix milliseconds. The
// time must be positive and the deadline must not overflow. problem is the error to reply with.
func deadlineOf(argument []byte, unit expiryUnit, now int64) (deadline int64, problem string) {
	n, ok := parseInteger(argument)
	if !ok {
		return 0, errNotInteger
	}
	if n <= 0 || unit.inSeconds() && n > math.MaxInt64/1000 {
		return 0, errInvalidExpire
	}
	if unit.inSeconds() {
		n *= 1000
	}
	if unit.isRelative() {
		if n > math.MaxInt64-now {
			return 0, errInvalidExpire
		}
		n += now
	}
	return n, ""
}

// problem replies with a deadline's error.
func (c *Context) deadlineProblem(problem string) {
	if problem == errInvalidExpire {
		c.errorf(errInvalidExpire, c.command.fullName)
		return
	}
	c.error(problem)
}
