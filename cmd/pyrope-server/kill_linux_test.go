package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// worker is one connection's part of the load: keys of its own, and what they hold after each of its operations.
type worker struct {
	number  int
	flushes bool                   // it has two databases to itself, which it flushes and swaps
	random  *rand.Rand             //
	state   [2]map[string]string   // of its databases after all that was sent
	states  [][2]map[string]string // after each operation of this round, the state before the first one in front
	acked   int                    // operations of this round that were acknowledged
}

// key is one of a few keys.
func (w *worker) key() string { return fmt.Sprintf("w%d:%d", w.number, w.random.IntN(6)) }

// next makes up an operation: its request, and the state after it. A value with a deadline has a mark in front, which
// stays when something is appended, as the deadline does.
func (w *worker) next(sequence int) (request []string) {
	current := maps.Clone(w.state[0])
	other := w.state[1]
	key, value := w.key(), fmt.Sprintf("v%d.", sequence)
	switch pick := w.random.IntN(20); {
	case w.number == 0 && pick == 0:
		value = strings.Repeat(value, 10<<20/len(value))
		request, current["large"] = []string{"SET", "large", value}, value
	case pick < 4:
		counter := fmt.Sprintf("w%d:n", w.number)
		n, _ := strconv.Atoi(current[counter])
		request, current[counter] = []string{"INCR", counter}, strconv.Itoa(n+1)
	case pick < 8 && len(current[key]) < 4000:
		request, current[key] = []string{"APPEND", key, value}, current[key]+value
	case pick < 10:
		request, current[key] = []string{"SETEX", key, "1000", value}, "expires "+value
	case pick < 13:
		request = []string{"MSET"}
		for i := range 4 {
			key := fmt.Sprintf("w%d:m%d", w.number, i)
			request, current[key] = append(request, key, value), value
		}
	case pick < 14:
		request = []string{"DEL", key}
		delete(current, key)
	case w.flushes && pick < 15:
		request, current = []string{"FLUSHDB"}, map[string]string{}
	case w.flushes && pick < 17:
		request = []string{"SWAPDB", "14", "15"}
		current, other = other, current
	default:
		request, current[key] = []string{"SET", key, value}, value
	}
	w.state = [2]map[string]string{current, other}
	w.states = append(w.states, w.state)
	return request
}

// load sends operations in small pipelines until the connection breaks.
func (w *worker) load(connection net.Conn, reader *bufio.Reader) {
	w.states, w.acked = append(w.states[:0], w.state), 0
	var batch bytes.Buffer
	for sequence := 0; ; {
		batch.Reset()
		count := 1 + w.random.IntN(8)
		for range count {
			sequence++
			words := w.next(sequence)
			fmt.Fprintf(&batch, "*%d\r\n", len(words))
			for _, word := range words {
				fmt.Fprintf(&batch, "$%d\r\n%s\r\n", len(word), word)
			}
		}
		if _, err := connection.Write(batch.Bytes()); err != nil {
			return
		}
		for range count {
			line, err := reader.ReadString('\n')
			if err != nil || line[0] == '-' {
				return
			}
			w.acked++
		}
	}
}

// ask sends one command and returns its reply, an integer or a string, as text; ok is false for none.
func ask(t *testing.T, connection net.Conn, reader *bufio.Reader, line string) (text string, ok bool) {
	t.Helper()
	fmt.Fprint(connection, line+"\r\n")
	reply, err := reader.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	reply = strings.TrimSpace(reply)
	if reply[0] != '$' {
		return reply[1:], reply[0] != '-'
	}
	length, _ := strconv.Atoi(reply[1:])
	if length < 0 {
		return "", false
	}
	value := make([]byte, length+2)
	if _, err := io.ReadFull(reader, value); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return string(value[:length]), true
}

// found reads what the worker's keys hold.
func (w *worker) found(t *testing.T, connection net.Conn, reader *bufio.Reader, database string) map[string]string {
	t.Helper()
	ask(t, connection, reader, "SELECT "+database)
	keys := []string{fmt.Sprintf("w%d:n", w.number)}
	for i := range 6 {
		keys = append(keys, fmt.Sprintf("w%d:%d", w.number, i))
	}
	for i := range 4 {
		keys = append(keys, fmt.Sprintf("w%d:m%d", w.number, i))
	}
	if w.number == 0 {
		keys = append(keys, "large")
	}
	state := map[string]string{}
	for _, key := range keys {
		value, ok := ask(t, connection, reader, "GET "+key)
		if !ok {
			continue
		}
		ttl, _ := ask(t, connection, reader, "TTL "+key)
		if seconds, _ := strconv.Atoi(ttl); seconds > 1000 || seconds > 0 && seconds < 900 {
			t.Errorf("%s expires in %d s", key, seconds)
		} else if seconds > 0 {
			value = "expires " + value
		}
		state[key] = value
	}
	return state
}

// settle finds the operation after which the state was as it is now, and goes on from there.
func (w *worker) settle(t *testing.T, state [2]map[string]string, all bool) (lost int) {
	t.Helper()
	for i := len(w.states) - 1; i >= 0; i-- {
		if maps.Equal(w.states[i][0], state[0]) && maps.Equal(w.states[i][1], state[1]) {
			if all && i < w.acked {
				t.Errorf("worker %d: the state is that after %d operations, %d were acknowledged", w.number, i, w.acked)
			}
			w.state = state
			return w.acked - i
		}
	}
	t.Fatalf("worker %d: the state is none there was in %d operations (%d acknowledged):\n%.1000q\nafter the acknowledged ones it was\n%.1000q",
		w.number, len(w.states)-1, w.acked, state, w.states[w.acked])
	return 0
}

// TestKilledServerKeepsWhatItAcknowledged kills a server again and again under load. After each start, what every connection
// finds is the state after one of its operations: with appendfsync always one that is not before the last that was acknowledged.
func TestKilledServerKeepsWhatItAcknowledged(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	for _, appendfsync := range []string{"always", "everysec"} {
		t.Run(appendfsync, func(t *testing.T) {
			directory := t.TempDir()
			random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 7))
			workers := make([]*worker, 5)
			for i := range workers {
				workers[i] = &worker{number: i, flushes: i == 4, random: rand.New(rand.NewPCG(random.Uint64(), 1)), state: [2]map[string]string{{}, {}}}
				workers[i].states = append(workers[i].states, workers[i].state)
			}
			operations, lost := 0, 0
			for round := range rounds + 1 {
				p := startProcess(t, "--memory", "256m", "--aof", "--appendfsync", appendfsync, "--checkpointdir", directory)
				connection := p.connect(t)
				reader := bufio.NewReader(connection)
				for {
					if _, ok := ask(t, connection, reader, "GET nothing"); ok {
						break
					}
					if reply, _ := ask(t, connection, reader, "GET nothing"); !strings.HasPrefix(reply, "LOADING") {
						break
					}
					time.Sleep(time.Millisecond)
				}
				for _, w := range workers {
					databases := []string{"0", "1"}
					if w.flushes {
						databases = []string{"14", "15"}
					}
					lost += w.settle(t, [2]map[string]string{
						w.found(t, connection, reader, databases[0]), w.found(t, connection, reader, databases[1]),
					}, appendfsync == "always")
				}
				if round == rounds {
					break
				}
				var wait sync.WaitGroup
				for _, w := range workers {
					connection := p.connect(t)
					reader := bufio.NewReader(connection)
					if w.flushes {
						ask(t, connection, reader, "SELECT 14")
					}
					wait.Go(func() { w.load(connection, reader) })
				}
				time.Sleep(time.Duration(30+random.IntN(300)) * time.Millisecond)
				if err := p.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = p.Wait() // it was killed
				wait.Wait()
				for _, w := range workers {
					operations += w.acked
				}
			}
			t.Logf("%d operations were acknowledged in %d lives, %d of them are lost", operations, rounds, max(lost, 0))
		})
	}
}
