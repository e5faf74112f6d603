package main

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	// workerKeys is how many keys a worker has: some of them lie untouched until they are cold.
	workerKeys = 200
	// expires stands in front of a value whose key has a deadline. It stays when the value is changed in place, as the deadline does.
	expires = "expires "
)

// content is what the keys of a worker's two databases hold; see digest.
type content [2]map[string]string

// change is what an operation did to one key of a worker.
type change struct {
	database int
	key      string
	before   string
	existed  bool
}

// operation is how to take back what one operation did.
type operation struct {
	swapped bool // the worker's databases changed places
	changes []change
}

// worker is one connection's part of the load: keys of its own, and what they hold after each of its operations.
type worker struct {
	number     int
	flushes    bool         // it has two databases to itself, which it flushes and swaps
	random     *rand.Rand   // of this life of the server: the load follows from the seed, the life and the worker
	state      content      // after all that was sent
	operations []operation  // of this life
	acked      atomic.Int64 // of those, the ones that were acknowledged
	err        error        // a reply that is none of the expected ones
}

// databases are the numbers of the worker's databases.
func (w *worker) databases() []int {
	if w.flushes {
		return []int{14, 15}
	}
	return []int{0, 1}
}

// digest stands for a large value.
func digest(value string) string {
	if len(value) < 10_000 {
		return value
	}
	return fmt.Sprintf("%d bytes, checksum %08x", len(value), crc32.ChecksumIEEE([]byte(value)))
}

// set notes that a key of the first database holds a value now.
func (w *worker) set(o *operation, key, value string) {
	before, existed := w.state[0][key]
	o.changes = append(o.changes, change{0, key, before, existed})
	w.state[0][key] = value
}

// remove notes that a key of the first database is gone.
func (w *worker) remove(o *operation, key string) {
	if before, existed := w.state[0][key]; existed {
		o.changes = append(o.changes, change{0, key, before, true})
		delete(w.state[0], key)
	}
}

// next makes up an operation: its request, with the state after it noted.
func (w *worker) next(sequence int) (request []string) {
	var o operation
	key, value := fmt.Sprintf("w%d:%d", w.number, w.random.IntN(workerKeys)), fmt.Sprintf("v%d.", sequence)
	if w.random.IntN(10) == 0 {
		value = strings.Repeat(value, 1+w.random.IntN(2000)/len(value))
	}
	held, exists := w.state[0][key]
	switch pick := w.random.IntN(100); {
	case w.number == 0 && pick < 2:
		key, value = "w0:large", strings.Repeat(value, 1<<20/len(value))
		request = []string{"SET", key, value}
		w.set(&o, key, digest(value))
	case pick < 15:
		counter := fmt.Sprintf("w%d:n", w.number)
		n, _ := strconv.Atoi(w.state[0][counter])
		request = []string{"INCR", counter}
		w.set(&o, counter, strconv.Itoa(n+1))
	case pick < 30 && len(held) < 4000:
		request = []string{"APPEND", key, value}
		w.set(&o, key, held+value)
	case pick < 40 && len(held) > 20:
		// The offset counts from behind the mark.
		mark := len(held) - len(strings.TrimPrefix(held, expires))
		offset := w.random.IntN(len(held) - mark)
		request = []string{"SETRANGE", key, strconv.Itoa(offset), value}
		w.set(&o, key, held[:mark+offset]+value+held[min(mark+offset+len(value), len(held)):])
	case pick < 50:
		request = []string{"SETEX", key, "1000", value}
		w.set(&o, key, expires+value)
	case pick < 60:
		request = []string{"MSET"}
		for i := range 4 {
			key := fmt.Sprintf("w%d:m%d", w.number, i)
			request = append(request, key, value)
			w.set(&o, key, value)
		}
	case pick < 67:
		request = []string{"DEL", key}
		w.remove(&o, key)
	case pick < 73 && exists:
		request = []string{"EXPIRE", key, "1000"}
		w.set(&o, key, expires+strings.TrimPrefix(held, expires))
	case pick < 79 && exists:
		to := fmt.Sprintf("w%d:r%d", w.number, w.random.IntN(20))
		request = []string{"RENAME", key, to}
		w.remove(&o, key)
		w.set(&o, to, held)
	case w.flushes && pick < 81:
		request = []string{"FLUSHDB"}
		for key := range maps.Clone(w.state[0]) {
			w.remove(&o, key)
		}
	case w.flushes && pick < 85:
		request = []string{"SWAPDB", "14", "15"}
		o.swapped = true
		w.state[0], w.state[1] = w.state[1], w.state[0]
	default:
		request = []string{"SET", key, value}
		w.set(&o, key, value)
	}
	w.operations = append(w.operations, o)
	return request
}

// load sends operations in small pipelines until the connection breaks.
func (w *worker) load(connection net.Conn, reader *bufio.Reader) {
	var batch []byte
	for sequence := 0; ; {
		batch = batch[:0]
		count := 1 + w.random.IntN(8)
		for range count {
			sequence++
			batch = appendRequest(batch, w.next(sequence)...)
		}
		if _, err := connection.Write(batch); err != nil {
			return
		}
		for range count {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			if line[0] == '-' {
				w.err = fmt.Errorf("worker %d: operation %d is answered %q", w.number, w.acked.Load(), line)
				return
			}
			w.acked.Add(1)
		}
	}
}

// differs counts the keys, one or none, that hold something else in the worker's state.
func (w *worker) differs(found content, database int, key string) int {
	has, exists := w.state[database][key]
	if want, should := found[database][key]; exists != should || has != want {
		return 1
	}
	return 0
}

// difference lists the keys that hold something else in the worker's state.
func (w *worker) difference(found content) (keys []change) {
	for database := range found {
		all := maps.Clone(found[database])
		maps.Copy(all, w.state[database])
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if w.differs(found, database, key) != 0 {
				value, exists := w.state[database][key]
				keys = append(keys, change{database, key, value, exists})
			}
		}
	}
	return keys
}

// takeBack takes back the last operation. wrong is how many keys differ before, and the result how many do after it.
func (w *worker) takeBack(found content, wrong int) int {
	last := w.operations[len(w.operations)-1]
	w.operations = w.operations[:len(w.operations)-1]
	for _, c := range slices.Backward(last.changes) {
		wrong -= w.differs(found, c.database, c.key)
		if delete(w.state[c.database], c.key); c.existed {
			w.state[c.database][c.key] = c.before
		}
		wrong += w.differs(found, c.database, c.key)
	}
	if last.swapped {
		w.state[0], w.state[1] = w.state[1], w.state[0]
		return len(w.difference(found))
	}
	return wrong
}

// settle finds the last operation after which the state was as it is found now, and goes on from there. It returns how
// many acknowledged operations are lost; all says that there must be none.
func (w *worker) settle(t *testing.T, found content, all bool) (lost int) {
	t.Helper()
	sent, acked := len(w.operations), int(w.acked.Load())
	atAck, nearest := "", ""
	wrong := len(w.difference(found))
	for least := wrong + 1; wrong > 0; wrong = w.takeBack(found, wrong) {
		count := len(w.operations)
		if count == acked {
			atAck = w.describe(found)
		}
		if wrong < least {
			least = wrong
			if wrong < 5 {
				nearest = w.describe(found)
			}
		}
		if count == 0 {
			t.Fatalf("worker %d: the state is none there was in %d operations (%d acknowledged); nearest %s\nafter the acknowledged ones: %s",
				w.number, sent, acked, nearest, atAck)
		}
	}
	settled := len(w.operations)
	if all && settled < acked {
		t.Errorf("worker %d: the state is that after %d operations of %d, %d were acknowledged: %s", w.number, settled, sent, acked, atAck)
	}
	w.operations = w.operations[:0]
	w.acked.Store(0)
	return max(acked-settled, 0)
}

// describe says what differs, for a few keys.
func (w *worker) describe(found content) string {
	var text strings.Builder
	keys := w.difference(found)
	fmt.Fprintf(&text, "after operation %d, %d keys differ", len(w.operations), len(keys))
	for _, c := range keys[:min(len(keys), 5)] {
		got, exists := found[c.database][c.key]
		fmt.Fprintf(&text, "\n\t%d %s: %.80q %v; want %.80q %v", c.database, c.key, got, exists, c.before, c.existed)
	}
	return text.String()
}
