package metamorphic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device/faultdev"
	"github.com/pyropedb/pyrope/tsavorite"
)

// run carries operations out against a store and a model and compares. One session at a time is
// between Enter and Leave: they all live in this goroutine, and one that stays entered would keep
// the others waiting for ever.
type run struct {
	t        *testing.T
	settings configuration
	seed     uint64
	store    *tsavorite.Store
	clock    *atomic.Int64
	sessions [sessionCount]*tsavorite.Session
	entered  int // the session between Enter and Leave; -1 is none
	model    *model
	current  operation
	progress scanProgress
	faults   faults
	stop     chan struct{} // ends the goroutine that compacts
	compacts sync.WaitGroup
	saved    savedRun
}

// savedRun is what a run that is saved and opened again keeps of the stores before.
type savedRun struct {
	options   tsavorite.Options
	directory string // of the checkpoints; empty for stores that lose records
	freed     uint64 // by compaction
	spilled   bool   // records went to the device, and some were read back
}

// savePeriod is how many operations lie between two checkpoints from which the store is opened again.
const savePeriod = 700

// scanProgress is a scan that other operations interrupt.
type scanProgress struct {
	active    bool
	namespace uint32
	cursor    uint64
	missing   map[int]bool // live since the scan began, not visited yet
}

func newRun(t *testing.T, settings configuration, seed uint64) *run {
	clock := &atomic.Int64{}
	clock.Store(startOfTime)
	options := settings.options
	options.Clock = clock.Load
	if !settings.moves {
		options.CompactionMaxDeadPercent = 100
	}
	if settings.open != nil {
		options.Device = settings.open(t)
	}
	failing, _ := options.Device.(*faultdev.Device)
	store, err := tsavorite.Open(options)
	if err != nil {
		t.Fatalf("cannot open the store: %v", err)
	}
	r := &run{t: t, settings: settings, seed: seed, store: store, clock: clock, entered: -1, model: newModel(startOfTime)}
	if r.saved.options = options; settings.lasts() {
		r.saved.directory = t.TempDir()
	}
	if settings.faulty {
		r.faults = faults{device: failing, random: rand.New(rand.NewPCG(seed, 1))}
	}
	r.begin()
	return r
}

// begin opens the sessions of a store, and begins to compact it if that is to be.
func (r *run) begin() {
	for i := range r.sessions {
		r.sessions[i] = r.newSession()
	}
	if r.settings.forced {
		r.stop = make(chan struct{})
		r.compacts.Go(r.compact)
	}
}

// end closes what begin has opened.
func (r *run) end() {
	r.leave()
	for _, session := range r.sessions {
		session.Close()
	}
	if r.stop != nil {
		close(r.stop)
		r.compacts.Wait()
	}
	info := r.store.Info()
	r.saved.freed += info.CompactionFreed
	if info.PendingReads > 0 && info.DeviceReads >= info.PendingReads && info.FlushedBytes > 0 {
		r.saved.spilled = true
	}
}

// reopen takes a checkpoint, in the midst of compaction, and goes on with the store that comes back from it. A scan's cursor is the store's.
func (r *run) reopen() {
	r.leave()
	if _, err := r.store.Checkpoint(tsavorite.CheckpointOptions{Directory: r.saved.directory}); err != nil {
		r.fail(-1, "cannot take a checkpoint: %v", err)
	}
	r.end()
	if err := r.store.Close(); err != nil {
		r.fail(-1, "cannot close the store: %v", err)
	}
	store, _, err := tsavorite.Recover(r.saved.options, tsavorite.RecoverOptions{Directory: r.saved.directory, Verify: r.current.index%2 == 0})
	if err != nil {
		r.store = nil
		r.fail(-1, "cannot recover: %v", err)
	}
	r.store, r.progress = store, scanProgress{}
	r.model.watched = nil
	r.begin()
}

// compact compacts the device again and again.
func (r *run) compact() {
	for {
		select {
		case <-r.stop:
			return
		case <-time.After(100 * time.Microsecond):
		}
		if _, err := r.store.Compact(); err != nil && !errors.Is(err, faultdev.ErrInjected) && !errors.Is(err, faultdev.ErrTorn) {
			r.t.Errorf("cannot compact: %v", err)
		}
	}
}

func (r *run) newSession() *tsavorite.Session {
	session, err := r.store.NewSession()
	if err != nil {
		r.fail(-1, "cannot make a session: %v", err)
	}
	return session
}

// fail ends the test with what is needed to run it again: the seed and the key's history, which
// the seed gives back.
func (r *run) fail(key int, format string, arguments ...any) {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, format, arguments...)
	fmt.Fprintf(&b, "\n  in operation %s", r.current.describe(key))
	if key >= 0 {
		fmt.Fprintf(&b, "\n  key %d is %d/%q", key, keyAt(key).Namespace, keyAt(key).Bytes)
	}
	fmt.Fprintf(&b, "\n  run again: go test ./tsavorite/metamorphic -run '^%s$' -seed=%d -ops=%d", r.t.Name(), r.seed, (r.current.index+1)*max(r.settings.slow, 1))
	if key >= 0 {
		b.WriteString("\n  the key's last operations:")
		var history []operation
		for g := newGenerator(r.seed); g.count <= r.current.index; {
			if o := g.next(); o.touches(key) {
				history = append(history, o)
			}
		}
		for _, o := range history[max(0, len(history)-12):] {
			fmt.Fprintf(&b, "\n    %s", o.describe(key))
		}
	}
	if r.store != nil {
		fmt.Fprintf(&b, "\n  store: %+v", r.store.Info())
	}
	r.t.Fatal(b.String())
}

// enter makes session i the one between Enter and Leave.
func (r *run) enter(i int) *tsavorite.Session {
	if r.entered != i {
		r.leave()
		r.sessions[i].Enter()
		r.entered = i
		if now := r.sessions[i].Now(); now != r.clock.Load() {
			r.fail(-1, "the session's time is %d, want %d", now, r.clock.Load())
		}
	}
	return r.sessions[i]
}

func (r *run) leave() {
	if r.entered >= 0 {
		r.sessions[r.entered].Leave()
		r.entered = -1
	}
}

// execute carries out one operation.
func (r *run) execute(o operation) {
	r.current = o
	if r.saved.directory != "" && o.index%savePeriod == savePeriod-1 {
		r.reopen()
	}
	r.faults.arm()
	switch o.verb {
	case verbRead, verbReadBatch, verbUpsert, verbRMW, verbDelete:
		r.synchronous(o)
	case verbAsync:
		r.asynchronous(o)
	case verbLatch:
		session := r.enter(o.session)
		keys := make([]tsavorite.Key, len(o.keys))
		for i, key := range o.keys {
			keys[i] = keyAt(key)
		}
		session.Prefetch(keys)
		session.Latch(keys)
		for _, member := range o.members {
			r.synchronous(member)
		}
		session.Unlatch()
	case verbScan:
		r.scan(o)
	case verbStep:
		r.scanStep(o)
	case verbRandom:
		r.randomKey(o)
	case verbAdvance:
		r.leave()
		r.clock.Add(int64(o.length))
		r.model.now = r.clock.Load()
	case verbRefresh:
		r.leave()
		r.enter(o.session)
	case verbRenew:
		r.leave()
		r.sessions[o.session].Close()
		r.sessions[o.session] = r.newSession()
	case verbTruncate:
		r.leave()
		if err := r.store.Truncate(); err != nil {
			r.fail(-1, "cannot truncate: %v", err)
		}
		clear(r.model.records)
	}
	r.forgetDead()
}

// synchronous carries out a verb that is done when it returns.
func (r *run) synchronous(o operation) {
	session := r.enter(o.session)
	switch o.verb {
	case verbRead:
		reader := &reader{}
		status := session.Read(keyAt(o.key), o.seed, reader)
		r.checkRead(o.key, o.seed, status, reader)
	case verbReadBatch:
		r.readBatch(session, o.keys)
	case verbUpsert:
		value := make([]byte, o.length)
		fill(value, o.seed)
		status := session.Upsert(keyAt(o.key), value, o.metadata)
		if r.checkBlind(o.key, status, tsavorite.Found, tsavorite.Created, session) {
			r.model.apply(o.key, tsavorite.Write, value, o.metadata)
		}
	case verbRMW:
		updater := r.updater(o)
		status := session.RMW(keyAt(o.key), updater)
		if updater.finishes != 0 {
			r.fail(o.key, "RMW called Finish")
		}
		r.checkUpdate(updater, status, session)
	case verbDelete:
		status := session.Delete(keyAt(o.key))
		if r.checkBlind(o.key, status, tsavorite.Deleted, tsavorite.NotFound, session) {
			r.model.apply(o.key, tsavorite.Remove, nil, tsavorite.Metadata{})
		}
	}
}

// updater makes the updater of an operation, with what the model expects it to be shown.
func (r *run) updater(o operation) *updater {
	want, found := r.model.get(o.key)
	return &updater{operation: o, want: want, found: found, lossy: r.settings.lossy}
}

// checkRead compares a read's only result with the model.
func (r *run) checkRead(key int, token uint64, status tsavorite.Status, reader *reader) {
	r.t.Helper()
	if len(reader.results) != 1 {
		r.fail(key, "the reader was called %d times, want once", len(reader.results))
	}
	result := reader.results[0]
	if result.status != status || result.token != token {
		r.fail(key, "the reader was told status %v token %d, want %v and %d", result.status, result.token, status, token)
	}
	r.checkResult(key, result)
}

// checkResult compares what a reader was told with the model.
func (r *run) checkResult(key int, result readResult) {
	r.t.Helper()
	if result.status == tsavorite.StatusError && len(result.record.Value) == 0 && r.isExcused(r.sessions[r.entered]) {
		return
	}
	want, found := r.model.get(key)
	if r.settings.lossy && found && result.status == tsavorite.NotFound {
		delete(r.model.records, key)
		found = false
	}
	switch {
	case found && result.status != tsavorite.Found, !found && result.status != tsavorite.NotFound:
		r.fail(key, "read says %v, the model found=%v", result.status, found)
	case !found && (len(result.record.Value) != 0 || result.record.Metadata != tsavorite.Metadata{}):
		r.fail(key, "a read that found nothing was shown %d bytes, %+v", len(result.record.Value), result.record.Metadata)
	case found:
		if difference := want.difference(result.record); difference != "" {
			r.fail(key, "read shows the wrong record: %s", difference)
		}
	}
}

func (r *run) readBatch(session *tsavorite.Session, numbers []int) {
	keys := make([]tsavorite.Key, len(numbers))
	for i, number := range numbers {
		keys[i] = keyAt(number)
	}
	reader := &reader{}
	session.ReadBatch(keys, reader)
	if len(reader.results) != len(keys) {
		r.fail(-1, "the reader of %d keys was called %d times", len(keys), len(reader.results))
	}
	for i, result := range reader.results {
		if result.token != uint64(i) {
			r.fail(numbers[i], "result %d of a batch has token %d", i, result.token)
		}
		r.checkResult(numbers[i], result)
	}
}

// checkBlind compares the status of a verb that need not ask the device, and reports whether it
// did what it was asked. In a store that has no device it always knows.
func (r *run) checkBlind(key int, status, ifLive, ifDead tsavorite.Status, session *tsavorite.Session) bool {
	r.t.Helper()
	want := ifDead
	if _, live := r.model.get(key); live {
		want = ifLive
	}
	switch {
	case status == want:
	case status == tsavorite.Blind && r.settings.open != nil:
	case r.settings.lossy && status == ifDead:
	case status == tsavorite.StatusError && r.isExcused(session):
		return false
	case status == tsavorite.StatusError:
		r.fail(key, "status is %v (%v), want %v", status, session.Err(), want)
	default:
		r.fail(key, "status is %v, want %v", status, want)
	}
	return true
}

// checkUpdate checks an updater that is done and brings the model up to date.
func (r *run) checkUpdate(u *updater, status tsavorite.Status, session *tsavorite.Session) {
	r.t.Helper()
	if status == tsavorite.StatusError {
		if u.failed = r.isExcused(session); u.failed {
			return
		}
		r.fail(u.key, "status is %v: %v", status, session.Err())
	}
	if problem := u.verdict(status); problem != "" {
		r.fail(u.key, "%s", problem)
	}
	if u.unsure {
		return
	}
	if u.lossy && !u.shown {
		delete(r.model.records, u.key)
	}
	old, found := r.model.get(u.key)
	plan, value := u.outcome(tsavorite.Record{Value: old.value, Metadata: old.Metadata}, found)
	r.model.apply(u.key, plan.Action, value, plan.Metadata)
}

// finish ends the run: every key is read back, and the store's figures must be sane.
func (r *run) finish() {
	r.current.verb, r.current.members = verbReadBatch, nil
	r.faults.settle(r)
	for start := 0; start < keyCount; start += 50 {
		numbers := make([]int, 50)
		for i := range numbers {
			numbers[i] = start + i
		}
		r.current.keys = numbers
		r.readBatch(r.enter(0), numbers)
	}
	r.end()
	if r.stop != nil && r.current.index > 1000 && r.saved.freed == 0 {
		r.fail(-1, "%d runs of compaction have gained nothing", r.store.Info().Compactions)
	}
	r.checkInfo()
	store := r.store
	r.store = nil
	if err := store.Close(); err != nil {
		r.fail(-1, "cannot close the store: %v", err)
	}
}

// checkInfo checks the order of the addresses (head ≤ flushed-until ≤ safe-read-only ≤ read-only ≤
// tail; begin may lie above head after a truncation) and that the figures say where the records went.
func (r *run) checkInfo() {
	info := r.store.Info()
	ordered := info.BeginAddress <= info.TailAddress &&
		info.HeadAddress <= info.FlushedUntilAddress &&
		info.FlushedUntilAddress <= info.SafeReadOnlyAddress &&
		info.SafeReadOnlyAddress <= info.ReadOnlyAddress &&
		info.ReadOnlyAddress <= info.TailAddress
	switch {
	case !ordered:
		r.fail(-1, "the addresses are out of order")
	case info.ResidentBytes > info.MemoryBytes:
		r.fail(-1, "%d bytes of log are resident, %d are allowed", info.ResidentBytes, info.MemoryBytes)
	case info.Reads == 0 || info.Writes == 0:
		r.fail(-1, "the counters of reads and writes stand at zero")
	case info.TailAddress-info.HeadAddress > info.MemoryBytes:
		r.fail(-1, "more of the log is in memory than fits")
	}
	if r.settings.spills && !r.saved.spilled && r.current.index > 1000 {
		r.fail(-1, "nothing was read back from the device")
	}
}
