package record_test

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"

	"github.com/pyropedb/pyrope/tsavorite/internal/record"
	"pgregory.net/rapid"
)

// alignedBytes returns size zeroed bytes that start at a multiple of 8, as pages and read buffers do.
func alignedBytes(size int) []byte {
	words := make([]uint64, size/8+2)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:size:size]
}

// content is what a record is expected to say.
type content struct {
	layout    record.Layout
	value     []byte
	kind      uint8
	deadline  int64
	etag      uint64
	previous  record.Address
	tombstone bool
}

// write makes a record of c at b[0], the way the engine does.
func (c content) write(b []byte) record.Record {
	r := record.At(unsafe.Pointer(&b[0]))
	r.Init(c.layout, len(c.value))
	r.SetKind(c.kind)
	r.SetDeadlineAndEtag(c.deadline, c.etag)
	copy(r.Value(), c.value)
	r.Publish(c.previous, c.tombstone)
	return r
}

// fataler is what checks need of *testing.T and *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// check compares everything the record at b[0] says with c.
func (c content) check(t fataler, b []byte) {
	t.Helper()
	r := record.InBuffer(b)
	deadline, etag := c.deadline, c.etag
	if !c.layout.HasDeadline {
		deadline = 0
	}
	if !c.layout.HasEtag {
		etag = 0
	}
	switch {
	case r.IsNone() || !r.IsValid():
		t.Fatalf("%+v: the record is none or not valid", c)
	case *(*uint64)(unsafe.Pointer(&b[0])) == 0:
		t.Fatalf("%+v: a valid record's first word is 0 (R2)", c)
	case r.Size() != c.layout.Size() || len(r.Bytes()) != c.layout.Size() || r.Size()%8 != 0:
		t.Fatalf("%+v: size is %d, %d bytes; the layout says %d", c, r.Size(), len(r.Bytes()), c.layout.Size())
	case r.Namespace() != c.layout.Namespace || r.KeyLength() != len(c.layout.Key) || !bytes.Equal(r.Key(), c.layout.Key):
		t.Fatalf("%+v: key is %d/%x", c, r.Namespace(), r.Key())
	case r.ValueCapacity() != c.layout.Capacity || cap(r.Value()) != c.layout.Capacity:
		t.Fatalf("%+v: capacity is %d, of the slice %d", c, r.ValueCapacity(), cap(r.Value()))
	case r.ValueLength() != len(c.value) || !bytes.Equal(r.Value(), c.value):
		t.Fatalf("%+v: value is %x, length %d", c, r.Value(), r.ValueLength())
	case r.Kind() != c.kind || r.Previous() != c.previous || r.IsTombstone() != c.tombstone:
		t.Fatalf("%+v: kind %d, previous %d, tombstone %v", c, r.Kind(), r.Previous(), r.IsTombstone())
	case r.Deadline() != deadline || r.Etag() != etag:
		t.Fatalf("%+v: deadline %d and etag %d; want %d and %d", c, r.Deadline(), r.Etag(), deadline, etag)
	case !r.Holds(c.layout.Namespace, c.layout.Key):
		t.Fatalf("%+v: the record does not hold its own key", c)
	}
}

// pattern returns size bytes that differ from each other and from zero.
func pattern(size, seed int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7+seed) | 1
	}
	return b
}

// shapes calls f with records of every combination of key length, capacity, value length, deadline, etag
// and tombstone.
func shapes(f func(c content)) {
	for _, keyLength := range []int{0, 1, 7, 8, 9, 16, 255} {
		for _, capacity := range []int{0, 8, 16, 104} {
			for _, valueLength := range []int{0, 1, capacity - 3, capacity} {
				if valueLength < 0 || valueLength > capacity {
					continue
				}
				for flags := range 8 {
					f(content{
						layout: record.Layout{
							Namespace: 0xFEDCBA98, Key: pattern(keyLength, 3), Capacity: capacity,
							HasDeadline: flags&1 != 0, HasEtag: flags&2 != 0,
						},
						value: pattern(valueLength, 11), kind: uint8(200 + flags), deadline: 1 << 45, etag: 1<<63 | 5,
						previous: record.AddressMask &^ 7, tombstone: flags&4 != 0,
					})
				}
			}
		}
	}
}

// TestRoundTrip: whatever the shape, a record says what was written, and lies within its size.
func TestRoundTrip(t *testing.T) {
	const guard = 64
	shapes(func(c content) {
		size := c.layout.Size()
		b := alignedBytes(size + guard)
		for i := range b[size:] {
			b[size+i] = 0xA5
		}
		c.write(b)
		c.check(t, b)
		for i, x := range b[size:] {
			if x != 0xA5 {
				t.Fatalf("%+v: byte %d past the end was written", c, i)
			}
		}
	})
}

// TestUnpublished: until Publish no record starts there (R2), though its parts can be read.
func TestUnpublished(t *testing.T) {
	shapes(func(c content) {
		b := alignedBytes(c.layout.Size())
		r := record.At(unsafe.Pointer(&b[0]))
		if r.IsValid() {
			t.Fatalf("zeroed memory holds a valid record")
		}
		r.Init(c.layout, len(c.value))
		if r.IsValid() {
			t.Fatalf("%+v: valid before Publish", c)
		}
		if _, ok := record.CheckBuffer(b, len(b)); ok {
			t.Fatalf("%+v: CheckBuffer takes an unpublished record", c)
		}
		if !bytes.Equal(r.Key(), c.layout.Key) || r.Size() != c.layout.Size() || r.Previous() != 0 {
			t.Fatalf("%+v: before Publish key %x, size %d, previous %d", c, r.Key(), r.Size(), r.Previous())
		}
	})
	if !(record.Record{}).IsNone() {
		t.Fatal("the zero Record is not none")
	}
}

// similarKeys returns c with its key or namespace changed a little, in many ways.
func similarKeys(c content) (others []content) {
	other := c
	other.layout.Namespace++
	others = append(others, other)
	for _, key := range [][]byte{append(bytes.Clone(c.layout.Key), 0), append([]byte{0}, c.layout.Key...)} {
		other = c
		other.layout.Key = key
		others = append(others, other)
	}
	for i := range c.layout.Key {
		other = c
		other.layout.Key = bytes.Clone(c.layout.Key)
		other.layout.Key[i] ^= 0x80
		others = append(others, other)
	}
	if n := len(c.layout.Key); n > 0 {
		other = c
		other.layout.Key = c.layout.Key[:n-1]
		others = append(others, other)
	}
	return others
}

// TestHoldsTellsSimilarKeysApart: a byte changed, one more, one less, another namespace; what lies in
// the padding and in the neighbouring words does not matter.
func TestHoldsTellsSimilarKeysApart(t *testing.T) {
	shapes(func(c content) {
		b := alignedBytes(c.layout.Size())
		r := c.write(b)
		for _, other := range similarKeys(c) {
			if r.Holds(other.layout.Namespace, other.layout.Key) {
				t.Fatalf("record of %d/%x holds %d/%x", c.layout.Namespace, c.layout.Key, other.layout.Namespace, other.layout.Key)
			}
			holds, known := record.HoldsInBuffer(b, other.layout.Namespace, other.layout.Key)
			if holds || !known {
				t.Fatalf("in a buffer, record of %x: holds %x is %v, known %v", c.layout.Key, other.layout.Key, holds, known)
			}
		}
	})
}

// TestTruncatedBuffers: of every prefix of a record, CheckBuffer knows the size as soon as the header is
// there, and HoldsInBuffer says no more than the prefix can tell.
func TestTruncatedBuffers(t *testing.T) {
	shapes(func(c content) {
		size := c.layout.Size()
		whole := alignedBytes(size)
		c.write(whole)
		keyEnd := record.HeaderBytes + len(c.layout.Key)
		for _, has := range []bool{c.layout.HasDeadline, c.layout.HasEtag} {
			if has {
				keyEnd += 8
			}
		}
		for n := 0; n <= size; n++ {
			got, ok := record.CheckBuffer(whole[:n:n], size)
			if n < record.HeaderBytes {
				if got != 0 || !ok {
					t.Fatalf("%+v: CheckBuffer of %d bytes says %d, %v; want 0, true", c, n, got, ok)
				}
				continue
			}
			if got != size || !ok {
				t.Fatalf("%+v: CheckBuffer of %d bytes says %d, %v; want %d, true", c, n, got, ok, size)
			}
			holds, known := record.HoldsInBuffer(whole[:n:n], c.layout.Namespace, c.layout.Key)
			if want := n >= keyEnd; holds != want || known != want {
				t.Fatalf("%+v: HoldsInBuffer of %d of %d bytes says %v, known %v; the key ends at %d", c, n, size, holds, known, keyEnd)
			}
		}
		if _, ok := record.CheckBuffer(whole, size-8); ok {
			t.Fatalf("%+v: CheckBuffer accepts %d bytes within a limit of %d", c, size, size-8)
		}
	})
}

// TestCheckBufferRefuses lists headers that make no sense.
func TestCheckBufferRefuses(t *testing.T) {
	good := content{layout: record.Layout{Key: []byte("key"), Capacity: 16}, value: []byte("value")}
	for _, damage := range []struct {
		name  string
		word  int
		value uint64
	}{
		{"no valid bit", 0, 64},
		{"all zero info", 0, 0},
		{"capacity no multiple of 8", 16, 5 | 15<<32},
		{"length beyond the capacity", 16, 17 | 16<<32},
		{"huge capacity", 16, 5 | (1<<32-8)<<32},
		{"huge key", 8, (1<<24 - 1) << 32},
	} {
		t.Run(damage.name, func(t *testing.T) {
			b := alignedBytes(good.layout.Size())
			good.write(b)
			*(*uint64)(unsafe.Pointer(&b[damage.word])) = damage.value
			if size, ok := record.CheckBuffer(b, len(b)); ok {
				t.Errorf("CheckBuffer accepts it, with %d bytes", size)
			}
		})
	}
}

// TestCanHold: only a record that was laid out for a deadline or an etag has room for one; none always fits.
func TestCanHold(t *testing.T) {
	shapes(func(c content) {
		b := alignedBytes(c.layout.Size())
		r := c.write(b)
		for _, ask := range []struct {
			deadline int64
			etag     uint64
		}{{0, 0}, {1, 0}, {0, 1}, {-1, 1 << 63}} {
			want := (ask.deadline == 0 || c.layout.HasDeadline) && (ask.etag == 0 || c.layout.HasEtag)
			if got := r.CanHold(ask.deadline, ask.etag); got != want {
				t.Fatalf("%+v: CanHold(%d, %d) is %v, want %v", c.layout, ask.deadline, ask.etag, got, want)
			}
		}
	})
}

// TestIsDead: a record is dead from the millisecond after its deadline on, or as a tombstone.
func TestIsDead(t *testing.T) {
	for _, test := range []struct {
		deadline  int64
		tombstone bool
		now       int64
		want      bool
	}{
		{0, false, 1 << 60, false}, {0, true, 0, true}, {1000, false, 999, false}, {1000, false, 1000, false},
		{1000, false, 1001, true}, {1000, true, 0, true}, {-5, false, 0, true},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			c := content{layout: record.Layout{HasDeadline: true, HasEtag: true}, deadline: test.deadline, etag: 1, tombstone: test.tombstone}
			if got := c.write(alignedBytes(c.layout.Size())).IsDead(test.now); got != test.want {
				t.Errorf("IsDead is %v", got)
			}
		})
	}
	c := content{layout: record.Layout{Capacity: 8}, value: pattern(8, 0)}
	if c.write(alignedBytes(c.layout.Size())).IsDead(1 << 62) {
		t.Error("a record without a deadline is dead")
	}
}

// TestChangesInPlace runs random changes of what R4 lets change, and checks that everything is as the
// changes left it, and that the rest never moves.
func TestChangesInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := content{
			layout: record.Layout{
				Namespace:   rapid.Uint32().Draw(t, "namespace"),
				Key:         rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "key"),
				Capacity:    8 * rapid.IntRange(0, 12).Draw(t, "capacity in words"),
				HasDeadline: rapid.Bool().Draw(t, "has deadline"),
				HasEtag:     rapid.Bool().Draw(t, "has etag"),
			},
			previous: record.Address(8 * rapid.Uint64Range(0, record.AddressMask/8).Draw(t, "previous")),
		}
		b := alignedBytes(c.layout.Size())
		r := c.write(b)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { c.check(t, b) },
			"value": func(t *rapid.T) {
				c.value = rapid.SliceOfN(rapid.Byte(), 0, c.layout.Capacity).Draw(t, "value")
				if n := copy(r.SetValueLength(len(c.value)), c.value); n != len(c.value) {
					t.Fatalf("SetValueLength(%d) returns %d bytes", len(c.value), n)
				}
			},
			"kind": func(t *rapid.T) {
				c.kind = rapid.Uint8().Draw(t, "kind")
				r.SetKind(c.kind)
			},
			"deadline and etag": func(t *rapid.T) {
				c.deadline, c.etag = rapid.Int64().Draw(t, "deadline"), rapid.Uint64().Draw(t, "etag")
				r.SetDeadlineAndEtag(c.deadline, c.etag)
			},
			"tombstone": func(t *rapid.T) {
				c.tombstone = rapid.Bool().Draw(t, "tombstone")
				r.SetTombstone(c.tombstone)
			},
		})
	})
}

func TestPad8(t *testing.T) {
	for n := range 100 {
		if got := record.Pad8(n); got < n || got >= n+8 || got%8 != 0 {
			t.Errorf("Pad8(%d) is %d", n, got)
		}
	}
}

// FuzzCheckBuffer feeds arbitrary bytes: nothing panics, nothing beyond the limit is accepted, the answers
// depend on the given bytes alone, and a record that is whole can be read without leaving it.
func FuzzCheckBuffer(f *testing.F) {
	for _, c := range []content{
		{layout: record.Layout{}},
		{layout: record.Layout{Namespace: 1, Key: []byte("a key"), Capacity: 24, HasDeadline: true, HasEtag: true}, value: pattern(20, 1), deadline: 3, etag: 4},
		{layout: record.Layout{Key: []byte("12345678"), Capacity: 8}, value: pattern(8, 1), previous: 64, tombstone: true},
	} {
		b := alignedBytes(c.layout.Size())
		c.write(b)
		f.Add(b, uint16(len(b)), uint32(c.layout.Namespace), c.layout.Key)
		f.Add(b[:len(b)-5], uint16(len(b)), uint32(c.layout.Namespace), c.layout.Key)
		f.Add(b, uint16(len(b)-1), uint32(0), []byte("another"))
	}
	f.Fuzz(func(t *testing.T, data []byte, limit uint16, namespace uint32, key []byte) {
		const beyond = 64
		zeroes, ones := alignedBytes(len(data)+beyond), alignedBytes(len(data)+beyond)
		for i := range ones {
			ones[i] = 0xFF
		}
		a, b := zeroes[:copy(zeroes, data)], ones[:copy(ones, data)]
		size, ok := record.CheckBuffer(a, int(limit))
		if size2, ok2 := record.CheckBuffer(b, int(limit)); size != size2 || ok != ok2 {
			t.Fatalf("CheckBuffer reads past its bytes: %d, %v or %d, %v", size, ok, size2, ok2)
		}
		if len(data) < record.HeaderBytes {
			if size != 0 || !ok {
				t.Fatalf("CheckBuffer of %d bytes says %d, %v", len(data), size, ok)
			}
			return
		}
		if !ok {
			return
		}
		if size < record.HeaderBytes || size > int(limit) || size%8 != 0 {
			t.Fatalf("CheckBuffer accepts a record of %d bytes within a limit of %d", size, limit)
		}
		holds, known := record.HoldsInBuffer(a, namespace, key)
		if holds2, known2 := record.HoldsInBuffer(b, namespace, key); holds != holds2 || known != known2 || holds && !known {
			t.Fatalf("HoldsInBuffer reads past its bytes: %v, %v or %v, %v", holds, known, holds2, known2)
		}
		if size <= len(a) {
			checkWhole(t, record.InBuffer(a), a, namespace, key, holds, known)
		}
	})
}

// checkWhole reads every part of a record that lies in b as a whole.
func checkWhole(t *testing.T, r record.Record, b []byte, namespace uint32, key []byte, holds, known bool) {
	if !known || holds != r.Holds(namespace, key) || holds != (namespace == r.Namespace() && bytes.Equal(key, r.Key())) {
		t.Fatalf("HoldsInBuffer says %v, known %v; Holds says %v; the key is %x", holds, known, r.Holds(namespace, key), r.Key())
	}
	for _, part := range [][]byte{r.Key(), r.Value()[:cap(r.Value())], r.Bytes()} {
		if len(part) == 0 {
			continue
		}
		start := uintptr(unsafe.Pointer(&part[0])) - uintptr(unsafe.Pointer(&b[0]))
		if start > uintptr(len(b)) || start+uintptr(len(part)) > uintptr(r.Size()) {
			t.Fatalf("a part of %d bytes starts at %d of a record of %d", len(part), start, r.Size())
		}
	}
	r.Deadline()
	r.Etag()
	r.IsDead(0)
}

// TestView: a view says what the record says, and copies the value whatever its length.
func TestView(t *testing.T) {
	shapes(func(c content) {
		b := alignedBytes(c.layout.Size())
		r := c.write(b)
		v := r.View()
		var buffer record.Buffer
		length, ok := v.CopyValue(&buffer)
		switch {
		case !ok || !bytes.Equal(buffer.Bytes(length), c.value):
			t.Fatalf("%+v: the copy is %x", c, buffer.Bytes(length))
		case v.Kind() != r.Kind() || v.Deadline() != r.Deadline() || v.Etag() != r.Etag() || v.IsDead(1<<50) != r.IsDead(1<<50):
			t.Fatalf("%+v: the view differs from the record", c)
		case v.IsPlain() != (!c.tombstone && !c.layout.HasDeadline && !c.layout.HasEtag):
			t.Fatalf("%+v: IsPlain is %v", c, v.IsPlain())
		case v.ValueEnd() > c.layout.Size() || v.ValueEnd() < c.layout.Size()-c.layout.Capacity:
			t.Fatalf("%+v: the value ends at %d", c, v.ValueEnd())
		}
	})
	long := content{layout: record.Layout{Capacity: record.BufferBytes + 8}, value: pattern(record.BufferBytes+1, 3)}
	var buffer record.Buffer
	if _, ok := long.write(alignedBytes(long.layout.Size())).View().CopyValue(&buffer); ok {
		t.Error("a value longer than the buffer was copied")
	}
	if n := len(buffer.Bytes(5)); n != 5 || cap(buffer.Bytes(5)) != 5 {
		t.Errorf("five bytes of the buffer are %d", n)
	}
}
