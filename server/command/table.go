package command

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sort"
	"strings"
)

// Flags are the properties of a command, with the meanings COMMAND INFO gives them.
type Flags uint32

// The flags, in the order in which COMMAND INFO lists them.
const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Admin
	NoScript
	Blocking
	Loading
	Stale
	Fast
	NoAuth
	NoAsyncLoading
	NoMulti
	AllowBusy
	MovableKeys
	PubSub
)

var flagNames = [...]string{"write", "readonly", "denyoom", "admin", "noscript", "blocking", "loading",
	"stale", "fast", "no_auth", "no_async_loading", "no_multi", "allow_busy", "movablekeys", "pubsub"}

// Names returns the names of the flags that are set, in the order of their declaration.
func (f Flags) Names() []string { return namesOf(uint32(f), flagNames[:]) }

// Categories are the ACL categories of a command.
type Categories uint32

// The categories, in the order in which COMMAND INFO lists them. In keeps them apart from the
// flags of the same name.
const (
	InKeyspace Categories = 1 << iota
	InRead
	InWrite
	InString
	InBitmap
	InHyperLogLog
	InAdmin
	InFast
	InSlow
	InDangerous
	InConnection
	InPubSub
)

var categoryNames = [...]string{"@keyspace", "@read", "@write", "@string", "@bitmap", "@hyperloglog", "@admin", "@fast",
	"@slow", "@dangerous", "@connection", "@pubsub"}

// Names returns the names of the categories that are set, in the order of their declaration.
func (c Categories) Names() []string { return namesOf(uint32(c), categoryNames[:]) }

func namesOf(set uint32, names []string) []string {
	var out []string
	for ; set != 0; set &= set - 1 {
		out = append(out, names[bits.TrailingZeros32(set)])
	}
	return out
}

// KeySpec says where some of a command's keys are among its arguments, the name being argument 0.
// Last counts from the end when it is negative: -1 is the last argument.
type KeySpec struct {
	First, Last, Step int
	Flags             string // COMMAND INFO's words: "RO access", "RW update" and the like
}

// The key positions that most commands have.
var (
	oneKeyRead   = []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RO access"}}
	oneKeyUpdate = []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW update"}}
)

// Handler carries out one command: it finds its arguments in c.Args (the name is Args[0]), and
// appends exactly one reply to c.Out.
type Handler func(c *Context)

// Command is one entry of the table. Entries are immutable once registered.
type Command struct {
	Name       string // lower case; a subcommand has its own word only
	Arity      int    // arguments with the name, and the container's name; negative: at least that many
	Flags      Flags
	Categories Categories
	Keys       []KeySpec // in their order; nil for a command without keys
	Group      string    // COMMAND DOCS: "string", "generic", "connection", "server"
	Since      string
	Complexity string
	Summary    string
	Handler    Handler // nil for a container whose every use needs a subcommand

	Subcommands []Command

	fullName string // "client|id" for a subcommand, else Name
	index    int    // position in commandsByIndex, and in the counters of Stats
}

// FullName is the name as errors and COMMAND INFO give it: "get", "client|id".
func (d *Command) FullName() string { return d.fullName }

// Index numbers the commands and subcommands from 0 to CommandCount()-1; Stats counts by it.
func (d *Command) Index() int { return d.index }

// accepts reports whether a call with count arguments, the name included, has the right number.
func (d *Command) accepts(count int) bool {
	if d.Arity >= 0 {
		return count == d.Arity
	}
	return count >= -d.Arity
}

// Subcommand returns the subcommand with this name in any letter case, or nil.
func (d *Command) Subcommand(name []byte) *Command {
	for i := range d.Subcommands {
		if equalFold(name, d.Subcommands[i].Name) {
			return &d.Subcommands[i]
		}
	}
	return nil
}

// tableSize is the number of slots: a power of two, several times the number of commands, so that
// a look-up seldom probes twice.
const tableSize = 1024

// slot is one place of the open-addressed table. first and last are the upper-cased words of the
// name (nameWords); together with the length they are the whole name up to 16 bytes.
type slot struct {
	first, last uint64
	command     *Command
}

var (
	slots           [tableSize]slot
	commandsByName  []*Command // top-level commands, sorted by name
	commandsByIndex []*Command // every command and subcommand; position is Index
)

// register adds a family's commands to the table. It is called by init functions only, so that
// the table is immutable, and read without a lock, once main runs.
func register(family []Command) {
	for i := range family {
		d := &family[i]
		d.fullName = d.Name
		number(d)
		for j := range d.Subcommands {
			d.Subcommands[j].fullName = d.Name + "|" + d.Subcommands[j].Name
			number(&d.Subcommands[j])
		}
		if Lookup([]byte(d.Name)) != nil {
			panic(fmt.Sprintf("BUG: command %q is registered twice", d.Name))
		}
		first, last := nameWords([]byte(d.Name))
		place := slotOf(first, last)
		for slots[place].command != nil {
			place = (place + 1) % tableSize
		}
		slots[place] = slot{first, last, d}
		commandsByName = append(commandsByName, d)
	}
	sort.Slice(commandsByName, func(i, j int) bool { return commandsByName[i].Name < commandsByName[j].Name })
}

func number(d *Command) {
	if d.Name != strings.ToLower(d.Name) || d.Name == "" {
		panic(fmt.Sprintf("BUG: command name %q is not lower case", d.Name))
	}
	d.index = len(commandsByIndex)
	commandsByIndex = append(commandsByIndex, d)
}

// Lookup finds a top-level command by its name in any letter case, or returns nil. It allocates nothing.
func Lookup(name []byte) *Command {
	first, last := nameWords(name)
	for place := slotOf(first, last); ; place = (place + 1) % tableSize {
		s := &slots[place]
		if s.command == nil {
			return nil
		}
		if s.first == first && s.last == last && len(s.command.Name) == len(name) &&
			(len(name) <= 16 || equalFold(name, s.command.Name)) {
			return s.command
		}
	}
}

// Commands returns the top-level commands in the order of their names. The caller must not change it.
func Commands() []*Command { return commandsByName }

// AllCommands returns every command and subcommand; the position is its Index. The caller must not change it.
func AllCommands() []*Command { return commandsByIndex }

func slotOf(first, last uint64) int {
	return int(((first ^ bits.RotateLeft64(last, 29)) * 0x9E3779B97F4A7C15) >> (64 - 10))
}

// nameWords packs a name's first and last eight bytes, upper-cased, into two words. A name of up
// to eight bytes is in the first word alone, in a form that is unambiguous given its length.
func nameWords(name []byte) (first, last uint64) {
	n := len(name)
	switch {
	case n >= 8:
		return upperWord(binary.LittleEndian.Uint64(name)), upperWord(binary.LittleEndian.Uint64(name[n-8:]))
	case n >= 4:
		return upperWord(uint64(binary.LittleEndian.Uint32(name)) | uint64(binary.LittleEndian.Uint32(name[n-4:]))<<32), 0
	case n > 0:
		return upperWord(uint64(name[0]) | uint64(name[n/2])<<8 | uint64(name[n-1])<<16), 0
	}
	return 0, 0
}

// upperWord upper-cases the ASCII letters among eight bytes at once and leaves every other byte alone.
func upperWord(w uint64) uint64 {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	low := w &^ highs
	fromA := low + (0x80-'a')*ones   // high bit set in bytes >= 'a'
	pastZ := low + (0x80-'z'-1)*ones // high bit set in bytes > 'z'
	lower := (fromA &^ pastZ) &^ w & highs
	return w - lower>>2 // 0x80>>2 is the 0x20 between the cases
}

// equalFold reports whether b is name, which is lower case, in any letter case.
func equalFold(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return false
		}
	}
	return true
}
