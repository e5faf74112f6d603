package main

// step is a command of a transaction.
type step struct {
	name  string
	key   int  // which of the transaction's keys, which follow the one drawn; -1 for none
	value bool // the key's value follows
}

var (
	begin  = step{"MULTI", -1, false}
	commit = step{"EXEC", -1, false}
)

// transactions are the commands of each sort.
var transactions = map[operation][]step{
	opReadTxn:      {begin, {"GET", 0, false}, {"GET", 1, false}, {"GET", 2, false}, {"GET", 3, false}, commit},
	opWriteTxn:     {begin, {"SET", 0, true}, {"SET", 1, true}, {"SET", 2, true}, {"SET", 3, true}, commit},
	opReadWriteTxn: {begin, {"GET", 0, false}, {"GET", 1, false}, {"SET", 2, true}, {"SET", 3, true}, commit},
	opWatchTxn: {
		{"WATCH", 0, false}, {"WATCH", 1, false}, {"GET", 0, false}, {"GET", 1, false},
		begin, {"SET", 2, true}, {"SET", 3, true}, commit,
	},
}

// appendTransaction appends the commands of a transaction, which are sent together, and returns how many
// replies they get.
func (m *mix) appendTransaction(dst []byte, op operation, keys *keyspace, number uint64) (request []byte, replies int) {
	steps := transactions[op]
	for _, s := range steps {
		count := 1
		if s.key >= 0 {
			count++
		}
		if s.value {
			count++
		}
		dst = appendHeader(dst, '*', count)
		dst = appendHeader(dst, '$', len(s.name))
		dst = append(dst, s.name...)
		dst = append(dst, '\r', '\n')
		if s.key >= 0 {
			dst = keys.appendBulkKey(dst, m.transactionKey(number, s.key))
		}
		if s.value {
			dst = keys.appendBulkValue(dst, m.transactionKey(number, s.key), false)
		}
	}
	return dst, len(steps)
}

// transactionArguments are the same as a client library takes them.
func (m *mix) transactionArguments(op operation, keys *keyspace, number uint64) [][]any {
	var all [][]any
	for _, s := range transactions[op] {
		arguments := []any{s.name}
		if s.key >= 0 {
			arguments = append(arguments, keys.appendKey(nil, m.transactionKey(number, s.key)))
		}
		if s.value {
			arguments = append(arguments, keys.appendValue(nil, m.transactionKey(number, s.key)))
		}
		all = append(all, arguments)
	}
	return all
}

// transactionKey is one of the keys of a transaction.
func (m *mix) transactionKey(number uint64, index int) uint64 {
	return (number + uint64(index)) % m.keys.dbSize
}
