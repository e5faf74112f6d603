// Command pyrope-check verifies what a server has left in a directory while no server uses it: the checkpoints and the
// append-only file. It changes nothing unless it is told to repair.
//
//	pyrope-check /data                 verify the checkpoints in /data/checkpoints and the append-only file in /data/aof
//	pyrope-check --logdir /log /data   verify what the checkpoints need of the log's segments in /log too
//	pyrope-check --entries /data       print its entries too: address, effect, database's namespace, key, sizes
//	pyrope-check --repair /data        cut off what a crash left behind its last whole block, as a start would
//
// It exits with 0 when all is well, with 1 when something is damaged or, without --repair, torn, and with 2 when it is
// used wrongly or cannot look.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/server/aof"
	"github.com/pyropedb/pyrope/server/command"
	"github.com/pyropedb/pyrope/server/config"
	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

// The exit codes.
const (
	sound   = 0
	damaged = 1
	usage   = 2
)

// flags are the command line.
type flags struct {
	Directory string      `arg:"" help:"Directory of the server's data (its --checkpointdir)."`
	LogDir    string      `name:"logdir" help:"Directory of the log's segments, to verify what lies there too."`
	Segment   config.Size `default:"1g" help:"Size of these segments (1g)."`
	Entries   bool        `help:"Print every entry."`
	Repair    bool        `help:"Cut off a torn tail of the append-only file."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program; it returns the exit code.
func run(arguments []string, stdout, stderr io.Writer) int {
	var given flags
	done := false
	parser, err := kong.New(&given, kong.Name("pyrope-check"), kong.Writers(stdout, stderr), kong.Exit(func(int) { done = true }),
		kong.Description("Verifies what a Pyrope server has left in a directory. Exit codes: 0 sound, 1 damaged or torn, 2 wrong use."))
	if err == nil {
		_, err = parser.Parse(arguments)
	}
	if done {
		return sound
	}
	if err == nil {
		_, err = os.Stat(given.Directory)
	}
	if err == nil && given.LogDir != "" {
		_, err = os.Stat(given.LogDir)
	}
	hasFile, hasCheckpoints := false, false
	if err == nil {
		hasFile, err = exists(filepath.Join(given.Directory, aof.DirectoryName))
		if err == nil {
			hasCheckpoints, err = exists(filepath.Join(given.Directory, tsavorite.CheckpointsDirectory))
		}
	}
	if err == nil && !hasFile && !hasCheckpoints {
		err = fmt.Errorf("there are neither checkpoints nor an append-only file in %s", given.Directory)
	}
	if err != nil {
		fmt.Fprintln(stderr, "pyrope-check:", err)
		return usage
	}
	code := sound
	if hasCheckpoints {
		code = checkpoints(given, stdout, stderr)
	}
	if hasFile && code != usage {
		code = max(code, check(given, stdout, stderr))
	}
	return code
}

// exists tells whether there is a file or a directory.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// checkpoints verifies the checkpoints.
func checkpoints(given flags, stdout, stderr io.Writer) int {
	var pages device.Device
	if given.LogDir != "" {
		var err error
		if pages, err = file.Open(device.Options{Directory: given.LogDir, SegmentSizeBytes: uint64(given.Segment)}); err != nil {
			fmt.Fprintln(stderr, "pyrope-check:", err)
			return usage
		}
		defer pages.Close()
	}
	code := sound
	err := tsavorite.CheckCheckpoints(given.Directory, pages, func(info tsavorite.CheckpointInfo, problem error) {
		if problem != nil {
			fmt.Fprintf(stdout, "checkpoint %d: DAMAGED: %v\n", info.Number, problem)
			code = damaged
			return
		}
		where := "its own files"
		if !info.Snapshot {
			where = "the log's segments, which are not looked at without --logdir"
			if pages != nil {
				where = "the log's segments"
			}
		}
		fmt.Fprintf(stdout, "checkpoint %d: of %s, %d bytes, version %d, log addresses %d to %d in %s\n", info.Number,
			info.Created.Format(time.RFC3339), info.Bytes, info.Version, info.BeginAddress, info.TailAddress, where)
		if position, ok, err := command.SavedPosition(info.Metadata); err != nil {
			fmt.Fprintf(stdout, "checkpoint %d: DAMAGED: %v\n", info.Number, err)
			code = damaged
		} else if ok {
			fmt.Fprintf(stdout, "checkpoint %d: the append-only file goes on at address %d\n", info.Number, position)
		}
	})
	if err != nil {
		fmt.Fprintln(stderr, "pyrope-check:", err)
		return usage
	}
	return code
}

// check verifies the append-only file.
func check(given flags, stdout, stderr io.Writer) int {
	begun := time.Now()
	found, err := aof.Check(given.Directory, given.Repair, func(at log.Address, entry []byte) error {
		if given.Entries {
			fmt.Fprintf(stdout, "%12d  %s\n", at, describe(entry))
		}
		return nil
	})
	switch {
	case errors.Is(err, log.ErrDamaged):
		fmt.Fprintf(stdout, "append-only file: DAMAGED: %v\n", err)
		return damaged
	case err != nil:
		fmt.Fprintln(stderr, "pyrope-check:", err)
		return usage
	}
	bytes := uint64(found.End - found.Begin)
	fmt.Fprintf(stdout, "append-only file: addresses %d to %d, %d entries, %d bytes, %.0f MB/s\n", found.Begin, found.End,
		found.Entries, bytes, float64(bytes)/1e6/time.Since(begun).Seconds())
	if found.TornBytes == 0 {
		if !found.Clean {
			fmt.Fprintln(stdout, "append-only file: the server did not close it; its last commit cannot be told from a torn one")
		}
		return sound
	}
	fmt.Fprintf(stdout, "append-only file: TORN at address %d: %s; %d bytes behind it\n", found.End, found.TornReason, found.TornBytes)
	if given.Repair {
		fmt.Fprintln(stdout, "append-only file: repaired: they are cut off")
		return sound
	}
	return damaged
}

// describe is an entry as a line.
func describe(entry []byte) string {
	var e tsavorite.Entry
	start, err := aof.Decode(entry, &e)
	switch {
	case err != nil:
		return err.Error()
	case start:
		return "start of the server"
	}
	text := fmt.Sprintf("version %d", e.Version)
	if e.Unit != 0 {
		text += fmt.Sprintf(" unit %d", e.Unit)
	}
	key := fmt.Sprintf(" namespace %d key %s", e.Key.Namespace, strconv.Quote(string(e.Key.Bytes)))
	switch e.Effect {
	case tsavorite.EffectSet:
		text += " set" + key + metadata(e) + fmt.Sprintf(" value of %d", e.Length)
	case tsavorite.EffectPatch:
		text += " patch" + key + metadata(e) + fmt.Sprintf(" bytes %d to %d, value of %d", e.Offset, e.Offset+len(e.Value), e.Length)
	case tsavorite.EffectDelete:
		text += " delete" + key
	case tsavorite.EffectUnitEnd:
		text += " end"
	case tsavorite.EffectOpaque:
		text += fmt.Sprintf(" namespaces of the databases, %d bytes", len(e.Value))
	}
	return text
}

// metadata is what an entry's record carries beside its value.
func metadata(e tsavorite.Entry) (text string) {
	if e.Metadata.Kind != 0 {
		text += fmt.Sprintf(" kind %d", e.Metadata.Kind)
	}
	if e.Metadata.Deadline != 0 {
		text += " until " + time.UnixMilli(e.Metadata.Deadline).UTC().Format(time.RFC3339Nano)
	}
	if e.Metadata.Etag != 0 {
		text += fmt.Sprintf(" etag %d", e.Metadata.Etag)
	}
	return text
}
