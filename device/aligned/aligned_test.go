package aligned_test

import (
	"testing"
	"testing/quick"
	"unsafe"

	"github.com/pyropedb/pyrope/device/aligned"
)

func mustMap(t *testing.T, size int) []byte {
	t.Helper()
	memory, err := aligned.Map(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := aligned.Unmap(memory); err != nil {
			t.Error(err)
		}
	})
	return memory
}

func isZero(memory []byte) bool {
	for _, b := range memory {
		if b != 0 {
			return false
		}
	}
	return true
}

func fill(memory []byte) {
	for i := range memory {
		memory[i] = byte(i) | 1
	}
}

func TestMapIsZeroedAlignedAndWritable(t *testing.T) {
	for _, size := range []int{1, 512, aligned.PageBytes(), aligned.PageBytes() + 1, aligned.HugePageBytes, 3*aligned.HugePageBytes + 4096} {
		memory := mustMap(t, size)
		if len(memory) != size || cap(memory) != size {
			t.Fatalf("Map(%d) has length %d and capacity %d", size, len(memory), cap(memory))
		}
		alignment := aligned.PageBytes()
		if size >= aligned.HugePageBytes {
			alignment = aligned.HugePageBytes
		}
		if !isAligned(memory, alignment) {
			t.Fatalf("Map(%d) does not start at a multiple of %d", size, alignment)
		}
		aligned.AdviseHuge(memory)
		if !isZero(memory) {
			t.Fatalf("Map(%d) is not zeroed", size)
		}
		fill(memory)
		if memory[size-1] != byte(size-1)|1 {
			t.Fatalf("Map(%d) does not keep what was written", size)
		}
	}
}

func TestMapRefusesNoSize(t *testing.T) {
	for _, size := range []int{0, -1} {
		if _, err := aligned.Map(size); err == nil {
			t.Errorf("Map(%d) succeeded", size)
		}
	}
	if err := aligned.Unmap(nil); err != nil {
		t.Error(err)
	}
}

func TestDiscardZeroesExactlyItsRange(t *testing.T) {
	memory := mustMap(t, 8*aligned.PageBytes())
	property := func(a, b uint16) bool {
		from, to := int(a)%len(memory), int(b)%(len(memory)+1)
		if from > to {
			from, to = to, from
		}
		fill(memory)
		aligned.Discard(memory[from:to])
		for i, value := range memory {
			want := byte(i) | 1
			if i >= from && i < to {
				want = 0
			}
			if value != want {
				t.Logf("Discard [%d, %d): byte %d is %d, want %d", from, to, i, value, want)
				return false
			}
		}
		return true
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
}

func TestBuffersAreAlignedAndApart(t *testing.T) {
	buffers, area, err := aligned.Buffers(7, 600, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = aligned.Unmap(area) }()
	for i, buffer := range buffers {
		if len(buffer) != 600 || !isAligned(buffer, 512) {
			t.Fatalf("buffer %d has %d bytes, aligned %t", i, len(buffer), isAligned(buffer, 512))
		}
		for j := range buffer {
			buffer[j] = byte(i + 1)
		}
	}
	for i, buffer := range buffers {
		for _, b := range buffer {
			if b != byte(i+1) {
				t.Fatalf("buffer %d holds a byte of buffer %d", i, b-1)
			}
		}
	}
}

func TestRoundUp(t *testing.T) {
	for _, c := range []struct{ n, alignment, want int }{{0, 512, 0}, {1, 512, 512}, {512, 512, 512}, {513, 512, 1024}, {7, 1, 7}} {
		if got := aligned.RoundUp(c.n, c.alignment); got != c.want {
			t.Errorf("RoundUp(%d, %d) = %d, want %d", c.n, c.alignment, got, c.want)
		}
	}
}

// isAligned says whether memory starts at a multiple of alignment, a power of two.
func isAligned(memory []byte, alignment int) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(memory)))&uintptr(alignment-1) == 0
}
