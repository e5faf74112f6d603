package main

import (
	"fmt"
	"strings"
)

// operation is what a run asks of the server, over and over.
type operation uint8

// The operations.
const (
	opGet operation = iota
	opSet
	opSetEx
	opMGet
	opMSet
	opIncr
	opDel
	opPing
)

// operationTraits says how an operation behaves.
type operationTraits struct {
	name    string
	reads   bool // its replies are the values of its keys
	loads   bool // its keys are loaded before the run
	oneMany bool // a batch is one command of many keys, rather than many commands
}

// traits is indexed by operation.
var traits = [...]operationTraits{
	opGet:   {name: "GET", reads: true, loads: true},
	opSet:   {name: "SET", loads: true},
	opSetEx: {name: "SETEX"},
	opMGet:  {name: "MGET", reads: true, loads: true, oneMany: true},
	opMSet:  {name: "MSET", loads: true, oneMany: true},
	opIncr:  {name: "INCR", loads: true},
	opDel:   {name: "DEL", loads: true},
	opPing:  {name: "PING"},
}

// String returns the name of the command.
func (op operation) String() string { return traits[op].name }

// reads reports whether the replies of op are the values of its keys.
func (op operation) reads() bool { return traits[op].reads }

// loads reports whether a run of op wants the keys to be there.
func (op operation) loads() bool { return traits[op].loads }

// repliesPerBatch is how many replies a batch of size keys gets.
func (op operation) repliesPerBatch(size int) int {
	if traits[op].oneMany {
		return 1
	}
	return size
}

// UnmarshalText sets op from a flag's text, in any case.
func (op *operation) UnmarshalText(text []byte) error {
	for i, known := range traits {
		if strings.EqualFold(string(text), known.name) {
			*op = operation(i)
			return nil
		}
	}
	return fmt.Errorf("opType: %s benchmark not supported; it must be one of %s", text, strings.Join(operationNames(), ", "))
}

// operationNames returns the names of all operations.
func operationNames() []string {
	names := make([]string, len(traits))
	for i, known := range traits {
		names[i] = known.name
	}
	return names
}
