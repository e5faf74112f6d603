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
	opMPFAdd    // PFADD of many elements at once
	opPFMerge   // PFADD to one of several, then PFMERGE of that one
	opZAddRem   // ZADD, then ZREM of the same member
	opZAddCard  // ZADD, then ZCARD
	opGeoAddRem // GEOADD, then ZREM of the same member
	opBitPos
	opBitOpAnd
	opBitOpOr
	opBitOpXor
	opBitOpNot
	opBitField // GET, SET and INCRBY in one command
	opBitFieldGet
	opBitFieldSet
	opBitFieldIncr
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
	pair    bool // an operation is two commands
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
	opMPFAdd:       {name: "MPFADD", oneMany: true},
	opPFMerge:      {name: "PFMERGE", pair: true},
	opZAddRem:      {name: "ZADDREM", pair: true},
	opZAddCard:     {name: "ZADDCARD", pair: true},
	opGeoAddRem:    {name: "GEOADDREM", pair: true},
	opBitPos:       {name: "BITPOS", loads: true},
	opBitOpAnd:     {name: "BITOP_AND", loads: true},
	opBitOpOr:      {name: "BITOP_OR", loads: true},
	opBitOpXor:     {name: "BITOP_XOR", loads: true},
	opBitOpNot:     {name: "BITOP_NOT", loads: true},
	opBitField:     {name: "BITFIELD", loads: true},
	opBitFieldGet:  {name: "BITFIELD_GET", loads: true},
	opBitFieldSet:  {name: "BITFIELD_SET", loads: true},
	opBitFieldIncr: {name: "BITFIELD_INCR", loads: true},
	opPublish:      {name: "PUBLISH", online: true},
	opSPublish:     {name: "SPUBLISH", online: true},
	opDBSize:       {name: "DBSIZE"},
	opReadTxn:      {name: "READ_TXN", txn: true},
	opWriteTxn:     {name: "WRITE_TXN", txn: true},
	opReadWriteTxn: {name: "READWRITETX", txn: true},
	opWatchTxn:     {name: "WATCH_TXN", txn: true},
}

// absent are the operations of other tools that cannot be run, with the reason.
var absent = []struct{ name, reason string }{
	{"SCRIPTSET", noScripts}, {"SCRIPTGET", noScripts}, {"SCRIPTRETKEY", noScripts},
	{"SETIFPM", noCustom}, {"MYDICTGET", noCustom}, {"MYDICTSET", noCustom},
	{"SAMPLEUPDATETX", noCustom}, {"SAMPLEDELETETX", noCustom},
	{"READONLY", "it is a command of clusters, and there is no cluster"},
	{"AUTH", "it is not a workload; --auth authenticates every connection"},
	{"NONE", "give an operation"},
}

const (
	noScripts = "the server runs no scripts"
	noCustom  = "it is a custom command of another server's samples"
)

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
	switch {
	case traits[op].oneMany:
		return 1
	case traits[op].pair:
		return 2 * size
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
	for _, other := range absent {
		if strings.EqualFold(string(text), other.name) {
			return fmt.Errorf("opType: %s benchmark not supported: %s", other.name, other.reason)
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
