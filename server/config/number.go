package config

import (
	"errors"
	"fmt"
	"strconv"
)

// errNoNumber says that a text is no number; Set adds which there might be.
var errNoNumber = errors.New("config: not a number")

// NoNumber is the error for a text that is no whole number, with the bounds of those that are accepted.
func NoNumber(text string, least, most int64) error {
	return fmt.Errorf("cannot read number %q: it must be a whole number from %d to %d", text, least, most)
}

// Number is a whole number for which 0 is a value: the zero Number is "not given".
type Number struct {
	Value int
	Given bool
}

// Given is a Number that is given.
func Given(value int) Number { return Number{value, true} }

// UnmarshalText reads digits, with a sign if need be.
func (n *Number) UnmarshalText(text []byte) error {
	value, err := strconv.Atoi(string(text))
	if err != nil {
		return errNoNumber
	}
	*n = Given(value)
	return nil
}

// String returns the digits, or nothing when the number is not given.
func (n Number) String() string {
	if !n.Given {
		return ""
	}
	return strconv.Itoa(n.Value)
}
