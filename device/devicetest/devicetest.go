// Package devicetest is the device contract as a test: every implementation's tests call Run, and
// each subtest cites the rule (D1 to D8 of package device) that it holds the implementation to.
package devicetest

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/aligned"
)

// Config says how to make the device under test, and what to expect of it.
type Config struct {
	// Open opens the device. Directory and FileName in o are set: opening twice with the same ones
	// must find the same bytes if Reopens.
	Open func(o device.Options) (device.Device, error)
	// Options are the starting point; the suite sets Directory, SegmentSizeBytes and Fresh, and for
	// some subtests QueueDepth, IOContexts and ThrottleLimit.
	Options device.Options
	// KeepsNothing: reads are short from the first byte on (the null device).
	KeepsNothing bool
	// Reopens: what was written is there when the directory is opened again.
	Reopens bool
	// AllocatesNothing: a read and its completion allocate nothing once the device is warm.
	AllocatesNothing bool
	// HasEventFD: queues have a descriptor that tells of completions.
	HasEventFD bool
}

// Block is the size and alignment of the suite's requests: a multiple of any sector size.
const Block = 4096

const segmentBytes = 16 * Block

// Run runs the suite.
func Run(t *testing.T, c Config) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Config)
	}{
		{"D1EveryRequestComesBackOnce", testEveryRequestComesBackOnce},
		{"D1ErrorsAreReported", testErrorsAreReported},
		{"D1SubmitAndPoll", testSubmitAndPoll},
		{"D2FullRings", testFullRings},
		{"D2QueuesShareARing", testQueuesShareARing},
		{"D3AcrossSegments", testAcrossSegments},
		{"D3ConcurrentWritesAcrossSegments", testConcurrentWrites},
		{"D4ShortReads", testShortReads},
		{"D5Alignment", testAlignment},
		{"D6Truncation", testTruncation},
		{"D6TruncationUnderReads", testTruncationUnderReads},
		{"D7QueueCloseWithReadsInFlight", testQueueClose},
		{"D7DeviceCloseWithReadsInFlight", testDeviceClose},
		{"D8SyncAndReopen", testSyncAndReopen},
		{"RegisteredMemory", testRegisteredMemory},
		{"EventFD", testEventFD},
		{"PollWithNothingInFlight", testPollIdle},
		{"NoAllocations", testNoAllocations},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

// fixture is one open device with what the subtests do to it.
type fixture struct {
	*testing.T
	config Config
	device device.Device
	closed bool
}

// open opens a device in a fresh directory; change may alter the options.
func open(t *testing.T, c Config, change func(*device.Options)) *fixture {
	t.Helper()
	o := c.Options
	o.SegmentSizeBytes = segmentBytes
	if o.Directory == "" {
		o.Directory = t.TempDir()
	}
	o.Fresh = true
	if change != nil {
		change(&o)
	}
	d, err := c.Open(o)
	if err != nil {
		t.Fatalf("cannot open the device: %v", err)
	}
	f := &fixture{T: t, config: c, device: d}
	t.Cleanup(f.close)
	return f
}

func (f *fixture) close() {
	f.Helper()
	if f.closed {
		return
	}
	f.closed = true
	if err := f.device.Close(); err != nil {
		f.Errorf("Close of the device: %v", err)
	}
}

func (f *fixture) queue() device.Queue {
	f.Helper()
	q, err := f.device.NewQueue()
	if err != nil {
		f.Fatalf("NewQueue: %v", err)
	}
	return q
}

func (f *fixture) closeQueue(q device.Queue) {
	f.Helper()
	if err := q.Close(); err != nil {
		f.Errorf("Close of a queue: %v", err)
	}
}

// buffers returns count buffers of size bytes that live until the test ends and the device is closed.
func (f *fixture) buffers(count, size int) [][]byte {
	f.Helper()
	buffers, area, err := aligned.Buffers(count, size, Block)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		f.close()
		_ = aligned.Unmap(area)
	})
	return buffers
}

// pattern fills p with what belongs at address: words of eight bytes that follow from their
// address. Address and length are multiples of eight.
func pattern(p []byte, address uint64) {
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], patternWord(address+uint64(i)))
	}
}

func patternWord(address uint64) uint64 {
	x := (address + 1) * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// wrongAt returns the first place in p that does not hold what belongs at address, or -1.
func wrongAt(p []byte, address uint64) int {
	for i := 0; i < len(p); i += 8 {
		if binary.LittleEndian.Uint64(p[i:]) != patternWord(address+uint64(i)) {
			return i
		}
	}
	return -1
}

// checkPattern fails unless p holds what belongs at address.
func (f *fixture) checkPattern(p []byte, address uint64) {
	f.Helper()
	if i := wrongAt(p, address); i >= 0 {
		f.Fatalf("the word at address %d is %#x, want %#x (byte %d of a read at %d)",
			address+uint64(i), binary.LittleEndian.Uint64(p[i:]), patternWord(address+uint64(i)), i, address)
	}
}

// do submits one request and waits for it.
func (f *fixture) do(q device.Queue, op device.Op, address uint64, buffer []byte) *device.Request {
	f.Helper()
	r := &device.Request{Op: op, Address: address, Buffer: buffer, Token: address}
	q.Submit([]*device.Request{r})
	done := make([]*device.Request, 4)
	if n := q.Poll(done, true); n != 1 || done[0] != r {
		f.Fatalf("Poll returned %d requests for one %s at %d", n, op, address)
	}
	if q.InFlight() != 0 {
		f.Fatalf("InFlight is %d after the only request came back", q.InFlight())
	}
	return r
}

// mustDo is do for requests that must move all their bytes.
func (f *fixture) mustDo(q device.Queue, op device.Op, address uint64, buffer []byte) {
	f.Helper()
	r := f.do(q, op, address, buffer)
	f.checkWhole(r)
}

// checkWhole fails unless r moved all its bytes (for a device that keeps nothing: none of a read).
func (f *fixture) checkWhole(r *device.Request) {
	f.Helper()
	want := len(r.Buffer)
	if f.config.KeepsNothing && r.Op == device.OpRead {
		want = 0
	}
	if r.Err != nil || r.Transferred != want {
		f.Fatalf("%s of %d bytes at %d: moved %d, %v", r.Op, len(r.Buffer), r.Address, r.Transferred, r.Err)
	}
}

// fill writes the pattern to [0, length).
func (f *fixture) fill(length uint64) {
	f.Helper()
	q := f.queue()
	buffer := f.buffers(1, segmentBytes)[0]
	for address := uint64(0); address < length; address += segmentBytes {
		piece := buffer[:min(length-address, segmentBytes)]
		pattern(piece, address)
		f.mustDo(q, device.OpWrite, address, piece)
	}
	f.closeQueue(q)
}

// collect polls until count requests have come back, and calls each for them.
func (f *fixture) collect(q device.Queue, count int, each func(*device.Request)) {
	f.Helper()
	done := make([]*device.Request, 32)
	deadline := time.Now().Add(30 * time.Second)
	for count > 0 {
		n := q.Poll(done, true)
		if n == 0 || time.Now().After(deadline) {
			f.Fatalf("Poll returned %d with %d requests missing", n, count)
		}
		for _, r := range done[:n] {
			each(r)
		}
		count -= n
	}
	if q.InFlight() != 0 {
		f.Fatalf("InFlight is %d when all has come back", q.InFlight())
	}
	if n := q.Poll(done, false); n != 0 {
		f.Fatalf("Poll returned %d requests that were not in flight", n)
	}
}

// randomReads returns count reads of one block each within [0, length), with their buffers.
func (f *fixture) randomReads(count int, length uint64, seed uint64) []*device.Request {
	f.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	requests := make([]*device.Request, count)
	for i, buffer := range f.buffers(count, Block) {
		requests[i] = &device.Request{Address: random.Uint64N(length/Block) * Block, Buffer: buffer, Token: uint64(i)}
	}
	return requests
}

// checkRead fails unless r read all its bytes and they are right.
func (f *fixture) checkRead(r *device.Request) {
	f.Helper()
	f.checkWhole(r)
	f.checkPattern(r.Buffer[:r.Transferred], r.Address)
}

// wantError fails unless r failed with target and moved nothing it should not have.
func (f *fixture) wantError(r *device.Request, target error) {
	f.Helper()
	if !errors.Is(r.Err, target) {
		f.Fatalf("%s of %d bytes at %d: moved %d, error %v, want %v", r.Op, len(r.Buffer), r.Address, r.Transferred, r.Err, target)
	}
}
