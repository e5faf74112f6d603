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
	opZAdd
	opZRem
	opZCard
	opSetBit
	opGetBit
	opBitCount
	opPFAdd
	opPFCount
	opGeoAdd
	opPublish
	opSPublish
	opDBSize
	opReadTxn      // 4 GETs
	opWriteTxn     // 4 SETs
	opReadWriteTxn // 2 of each
	opWatchTxn     // WATCH and GET of 2 keys, then 2 SETs
)

// operationTraits says how an operation behaves.
type operationTraits struct {
	name    string
	reads   bool // its replies are the values of its keys
	loads   bool // its keys are loaded before the run
	oneMany bool // a batch is one command of many keys, rather than many commands
	online  bool // may be part of an online mix
	txn     bool // a transaction, for --txn only
}

// traits is indexed by operation.
var traits = [...]operationTraits{
	opGet:          {name: "GET", reads: true, loads: true, online: true},
	opSet:          {name: "SET", loads: true, online: true},
	opSetEx:        {name: "SETEX", online: true},
	opMGet:         {name: "MGET", reads: true, loads: true, oneMany: true},
	opMSet:         {name: "MSET", loads: true, oneMany: true},
	opIncr:         {name: "INCR", loads: true},
	opDel:          {name: "DEL", loads: true, online: true},
	opPing:         {name: "PING", online: true},
	opZAdd:         {name: "ZADD", online: true},
	opZRem:         {name: "ZREM", online: true},
	opZCard:        {name: "ZCARD", online: true},
	opSetBit:       {name: "SETBIT", loads: true, online: true},
	opGetBit:       {name: "GETBIT", loads: true, online: true},
	opBitCount:     {name: "BITCOUNT", loads: true},
	opPFAdd:        {name: "PFADD"},
	opPFCount:      {name: "PFCOUNT"},
	opGeoAdd:       {name: "GEOADD"},
	opPublish:      {name: "PUBLISH", online: true},
	opSPublish:     {name: "SPUBLISH", online: true},
	opDBSize:       {name: "DBSIZE"},
	opReadTxn:      {name: "READ_TXN", txn: true},
	opWriteTxn:     {name: "WRITE_TXN", txn: true},
	opReadWriteTxn: {name: "READWRITETX", txn: true},
	opWatchTxn:     {name: "WATCH_TXN", txn: true},
}

// The modes that an operation may be for.
func isOnline(op operation) bool      { return traits[op].online }
func isTransaction(op operation) bool { return traits[op].txn }
func isOffline(op operation) bool     { return !traits[op].txn }

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
	return fmt.Errorf("opType: %s benchmark not supported; it must be one of %s", text, strings.Join(operationNames(nil), ", "))
}

// operationNames returns the names of the operations that are for a mode, of all with nil.
func operationNames(mode func(operation) bool) []string {
	var names []string
	for i, known := range traits {
		if mode == nil || mode(operation(i)) {
			names = append(names, known.name)
		}
	}
	return names
}
