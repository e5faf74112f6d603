package devicetest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pyropedb/pyrope/device"
)

// testAcrossSegments writes and reads ranges that begin and end anywhere.
func testAcrossSegments(t *testing.T, c Config) {
	f := open(t, c, nil)
	q := f.queue()
	defer f.closeQueue(q)
	const length = 8 * segmentBytes
	buffer := f.buffers(1, length)[0]
	pattern(buffer, 0)
	f.mustDo(q, device.OpWrite, 0, buffer)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		from := random.Uint64N(length/Block) * Block
		to := from + (1+random.Uint64N((length-from)/Block))*Block
		read := buffer[:to-from]
		clear(read)
		f.mustDo(q, device.OpRead, from, read)
		if !c.KeepsNothing {
			f.checkPattern(read, from)
		}
	}
}

// testConcurrentWrites lets goroutines write interleaved ranges that cross segments.
func testConcurrentWrites(t *testing.T, c Config) {
	f := open(t, c, nil)
	const writers, each, size = 4, 8, segmentBytes/2 + Block
	var group sync.WaitGroup
	for g := range writers {
		q := f.queue()
		requests := make([]*device.Request, each)
		for i, buffer := range f.buffers(each, size) {
			address := uint64(i*writers+g) * size
			pattern(buffer, address)
			requests[i] = &device.Request{Op: device.OpWrite, Address: address, Buffer: buffer}
		}
		group.Go(func() {
			defer f.closeQueue(q)
			q.Submit(requests)
			done := make([]*device.Request, each)
			for back := 0; back < each; {
				n := q.Poll(done, true)
				for _, r := range done[:n] {
					if r.Err != nil || r.Transferred != size {
						t.Errorf("write at %d: moved %d, %v", r.Address, r.Transferred, r.Err)
					}
				}
				back += n
			}
		})
	}
	group.Wait()
	q := f.queue()
	defer f.closeQueue(q)
	whole := f.buffers(1, writers*each*size)[0]
	f.mustDo(q, device.OpRead, 0, whole)
	if !c.KeepsNothing {
		f.checkPattern(whole, 0)
	}
}

// testShortReads reads beyond the end in every way.
func testShortReads(t *testing.T, c Config) {
	f := open(t, c, nil)
	const length = segmentBytes + 3*Block
	f.fill(length)
	q := f.queue()
	defer f.closeQueue(q)
	buffer := f.buffers(1, 4*segmentBytes)[0]
	for _, test := range []struct{ address, length, want uint64 }{
		{0, length, length},
		{0, 4 * segmentBytes, length}, // ends within a segment and misses the next ones
		{segmentBytes - Block, 2 * segmentBytes, length - segmentBytes + Block}, // crosses into the last one
		{length - Block, 2 * Block, Block},
		{length, Block, 0},                        // at the end
		{length + 5*Block, Block, 0},              // beyond it, same segment
		{7 * segmentBytes, segmentBytes, 0},       // a segment that was never written
		{100 * segmentBytes, 3 * segmentBytes, 0}, // nor its neighbours
	} {
		if c.KeepsNothing {
			test.want = 0
		}
		r := f.do(q, device.OpRead, test.address, buffer[:test.length])
		if r.Err != nil || uint64(r.Transferred) != test.want {
			t.Fatalf("read of %d bytes at %d: moved %d, %v; want %d", test.length, test.address, r.Transferred, r.Err, test.want)
		}
		f.checkPattern(buffer[:r.Transferred], test.address)
	}
}

// testAlignment breaks the alignment of address, length and memory, one at a time.
func testAlignment(t *testing.T, c Config) {
	f := open(t, c, nil)
	sector := f.device.Info().SectorSizeBytes
	if sector < 1 || sector&(sector-1) != 0 || sector > Block {
		t.Fatalf("the sector size is %d, not a power of two up to %d", sector, Block)
	}
	f.fill(segmentBytes)
	q := f.queue()
	defer f.closeQueue(q)
	buffer := f.buffers(1, 2*Block)[0]
	half := uint64(max(sector/2, 1))
	for _, r := range []device.Request{
		{Address: half, Buffer: buffer[:Block]},
		{Address: 0, Buffer: buffer[:Block+half]},
		{Address: Block, Buffer: buffer[half : Block+half]},
		{Op: device.OpWrite, Address: half, Buffer: buffer[:Block]},
	} {
		got := f.do(q, r.Op, r.Address, r.Buffer)
		if sector == 1 {
			f.checkWhole(got)
		} else {
			f.wantError(got, device.ErrUnaligned)
		}
	}
	if !c.KeepsNothing && sector > 1 { // the refused write left no trace
		f.mustDo(q, device.OpRead, 0, buffer[:Block])
		f.checkPattern(buffer[:Block], 0)
	}
}

// testTruncation checks addresses and files around the new beginning.
func testTruncation(t *testing.T, c Config) {
	directory := t.TempDir()
	f := open(t, c, func(o *device.Options) { o.Directory = directory })
	f.fill(4 * segmentBytes)
	q := f.queue()
	defer f.closeQueue(q)
	buffer := f.buffers(1, Block)[0]
	const begin = 2*segmentBytes + 4*Block
	for _, to := range []uint64{begin, segmentBytes, 0} { // going back changes nothing
		if err := f.device.Truncate(to); err != nil {
			t.Fatalf("Truncate(%d): %v", to, err)
		}
	}
	for _, address := range []uint64{0, segmentBytes, 2 * segmentBytes, begin - Block} {
		for _, op := range []device.Op{device.OpRead, device.OpWrite} {
			f.wantError(f.do(q, op, address, buffer), device.ErrTruncated)
		}
	}
	for _, address := range []uint64{begin, 3 * segmentBytes, 4*segmentBytes - Block} {
		f.checkRead(f.do(q, device.OpRead, address, buffer))
	}
	if !c.Reopens {
		return
	}
	for i, want := range []bool{false, false, true, true} {
		names, err := filepath.Glob(filepath.Join(directory, "*."+string(rune('0'+i))))
		if err != nil || (len(names) == 1) != want {
			t.Errorf("segment %d: files %v, want it kept: %t", i, names, want)
		}
	}
}

// testTruncationUnderReads truncates segment by segment while others read: what comes back is
// right, or ErrTruncated.
func testTruncationUnderReads(t *testing.T, c Config) {
	f := open(t, c, nil)
	const segments = 24
	f.fill(segments * segmentBytes)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for g := range 3 {
		q := f.queue()
		requests := f.randomReads(16, segments*segmentBytes, uint64(g))
		readers.Go(func() {
			defer f.closeQueue(q)
			done := make([]*device.Request, len(requests))
			random := rand.New(rand.NewPCG(uint64(g), 5))
			for running := true; running; {
				select {
				case <-stop:
					running = false
				default:
				}
				for _, r := range requests {
					r.Address = random.Uint64N(segments*segmentBytes/Block) * Block
				}
				q.Submit(requests)
				for back := 0; back < len(requests); {
					n := q.Poll(done, true)
					back += n
					for _, r := range done[:n] {
						f.checkRightOrTruncated(r)
					}
				}
			}
		})
	}
	for i := uint64(1); i < segments; i++ {
		if err := f.device.Truncate(i * segmentBytes); err != nil {
			t.Errorf("Truncate(%d): %v", i*segmentBytes, err)
		}
	}
	close(stop)
	readers.Wait()
}

func (f *fixture) checkRightOrTruncated(r *device.Request) {
	if r.Err == nil {
		f.checkReadSoft(r)
		return
	}
	if !isTruncated(r.Err) {
		f.Errorf("read at %d: %v", r.Address, r.Err)
	}
}

// testSyncAndReopen opens a directory again, whole and truncated, and afresh.
func testSyncAndReopen(t *testing.T, c Config) {
	directory := t.TempDir()
	in := func(fresh bool) *fixture {
		return open(t, c, func(o *device.Options) { o.Directory, o.Fresh = directory, fresh })
	}
	f := in(true)
	const length = 3*segmentBytes + 2*Block
	f.fill(length)
	if err := f.device.Sync(); err != nil {
		t.Fatalf("Sync: %v", err)
	}
	if err := f.device.Sync(); err != nil {
		t.Fatalf("Sync with nothing to do: %v", err)
	}
	f.close()
	if !c.Reopens {
		return
	}
	stranger := filepath.Join(directory, "hlog.01")
	if err := os.WriteFile(stranger, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f = in(false)
	buffer := f.buffers(1, 4*segmentBytes)[0]
	q := f.queue()
	r := f.do(q, device.OpRead, 0, buffer)
	if r.Err != nil || r.Transferred != length {
		t.Fatalf("after reopening a read moved %d bytes, %v; want %d", r.Transferred, r.Err, length)
	}
	f.checkPattern(buffer[:length], 0)
	if err := f.device.Truncate(2 * segmentBytes); err != nil {
		t.Fatal(err)
	}
	f.closeQueue(q)
	f.close()

	f = in(false)
	q = f.queue()
	f.wantError(f.do(q, device.OpRead, segmentBytes, buffer[:Block]), device.ErrTruncated)
	f.checkRead(f.do(q, device.OpRead, 2*segmentBytes, buffer[:Block]))
	f.closeQueue(q)
	f.close()

	f = in(true)
	q = f.queue()
	if r := f.do(q, device.OpRead, 0, buffer[:Block]); r.Err != nil || r.Transferred != 0 {
		t.Fatalf("a fresh device moved %d bytes, %v", r.Transferred, r.Err)
	}
	f.closeQueue(q)
	if _, err := os.Stat(stranger); err != nil {
		t.Errorf("a file that only looks like a segment is gone: %v", err)
	}
}
