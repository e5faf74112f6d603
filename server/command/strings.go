package command

import "github.com/pyropedb/pyrope/tsavorite"

// kindString is the engine's Kind of a plain string.
const kindString tsavorite.Kind = 0

// getCommand and setCommand are entries of the table, for the paths that do not look them up. pingCommand is carried out
// while the data set is loaded, although its flags, which are Redis's, do not say so.
var getCommand, setCommand, pingCommand, clientCommand *Command

func init() {
	register(stringCommands)
	getCommand, setCommand, pingCommand, clientCommand = Lookup([]byte("get")), Lookup([]byte("set")), Lookup([]byte("ping")), Lookup([]byte("client"))
}

// Key positions and categories that the string commands share.
var (
	oneKeyReplaced = []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access update"}}
	oneKeyWritten  = []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "OW update"}}
)

const (
	stringRead      = InRead | InString | InFast
	stringReadSlow  = InRead | InString | InSlow
	stringWrite     = InWrite | InString | InFast
	stringWriteSlow = InWrite | InString | InSlow
)

var stringCommands = []Command{
	{Name: "get", Arity: 2, Flags: ReadOnly | Fast, Categories: stringRead, Keys: oneKeyRead, Handler: get,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Returns the value of a key."},
	{Name: "set", Arity: -3, Flags: Write | DenyOOM, Categories: stringWriteSlow, Handler: set,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access update variable_flags"}},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Sets the value of a key, with conditions and a deadline on request."},
	{Name: "setnx", Arity: 3, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Handler: setnx,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "OW insert"}},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Sets the value of a key that does not exist."},
	{Name: "setex", Arity: 4, Flags: Write | DenyOOM, Categories: stringWriteSlow, Keys: oneKeyWritten, Handler: setex,
		Group: "string", Since: "2.0.0", Complexity: "O(1)", Summary: "Sets the value of a key and its time to live in seconds."},
	{Name: "psetex", Arity: 4, Flags: Write | DenyOOM, Categories: stringWriteSlow, Keys: oneKeyWritten, Handler: psetex,
		Group: "string", Since: "2.6.0", Complexity: "O(1)", Summary: "Sets the value of a key and its time to live in milliseconds."},
	{Name: "getset", Arity: 3, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: getset,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Sets the value of a key and returns the old one."},
	{Name: "getdel", Arity: 2, Flags: Write | Fast, Categories: stringWrite, Handler: getdel,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW access delete"}},
		Group: "string", Since: "6.2.0", Complexity: "O(1)", Summary: "Returns the value of a key and deletes the key."},
	{Name: "getex", Arity: -2, Flags: Write | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: getex,
		Group: "string", Since: "6.2.0", Complexity: "O(1)", Summary: "Returns the value of a key and changes its deadline."},
	{Name: "mget", Arity: -2, Flags: ReadOnly | Fast, Categories: stringRead, Handler: mget,
		Keys:  []KeySpec{{First: 1, Last: -1, Step: 1, Flags: "RO access"}},
		Group: "string", Since: "1.0.0", Complexity: "O(N) in the number of keys", Summary: "Returns the values of many keys."},
	{Name: "mset", Arity: -3, Flags: Write | DenyOOM, Categories: stringWriteSlow, Handler: mset,
		Keys:  []KeySpec{{First: 1, Last: -1, Step: 2, Flags: "OW update"}},
		Group: "string", Since: "1.0.1", Complexity: "O(N) in the number of keys", Summary: "Sets the values of many keys in one step."},
	{Name: "msetnx", Arity: -3, Flags: Write | DenyOOM, Categories: stringWriteSlow, Handler: msetnx,
		Keys:  []KeySpec{{First: 1, Last: -1, Step: 2, Flags: "OW insert"}},
		Group: "string", Since: "1.0.1", Complexity: "O(N) in the number of keys", Summary: "Sets the values of many keys if none of them exists."},
	{Name: "incr", Arity: 2, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: incr,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Adds one to the integer in a key."},
	{Name: "decr", Arity: 2, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: decr,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Subtracts one from the integer in a key."},
	{Name: "incrby", Arity: 3, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: incrby,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Adds a number to the integer in a key."},
	{Name: "decrby", Arity: 3, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: decrby,
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Summary: "Subtracts a number from the integer in a key."},
	{Name: "incrbyfloat", Arity: 3, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Keys: oneKeyReplaced, Handler: incrbyfloat,
		Group: "string", Since: "2.6.0", Complexity: "O(1)", Summary: "Adds a number to the decimal fraction in a key."},
	{Name: "append", Arity: 3, Flags: Write | DenyOOM | Fast, Categories: stringWrite, Handler: appendTo,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RW insert"}},
		Group: "string", Since: "2.0.0", Complexity: "O(1) amortized", Summary: "Appends to the value of a key."},
	{Name: "strlen", Arity: 2, Flags: ReadOnly | Fast, Categories: stringRead, Handler: strlen,
		Keys:  []KeySpec{{First: 1, Last: 1, Step: 1, Flags: "RO"}},
		Group: "string", Since: "2.2.0", Complexity: "O(1)", Summary: "Returns the length of a value in bytes."},
	{Name: "getrange", Arity: 4, Flags: ReadOnly, Categories: stringReadSlow, Keys: oneKeyRead, Handler: getrange,
		Group: "string", Since: "2.4.0", Complexity: "O(N) in the length returned", Summary: "Returns a part of a value."},
	{Name: "substr", Arity: 4, Flags: ReadOnly, Categories: stringReadSlow, Keys: oneKeyRead, Handler: getrange,
		Group: "string", Since: "1.0.0", Complexity: "O(N) in the length returned", Summary: "Returns a part of a value; the old name of GETRANGE."},
	{Name: "setrange", Arity: 4, Flags: Write | DenyOOM, Categories: stringWriteSlow, Keys: oneKeyUpdate, Handler: setrange,
		Group: "string", Since: "2.2.0", Complexity: "O(N) in the length written", Summary: "Overwrites a part of a value."},
}
