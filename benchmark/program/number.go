package program

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/alecthomas/kong"
)

// numberKinds are the types of numeric flags that numbers reads.
var numberKinds = []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64}

// numbers are the mappers of numeric flags. The parser puts the flag's name before their errors, which say
// what was given and what would be right.
func numbers() []kong.Option {
	options := make([]kong.Option, len(numberKinds))
	for i, kind := range numberKinds {
		options[i] = kong.KindMapper(kind, kong.MapperFunc(readNumber))
	}
	return options
}

// readNumber sets target, of one of numberKinds, from the flag's text.
func readNumber(c *kong.DecodeContext, target reflect.Value) error {
	token, err := c.Scan.PopValue("number")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	wanted, lowest, highest := "a whole number", any(int64(-1<<63)), any(int64(1<<63-1))
	switch target.Kind() {
	case reflect.Float64:
		var x float64
		wanted = "a number"
		if x, err = strconv.ParseFloat(text, 64); err == nil {
			target.SetFloat(x)
		}
	case reflect.Uint64:
		var n uint64
		lowest, highest = 0, uint64(1<<64-1)
		wanted = "a whole number of at least 0"
		if n, err = strconv.ParseUint(text, 10, 64); err == nil {
			target.SetUint(n)
		}
	default:
		var n int64
		if n, err = strconv.ParseInt(text, 10, 64); err == nil {
			target.SetInt(n)
		}
	}
	switch {
	case errors.Is(err, strconv.ErrRange) && target.Kind() != reflect.Float64:
		return fmt.Errorf("it is %q; it must be from %v to %v", text, lowest, highest)
	case err != nil:
		return fmt.Errorf("it is %q; it must be %s", text, wanted)
	}
	return nil
}
