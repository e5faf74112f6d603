package main

import (
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
)

// flags are the options of the server and those of the program around it.
type flags struct {
	ConfigFile string `arg:"" optional:"" name:"config-file" help:"Config file to import, as redis-server takes it."`

	config.Options

	ImportPath   string           `name:"config-import-path" group:"Files" help:"Config file to import; the command line overrides it."`
	ImportFormat config.Format    `name:"config-import-format" group:"Files" help:"RedisConf or JSON (JSON for a name that ends in .json)."`
	Quiet        bool             `name:"quiet" short:"q" group:"Log" help:"Print no banner."`
	Version      kong.VersionFlag `name:"version" help:"Print the version and exit."`
}

const description = "A cache server that Redis clients talk to, and that spills to a device what does not fit in memory."

// parse reads the command line and the config file it names. done says that help or the version
// was asked for and printed; the notes are lines for the log.
func parse(arguments []string, stdout, stderr io.Writer) (parsed *flags, notes []string, done bool, err error) {
	parsed, done, err = parseOver(nil, arguments, stdout, stderr)
	if done || err != nil {
		return nil, nil, done, err
	}
	path := parsed.ImportPath
	switch {
	case path == "" && parsed.ConfigFile == "":
		return parsed, nil, false, nil
	case path == "":
		path = parsed.ConfigFile
	case parsed.ConfigFile != "":
		return nil, nil, false, errors.New("--config-import-path and a config file as argument: give one of them")
	}
	entries, notes, err := config.ReadFile(path, parsed.ImportFormat)
	if err != nil {
		return nil, nil, false, err
	}
	parsed, done, err = parseOver(entries, arguments, stdout, stderr)
	return parsed, notes, done, err
}

// parseOver reads the command line; options it does not give come from the entries of a file.
func parseOver(entries []config.Entry, arguments []string, stdout, stderr io.Writer) (*flags, bool, error) {
	var parsed flags
	done := false
	parser, err := kong.New(&parsed,
		kong.Name("pyrope-server"),
		kong.Description(description),
		kong.Vars{"version": "Pyrope " + programVersion() + " (Redis " + command.CompatibleVersion + ")"},
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { done = true }),
		kong.TypeMapper(reflect.TypeFor[config.Switch](), switchMapper{}),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "Network", Title: "Network"}, {Key: "Memory", Title: "Memory"},
			{Key: "Storage", Title: "Storage tier"}, {Key: "Files", Title: "Config file"}, {Key: "Log", Title: "Log"},
		}),
		kong.Resolvers(fileResolver(entries)),
	)
	if err != nil {
		return nil, false, err
	}
	if _, err = parser.Parse(arguments); done {
		return nil, true, nil
	}
	return &parsed, false, err
}

// fileResolver gives kong the values of a config file. The last entry of a name counts.
func fileResolver(entries []config.Entry) kong.ResolverFunc {
	values := make(map[string]string)
	for _, entry := range entries {
		values[entry.Name] = entry.Value
	}
	return func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if value, ok := values[flag.Name]; ok {
			return value, nil
		}
		return nil, nil
	}
}

// switchMapper reads a switch: --name, --name=no, or --name no.
type switchMapper struct{}

// IsBool tells kong that the flag may stand alone.
func (switchMapper) IsBool() bool { return true }

// Decode takes the value that belongs to the flag, or the next argument if it reads as a switch.
func (switchMapper) Decode(context *kong.DecodeContext, target reflect.Value) error {
	value := config.On
	token := context.Scan.Peek()
	text, isText := token.Value.(string)
	switch {
	case token.Type == kong.FlagValueToken:
		context.Scan.Pop()
		if err := value.UnmarshalText([]byte(text)); err != nil {
			return err
		}
	case isText && !token.IsEOL() && !strings.HasPrefix(text, "-") && value.UnmarshalText([]byte(text)) == nil:
		context.Scan.Pop()
	}
	target.Set(reflect.ValueOf(value))
	return nil
}
