package main

import (
	"fmt"

	"github.com/pyropedb/pyrope/benchmark/workload"
)

// mix draws the operations of an online run. Each worker has its own.
type mix struct {
	keys       keyspace
	operations []operation
	upTo       []uint64 // cumulative percents; operation i is drawn below upTo[i]
	random     workload.Random
	zipf       *workload.Zipf // nil: uniform
	ttl        int
}

// onlineSeed is of the choice of operations, keys and lengths.
const onlineSeed = 789110123

// newMixes returns a mix for every worker.
func newMixes(o *options, keys keyspace, count int) ([]*mix, error) {
	var zipf *workload.Zipf
	if o.Zipf {
		var err error
		if zipf, err = workload.NewZipf(o.DBSize, zipfTheta); err != nil {
			return nil, fmt.Errorf("cannot choose keys: %w", err)
		}
	}
	var upTo []uint64
	sum := uint64(0)
	for _, percent := range o.Percent {
		sum += uint64(percent)
		upTo = append(upTo, sum)
	}
	mixes := make([]*mix, count)
	for i := range mixes {
		mixes[i] = &mix{
			keys: keys, operations: o.Workload, upTo: upTo, zipf: zipf, ttl: o.TTL,
			random: workload.NewRandom(onlineSeed, uint64(i)+1),
		}
	}
	return mixes, nil
}

// next draws an operation, its key, and the length of the value that it writes, which varies from 1
// to --valuelength; 0 is the key itself.
func (m *mix) next() (op operation, number uint64, valueLength int) {
	share := m.random.Below(100)
	for i, limit := range m.upTo {
		if share < limit {
			op = m.operations[i]
			break
		}
	}
	if m.zipf != nil {
		number = m.zipf.Key(&m.random)
	} else {
		number = m.random.Below(m.keys.dbSize)
	}
	if m.keys.valueLength > 0 {
		valueLength = 1 + int(m.random.Below(uint64(m.keys.valueLength)))
	}
	return op, number, valueLength
}

// appendNext appends the next operation's request, and returns how many replies it gets: with --ttl a
// SET is followed by an EXPIRE.
func (m *mix) appendNext(dst []byte) (request []byte, replies int) {
	op, number, valueLength := m.next()
	keys := m.keys
	keys.valueLength = valueLength
	if isTransaction(op) {
		return m.appendTransaction(dst, op, &keys, number)
	}
	dst = keys.appendCommand(dst, op, number)
	if op != opSet || m.ttl == 0 {
		return dst, 1
	}
	return keys.appendExpire(dst, number, m.ttl), 2
}

// arguments is the next operation as a client library takes it.
func (m *mix) arguments() [][]any {
	op, number, valueLength := m.next()
	keys := m.keys
	keys.valueLength = valueLength
	switch {
	case op == opPing:
		return [][]any{{"PING"}}
	case isTransaction(op):
		return m.transactionArguments(op, &keys, number)
	}
	key := keys.appendKey(nil, number)
	switch op {
	case opSet:
		set := []any{"SET", key, keys.appendValue(nil, number)}
		if m.ttl == 0 {
			return [][]any{set}
		}
		return [][]any{set, {"EXPIRE", key, m.ttl}}
	case opSetEx:
		return [][]any{{"SETEX", key, m.ttl, keys.appendValue(nil, number)}}
	case opGet, opDel:
	default:
		var all []any
		for _, argument := range keys.otherArguments(op, number) {
			all = append(all, argument)
		}
		return [][]any{all}
	}
	return [][]any{{op.String(), key}}
}
