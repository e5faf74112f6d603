package program

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/server/config"
)

// Options is a pointer to a struct of flags, as package kong reads them.
type Options interface {
	// Check reports the first option that is out of range or does not go with the others.
	Check() error
}

// Help is the flag --help, without the short form -h, which names a host in one of the benchmarks.
type Help struct {
	Help helpFlag `help:"Show this help and exit."`
}

// helpFlag shows the help when it is seen.
type helpFlag bool

// BeforeReset prints the help and ends the parse; kong calls it before it looks at other flags.
func (helpFlag) BeforeReset(c *kong.Context) error {
	if err := c.PrintUsage(false); err != nil {
		return err
	}
	return ErrHelpShown
}

// Parse reads a command line into o, which embeds Help, and checks it. The help goes to stdout;
// then the error is ErrHelpShown.
func Parse(name, description string, o Options, arguments []string, stdout io.Writer, more ...kong.Option) error {
	parser, err := kong.New(o, append(append(more, numbers()...),
		kong.Name(name), kong.Description(description), kong.NoDefaultHelp(), kong.Writers(stdout, stdout))...)
	if err != nil {
		return err
	}
	if _, err := parser.Parse(arguments); err != nil {
		if errors.Is(err, ErrHelpShown) {
			return ErrHelpShown
		}
		return explain(err, o)
	}
	return o.Check()
}

// Explainer is Options that know why there are no flags of some names, such as those of the tools whose output a
// program follows.
type Explainer interface {
	// WhyNot tells why there is no flag of this name; empty when nothing is known about it.
	WhyNot(flag string) string
}

// explain adds to the error of an unknown flag why there is none, from the program or from what the server says of its options.
func explain(err error, o Options) error {
	flag, unknown := strings.CutPrefix(err.Error(), "unknown flag --")
	if !unknown {
		return err
	}
	flag, _, _ = strings.Cut(flag, ",")
	reason := ""
	if e, has := o.(Explainer); has {
		reason = e.WhyNot(flag)
	}
	if reason == "" {
		reason = config.WhyNot(flag)
	}
	if reason == "" {
		return err
	}
	return fmt.Errorf("there is no flag --%s: %s", flag, reason)
}

// Refuse tells stderr what is wrong with a command line, which is the error of Parse, and returns
// the exit code.
func Refuse(err error, stderr io.Writer) int {
	if errors.Is(err, ErrHelpShown) {
		return Success
	}
	fmt.Fprintf(stderr, "ERROR: %v\n", err)
	return Usage
}
