package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
)

// flags are the options of the server and those of the program around it.
type flags struct {
	ConfigFile string `arg:"" optional:"" name:"config-file" help:"Config file to import, as redis-server takes it."`

	config.Options

	rewritable string // the redis.conf that was read; empty is none

	ImportPath   string           `name:"config-import-path" group:"Files" help:"Config file to import; the command line overrides it."`
	ImportFormat config.Format    `name:"config-import-format" group:"Files" help:"RedisConf or JSON (JSON for a name that ends in .json)."`
	Quiet        bool             `name:"quiet" short:"q" group:"Log" help:"Print no banner."`
	Version      kong.VersionFlag `name:"version" short:"v" help:"Print the version and exit."`
}

const description = "A cache server that Redis clients talk to, and that spills to a device what does not fit in memory."

// parse reads the command line, the environment and the config file they name; the first overrides the second, and
// that the third. done says that help or the version was asked for and printed; the notes are lines for the log.
func parse(arguments, environment []string, stdout, stderr io.Writer) (parsed *flags, notes []string, done bool, err error) {
	parsed, done, err = parseOver(nil, arguments, stdout, stderr)
	if done || err != nil {
		return nil, nil, done, err
	}
	given, others, notes, err := config.ReadEnvironment(environment, "config-import-path", "config-import-format", "quiet")
	if err != nil {
		return nil, nil, false, err
	}
	path, format := parsed.ImportPath, parsed.ImportFormat
	switch {
	case path != "" && parsed.ConfigFile != "":
		return nil, nil, false, errors.New("--config-import-path and a config file as argument: give one of them")
	case parsed.ConfigFile != "":
		path = parsed.ConfigFile
	case path == "":
		path = others["config-import-path"]
	}
	if format == "" && others["config-import-format"] != "" {
		if err := format.UnmarshalText([]byte(others["config-import-format"])); err != nil {
			return nil, nil, false, err
		}
	}
	var entries []config.Entry
	rewritable := ""
	if path != "" {
		var fileNotes []string
		if entries, fileNotes, err = config.ReadFile(path, format); err != nil {
			return nil, nil, false, err
		}
		if !config.IsJSON(path, format) {
			if rewritable, err = filepath.Abs(path); err != nil {
				return nil, nil, false, err
			}
		}
		notes = append(notes, fileNotes...)
	}
	values := config.Merge(entries)
	maps.Copy(values, config.Merge(given))
	if quiet := others["quiet"]; quiet != "" {
		values["quiet"] = quiet
	}
	if parsed, done, err = parseOver(values, arguments, stdout, stderr); parsed != nil {
		parsed.rewritable = rewritable
	}
	return parsed, notes, done, err
}

// parseOver reads the command line; options it does not give have the values given, by name.
func parseOver(values map[string]string, arguments []string, stdout, stderr io.Writer) (*flags, bool, error) {
	var parsed flags
	done := false
	parser, err := kong.New(&parsed,
		kong.Name("pyrope-server"),
		kong.Description(description),
		kong.Vars{"version": "Pyrope " + programVersion() + " (Redis " + command.CompatibleVersion + ")"},
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { done = true }),
		kong.TypeMapper(reflect.TypeFor[config.Switch](), switchMapper{}),
		kong.TypeMapper(reflect.TypeFor[config.Number](), kong.MapperFunc(decodeNumber)),
		kong.KindMapper(reflect.Int, kong.MapperFunc(decodeNumber)),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "Network", Title: "Network"}, {Key: "TLS", Title: "TLS"}, {Key: "Memory", Title: "Memory"},
			{Key: "Storage", Title: "Storage tier"}, {Key: "Durability", Title: "Durability"}, {Key: "HTTP", Title: "HTTP"}, {Key: "Files", Title: "Config file"}, {Key: "Log", Title: "Log"},
		}),
		kong.Resolvers(resolver(values)),
	)
	if err != nil {
		return nil, false, err
	}
	if _, err = parser.Parse(arguments); done {
		return nil, true, nil
	}
	return &parsed, false, explained(err)
}

// explained adds to the error for an unknown flag why there is no such option, where that is known, and says in
// whole words how a value is written that looks like a flag.
func explained(err error) error {
	if err == nil {
		return nil
	}
	if before, written, looksLikeFlag := strings.Cut(err.Error(), " flag); perhaps try "); looksLikeFlag {
		option, _, _ := strings.Cut(before, ":")
		return fmt.Errorf("%s has no value; one that begins with - is written %s", option, strings.TrimSuffix(written, "?"))
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag --")
	name, _, _ = strings.Cut(name, ",")
	if reason := config.WhyNot(name); unknown && reason != "" {
		return fmt.Errorf("there is no option --%s: %s", name, reason)
	}
	return err
}

// decodeNumber reads a whole number, and says which there are if it is none.
func decodeNumber(context *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := context.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	number, err := strconv.Atoi(text)
	least, most := config.Range(context.Value.Name)
	if err != nil || number == 0 && least > 0 {
		return config.NoNumber(text, least, most)
	}
	if target.Kind() == reflect.Int {
		target.SetInt(int64(number))
	} else {
		target.Set(reflect.ValueOf(config.Given(number)))
	}
	return nil
}

// resolver gives kong the values of the environment and the config file.
func resolver(values map[string]string) kong.ResolverFunc {
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
