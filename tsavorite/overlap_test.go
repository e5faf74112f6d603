package tsavorite_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/tsavorite"
)

// inOrder checks that a batch is answered key by key.
type inOrder struct {
	t    *testing.T
	want []string // by token; "" is a missing key
	next uint64
}

func (r *inOrder) Read(token uint64, status tsavorite.Status, record tsavorite.Record) {
	if token != r.next {
		r.t.Errorf("token %d, want %d", token, r.next)
	}
	r.next++
	want := r.want[token]
	if (status == tsavorite.Found) != (want != "") || want != "" && string(record.Value) != want {
		r.t.Errorf("key %d: %v %q, want %q", token, status, record.Value, want)
	}
}

// TestBatchesOverlap has several batches of hot, cold and missing keys under way, beside writes that push
// records out of memory between the start of a batch and its end.
func TestBatchesOverlap(t *testing.T) {
	d, err := localmemory.Open(device.Options{SegmentSizeBytes: 64 << 10, CompletionThreads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	store, s := openStore(t, tsavorite.Options{Device: d, PageBytes: 4096, MemoryBytes: 32 << 10, IndexBytes: 512})
	writer := openSession(t, store)
	t.Cleanup(writer.Close)
	const keys = 3000
	value := func(i int) string { return fmt.Sprintf("value of %d", i) }
	for i := range keys {
		s.Upsert(key("k:%d", i), []byte(value(i)), tsavorite.Metadata{})
	}
	random := rand.New(rand.NewPCG(1, 2))
	again := 0
	for round := range 60 {
		batches, readers := make([]tsavorite.BatchRead, 8), make([]*inOrder, 8)
		left := len(batches)
		for b := range batches {
			readers[b] = &inOrder{t: t}
			var asked []tsavorite.Key
			for range 1 + random.IntN(40) {
				i := random.IntN(keys + 50)
				if random.IntN(2) == 0 {
					i = keys - 1 - random.IntN(40) // likely in memory
				}
				asked = append(asked, key("k:%d", i))
				if i < keys {
					readers[b].want = append(readers[b].want, value(i))
				} else {
					readers[b].want = append(readers[b].want, "")
				}
			}
			batches[b].Owner = readers[b]
			s.StartBatch(&batches[b], asked)
		}
		s.Leave()
		writer.Enter()
		for i := range 200 * (round % 2) {
			writer.Upsert(key("other:%d", i), []byte("other"), tsavorite.Metadata{})
		}
		writer.Leave()
		s.Enter()
		for left > 0 {
			s.CompletePending(true)
			for _, b := range s.ReadyBatches(nil) {
				if !s.DeliverBatch(b, b.Owner.(*inOrder)) {
					again++
					continue
				}
				left--
				if r := b.Owner.(*inOrder); r.next != uint64(len(r.want)) {
					t.Errorf("%d of %d keys were answered", r.next, len(r.want))
				}
			}
		}
	}
	if again == 0 {
		t.Error("no key left memory while its batch was under way: the test is too tame")
	}
	for i := 0; i < keys; i += 37 { // what is hot is answered up to the first cold key
		r := &inOrder{t: t, want: []string{value(i), value(i + 1)}}
		if n := s.ReadHot([]tsavorite.Key{key("k:%d", i), key("k:%d", i+1)}, r); uint64(n) != r.next {
			t.Errorf("ReadHot answered %d keys and says %d", r.next, n)
		}
	}
}

// TestOverlapDoesNotAllocate: a batch uses what earlier ones left.
func TestOverlapDoesNotAllocate(t *testing.T) {
	s, keys := coldSession(t)
	r := &allocReader{}
	var batch tsavorite.BatchRead
	var ready []*tsavorite.BatchRead
	read := func() {
		s.StartBatch(&batch, keys[:64])
		ready = s.ReadyBatches(ready[:0])
		if len(ready) != 1 || !s.DeliverBatch(ready[0], r) {
			t.Fatalf("%d batches are ready", len(ready))
		}
	}
	read()
	*r = allocReader{}
	wantNoAllocations(t, "StartBatch and DeliverBatch", read)
	if r.found != 201*64 || r.missing+r.failed != 0 {
		t.Errorf("201 batches of 64 cold keys gave %+v", *r)
	}
	wantNoAllocations(t, "ReadHot of a cold key", func() {
		if n := s.ReadHot(keys[:16], r); n != 0 {
			t.Fatalf("ReadHot answered %d cold keys", n)
		}
	})
}
