package tsavorite_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/cespare/xxhash/v2"
	"github.com/pyropedb/pyrope/tsavorite"
)

// What the recorded histories are made of. A key's state is "" when it has no record, else "="
// and its value.
type historyVerb uint8

const (
	historyRead historyVerb = iota
	historyUpsert
	historyAppend   // at most appendLimit bytes, then it starts over
	historyCount    // an 8-digit number goes up by one; anything else becomes one
	historyDelete   // may be blind
	historyRemove   // a read-modify-write, so it knows
	historyVerbs    // as many are drawn from
	historyTruncate // a removal of every key at once; nobody knows of what
)

const appendLimit = 300

type historyInput struct {
	verb historyVerb
	key  int
	text string
}

func (i historyInput) String() string {
	names := [...]string{"read", "upsert", "append", "count", "delete", "remove", "", "truncate"}
	return fmt.Sprintf("%s key %d %s", names[i.verb], i.key, i.text)
}

// historyOutput is what the operation saw: whether the key had a record, if it knows, and for
// reads and read-modify-writes its value.
type historyOutput struct {
	known, found bool
	sawValue     bool
	value        string
}

func (o historyOutput) String() string {
	switch {
	case !o.known:
		return "blind"
	case o.found && o.sawValue:
		return fmt.Sprintf("saw %q", o.value)
	}
	return fmt.Sprintf("found=%v", o.found)
}

// after is the value that a read-modify-write makes of the old one.
func (i historyInput) after(old string) string {
	switch i.verb {
	case historyAppend:
		if len(old)+len(i.text) > appendLimit {
			return i.text
		}
		return old + i.text
	case historyCount:
		n, err := strconv.Atoi(old)
		if err != nil || len(old) != 8 {
			n = 0
		}
		return fmt.Sprintf("%08d", n+1)
	}
	return i.text
}

// historyModel says which histories of a key are those of one record that changes a step at a time.
var historyModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int][]porcupine.Operation{}
		for _, operation := range history {
			key := operation.Input.(historyInput).key
			byKey[key] = append(byKey[key], operation)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		present := strings.HasPrefix(state.(string), "=")
		value := strings.TrimPrefix(state.(string), "=")
		in, out := input.(historyInput), output.(historyOutput)
		if out.known && out.found != present || out.sawValue && out.value != value {
			return false, state
		}
		switch in.verb {
		case historyRead:
			return true, state
		case historyDelete, historyRemove, historyTruncate:
			return true, ""
		}
		return true, "=" + in.after(value)
	},
}

// historian runs one session's share of a history.
type historian struct {
	t       *testing.T
	store   *tsavorite.Store
	client  int
	session *tsavorite.Session
	random  *rand.Rand
	round   int
	keys    int
	clock   *atomic.Int64
	history []porcupine.Operation
}

// historyCall is one operation: Reader, Updater and AsyncUpdater in one.
type historyCall struct {
	h      *historian
	input  historyInput
	output historyOutput
	call   int64
	next   string
}

func (c *historyCall) saw(record tsavorite.Record, found bool) {
	c.output = historyOutput{known: true, found: found, sawValue: true, value: string(record.Value)}
}

func (c *historyCall) Read(_ uint64, status tsavorite.Status, record tsavorite.Record) {
	if status != tsavorite.Found && status != tsavorite.NotFound {
		c.h.t.Errorf("%+v: read says %v: %v", c.input, status, c.h.session.Err())
	}
	c.saw(record, status == tsavorite.Found)
}

func (c *historyCall) Plan(current tsavorite.Record, found bool) tsavorite.Plan {
	c.saw(current, found)
	if c.input.verb == historyRemove {
		return tsavorite.Plan{Action: tsavorite.Remove}
	}
	c.next = c.input.after(string(current.Value))
	return tsavorite.Plan{Action: tsavorite.Write, Length: len(c.next), Preserve: c.input.verb == historyAppend}
}

// Write now and then lets others run at the worst moment, as the scheduler may.
func (c *historyCall) Write(value []byte, _ tsavorite.Record) {
	half := copy(value, c.next[:len(c.next)/2])
	if c.h.random.IntN(4) == 0 {
		runtime.Gosched()
	}
	copy(value[half:], c.next[half:])
}

func (c *historyCall) Finish(_ uint64, status tsavorite.Status) {
	want := tsavorite.Created
	switch {
	case c.input.verb == historyRemove && c.output.found:
		want = tsavorite.Deleted
	case c.input.verb == historyRemove:
		want = tsavorite.NotFound
	case c.output.found:
		want = tsavorite.Found
	}
	if status != want {
		c.h.t.Errorf("%+v: status is %v, want %v: %v", c.input, status, want, c.h.session.Err())
	}
}

// key is in a namespace of the round, so that every history starts from nothing. In every other
// round all keys hang on one entry of the index.
func (h *historian) key(i int) tsavorite.Key {
	k := key("key %d", i)
	if h.round%2 == 1 {
		k.Bytes = collidingKeys()[i]
	}
	k.Namespace = uint32(100 + h.round)
	return k
}

// collidingKeys are keys that share bucket and tag in an index that started with eight buckets, as
// far as the engine's hash (xxhash64; bucket from its low bits, tag from its high 15) is concerned.
var collidingKeys = sync.OnceValue(func() [][]byte {
	place := func(key []byte) uint64 {
		hash := xxhash.Sum64(key)
		return hash>>49<<3 | hash&7
	}
	keys := [][]byte{[]byte("collision")}
	for n := 0; len(keys) < 6; n++ {
		if k := fmt.Appendf(nil, "collision:%d", n); place(k) == place(keys[0]) {
			keys = append(keys, k)
		}
	}
	return keys
})

func (h *historian) begin(verb historyVerb, key int) *historyCall {
	text := fmt.Sprintf("<%d.%d%s>", h.client, len(h.history), strings.Repeat(".", h.random.IntN(40)))
	return &historyCall{h: h, input: historyInput{verb, key, text}, call: h.clock.Add(1)}
}

func (h *historian) end(c *historyCall) {
	h.history = append(h.history, porcupine.Operation{
		ClientId: h.client, Input: c.input, Call: c.call, Output: c.output, Return: h.clock.Add(1),
	})
}

// step carries out one operation, or one batch of them.
func (h *historian) step() {
	switch p := h.random.IntN(12); {
	case p == 0:
		h.readAll()
	case p < 4:
		h.async()
	default:
		c := h.begin(historyVerb(h.random.IntN(int(historyVerbs))), h.random.IntN(h.keys))
		h.run(c)
		h.end(c)
	}
}

func (h *historian) run(c *historyCall) {
	k := h.key(c.input.key)
	switch c.input.verb {
	case historyRead:
		h.session.Read(k, 0, c)
	case historyUpsert:
		c.judge(h.session.Upsert(k, []byte(c.input.text), tsavorite.Metadata{}), tsavorite.Found, tsavorite.Created)
	case historyDelete:
		c.judge(h.session.Delete(k), tsavorite.Deleted, tsavorite.NotFound)
	default:
		c.Finish(0, h.session.RMW(k, c))
	}
}

// judge turns the status of a verb that may be blind into what it saw.
func (c *historyCall) judge(status, ifFound, ifNot tsavorite.Status) {
	if status != ifFound && status != ifNot && status != tsavorite.Blind {
		c.h.t.Errorf("%+v: status is %v", c.input, status)
	}
	c.output = historyOutput{known: status != tsavorite.Blind, found: status == ifFound}
}

// readAll reads every key in one batch: as many operations over the same time.
func (h *historian) readAll() {
	keys := make([]tsavorite.Key, h.keys)
	calls := make(historyCalls, h.keys)
	for i := range keys {
		keys[i] = h.key(i)
		calls[i] = h.begin(historyRead, i)
	}
	if h.random.IntN(2) == 0 {
		h.session.Prefetch(keys)
	}
	h.session.ReadBatch(keys, calls)
	for _, c := range calls {
		h.end(c)
	}
}

type historyCalls []*historyCall

func (c historyCalls) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	c[token].Read(token, status, record)
}

// async sends out a read or a read-modify-write for some keys and collects them all.
func (h *historian) async() {
	var calls []*historyCall
	for i := range h.keys {
		verb := [...]historyVerb{historyRead, historyAppend, historyCount}[h.random.IntN(3)]
		c := h.begin(verb, i)
		calls = append(calls, c)
		if verb == historyRead {
			h.session.ReadAsync(h.key(i), 0, c)
		} else {
			h.session.RMWAsync(h.key(i), 0, c)
		}
	}
	if left := h.session.CompletePending(true); left != 0 {
		h.t.Errorf("%d operations are pending after waiting for all", left)
	}
	for _, c := range calls {
		h.end(c)
	}
}

// truncate drops everything: a removal of each key over the same time.
func (h *historian) truncate() {
	calls := make(historyCalls, h.keys)
	for i := range calls {
		calls[i] = h.begin(historyTruncate, i)
	}
	if err := h.store.Truncate(); err != nil {
		h.t.Errorf("cannot truncate: %v", err)
	}
	for _, c := range calls {
		h.end(c)
	}
}

// pressure writes records nobody asks for, so that those that matter move through every region.
func pressure(t *testing.T, store *tsavorite.Store, keys int, stop *atomic.Bool) {
	session := openSession(t, store)
	defer session.Close()
	value := make([]byte, 400)
	for i := 0; !stop.Load(); i++ {
		session.Enter()
		status := session.Upsert(tsavorite.Key{Namespace: 7, Bytes: binary.LittleEndian.AppendUint64(nil, uint64(i%keys))}, value, tsavorite.Metadata{})
		session.Leave()
		if status > tsavorite.Blind {
			t.Errorf("pressure: Upsert says %v", status)
			return
		}
		if i%64 == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
}

// recordHistory runs clients on keys and returns what they saw.
func recordHistory(t *testing.T, store *tsavorite.Store, seed uint64, round, clients, keys, steps int, truncates bool) []porcupine.Operation {
	var clock atomic.Int64
	var group sync.WaitGroup
	historians := make([]*historian, clients)
	for i := range historians {
		h := &historian{
			t: t, store: store, client: i, session: openSession(t, store), round: round, keys: keys, clock: &clock,
			random: rand.New(rand.NewPCG(seed, uint64(round*clients+i))),
		}
		historians[i] = h
		group.Go(func() {
			defer h.session.Close()
			for done := 0; done < steps; {
				h.session.Enter()
				for range 1 + h.random.IntN(6) {
					h.step()
					done++
				}
				h.session.Leave()
				if truncates && h.random.IntN(30) == 0 {
					h.truncate()
				}
			}
		})
	}
	group.Wait()
	var history []porcupine.Operation
	for _, h := range historians {
		history = append(history, h.history...)
	}
	return history
}

// checkLinearizable fails with what surrounds the place where no order explains a key's history.
func checkLinearizable(t *testing.T, seed uint64, history []porcupine.Operation) {
	t.Helper()
	for _, part := range historyModel.Partition(history) {
		result, info := porcupine.CheckOperationsVerbose(historyModel, part, 30*time.Second)
		if result != porcupine.Ok {
			t.Fatalf("seed %d: the history of a key is %s: %s", seed, result, stuckAt(part, info))
		}
	}
}

// stuckAt writes the end of the longest explanation that was found, and the operations that it
// leaves without one.
func stuckAt(part []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, explanation := range info.PartialLinearizationsOperations()[0] {
		if len(explanation) > len(longest) {
			longest = explanation
		}
	}
	explained := map[int64]bool{}
	for _, o := range longest {
		explained[o.Call] = true
	}
	var b strings.Builder
	write := func(o porcupine.Operation) {
		fmt.Fprintf(&b, "\n  client %d [%d, %d] %v -> %v", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	b.WriteString("explained in this order:")
	for _, o := range longest[max(0, len(longest)-10):] {
		write(o)
	}
	b.WriteString("\nnot explained:")
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	left := 12
	for _, o := range part {
		if left > 0 && !explained[o.Call] {
			write(o)
			left--
		}
	}
	return b.String()
}

// concurrentStores are the stores that several sessions work on at once.
func concurrentStores() []storeCase {
	tiny := tsavorite.Options{PageBytes: 4096, MemoryBytes: 4 * 4096, IndexBytes: 512}
	fixed := tiny
	fixed.IndexMaxBytes = fixed.IndexBytes
	copying := tiny
	copying.CopyReadsToTail = true
	roomy := tsavorite.Options{PageBytes: 16 << 10, MemoryBytes: 64 << 20, IndexBytes: 512}
	return []storeCase{
		{"memory", roomy, ""},
		{"localmemory", fixed, "localmemory"},
		{"localmemory,growing index", tiny, "localmemory"},
		{"localmemory,copied reads", copying, "localmemory"},
		{"file", fixed, "file"},
		{"file,growing index", tiny, "file"},
	}
}

// compactedStore has no device and fills up all the time: compaction moves records under everyone.
var compactedStore = storeCase{"memory,compacted", tsavorite.Options{PageBytes: 4096, MemoryBytes: 48 * 4096, IndexBytes: 512}, ""}

// TestHistoriesAreLinearizable: whatever several sessions do to a few keys while records move and
// the index grows, each key's history is that of one record that changes a step at a time.
func TestHistoriesAreLinearizable(t *testing.T) { testHistories(t, false) }

// TestTruncatedHistoriesAreLinearizable: nor does it matter that everything is dropped now and then.
func TestTruncatedHistoriesAreLinearizable(t *testing.T) { testHistories(t, true) }

func testHistories(t *testing.T, truncates bool) {
	rounds := 60
	if testing.Short() {
		rounds = 6
	}
	for _, settings := range append(concurrentStores(), compactedStore) {
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 4*time.Minute)
			seed := testSeed()
			store := settings.open(t)
			withPressure(t, settings, store, func() {
				for round := range rounds {
					checkLinearizable(t, seed, recordHistory(t, store, seed, round, 4, 3, 120, truncates))
				}
			})
		})
	}
}

// withPressure runs f while another session fills the log, where there is a device with keys that
// stay, else with keys that soon go.
func withPressure(t *testing.T, settings storeCase, store *tsavorite.Store, f func()) {
	var stop atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		if settings.device == "" {
			churn(t, store, &stop)
		} else {
			pressure(t, store, 3000, &stop)
		}
	})
	defer group.Wait()
	defer stop.Store(true)
	f()
}

const (
	accounts       = 6
	accountOpening = 1000
)

// account is the key of an account; half of them hang on one entry of the index.
func account(i int) tsavorite.Key {
	if i < accounts/2 {
		return tsavorite.Key{Bytes: collidingKeys()[i]}
	}
	return key("account %d", i)
}

// balances reads accounts of a session that has latched them.
func balances(t *testing.T, s *tsavorite.Session, keys []tsavorite.Key) []uint64 {
	amounts := make([]uint64, len(keys))
	for i, k := range keys {
		r := &lastRead{}
		if status := s.Read(k, 0, r); status != tsavorite.Found || len(r.record.Value) < 8 {
			t.Errorf("read of %s says %v, %d bytes: %v", k.Bytes, status, len(r.record.Value), s.Err())
			continue
		}
		amounts[i] = binary.LittleEndian.Uint64(r.record.Value)
	}
	return amounts
}

// transfer moves an amount between two latched accounts, by Upsert and by read-modify-write. The
// value's length changes as well, so that in place and copy both happen.
func transfer(t *testing.T, s *tsavorite.Session, random *rand.Rand) {
	i := random.IntN(accounts)
	pair := []tsavorite.Key{account(i), account((i + 1 + random.IntN(accounts-1)) % accounts)}
	s.Latch(pair)
	defer s.Unlatch()
	amounts := balances(t, s, pair)
	amount := uint64(random.IntN(10))
	for side, change := range []uint64{-amount, amount} {
		value := binary.LittleEndian.AppendUint64(nil, amounts[side]+change)
		value = append(value, make([]byte, random.IntN(200))...)
		status := tsavorite.Found
		if random.IntN(2) == 0 {
			status = s.Upsert(pair[side], value, tsavorite.Metadata{})
		} else {
			status = s.RMW(pair[side], setTo(value, tsavorite.Metadata{}))
		}
		if status != tsavorite.Found && status != tsavorite.Blind {
			t.Errorf("transfer to %s says %v: %v", pair[side].Bytes, status, s.Err())
		}
	}
}

// TestLatchedTransfersKeepTheSum: verbs between Latch and Unlatch are one step to everyone who
// latches.
func TestLatchedTransfersKeepTheSum(t *testing.T) {
	steps := 15_000
	if testing.Short() {
		steps = 500
	}
	for _, settings := range concurrentStores() {
		t.Run(settings.name, func(t *testing.T) {
			seed := testSeed()
			store := settings.open(t)
			all := make([]tsavorite.Key, accounts)
			opening := openSession(t, store)
			opening.Enter()
			for i := range all {
				all[i] = account(i)
				opening.Upsert(all[i], binary.LittleEndian.AppendUint64(nil, accountOpening), tsavorite.Metadata{})
			}
			opening.Leave()
			opening.Close()
			withPressure(t, settings, store, func() {
				var group sync.WaitGroup
				for client := range 4 {
					session := openSession(t, store)
					random := rand.New(rand.NewPCG(seed, uint64(client)))
					group.Go(func() {
						defer session.Close()
						for range steps {
							session.Enter()
							if random.IntN(5) > 0 {
								transfer(t, session, random)
							} else {
								checkSum(t, session, all, seed)
							}
							session.Leave()
						}
					})
				}
				group.Wait()
			})
		})
	}
}

func checkSum(t *testing.T, s *tsavorite.Session, all []tsavorite.Key, seed uint64) {
	s.Latch(all)
	defer s.Unlatch()
	sum := uint64(0)
	amounts := balances(t, s, all)
	for _, amount := range amounts {
		sum += amount
	}
	if sum != accounts*accountOpening {
		t.Errorf("seed %d: the accounts hold %d (%v), want %d", seed, sum, amounts, accounts*accountOpening)
	}
}
