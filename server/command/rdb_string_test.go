package command

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestJonesChecksum uses the check value of the polynomial's description.
func TestJonesChecksum(t *testing.T) {
	if got := jonesChecksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("the checksum is %x", got)
	}
	if got := jonesChecksum(nil); got != 0 {
		t.Errorf("the checksum of nothing is %x", got)
	}
}

// dumpSamples are values of every form and around every bound.
func dumpSamples() [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	var samples [][]byte
	for _, n := range []int64{0, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1, 1<<63 - 1, -1 << 63} {
		samples = append(samples, strconv.AppendInt(nil, n, 10))
	}
	for _, text := range []string{"-0", "00", "+1", "1 ", "99999999999", "12345678901"} {
		samples = append(samples, []byte(text))
	}
	for _, length := range []int{1, 2, 3, 20, 21, 22, 23, 24, 31, 32, 33, 63, 64, 65, 263, 264, 265, 8191, 8192, 8193, 16383, 16384, 100_000} {
		noise := make([]byte, length)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		words := make([]byte, 0, length)
		for len(words) < length {
			words = append(words, strconv.Itoa(random.IntN(50))...)
		}
		samples = append(samples, noise, words[:length], bytes.Repeat([]byte{'z'}, length),
			append(bytes.Clone(noise), noise...)) // repetitions at the distance of length
	}
	return samples
}

func TestDumpRoundTrip(t *testing.T) {
	var table lzfTable
	for _, value := range dumpSamples() {
		prefix := []byte("prefix")
		dump := appendDump(prefix, value, &table)
		if !bytes.HasPrefix(dump, prefix) {
			t.Fatalf("the dump of %.40q lost what was before it", value)
		}
		got, problem := parseDump(dump[len(prefix):])
		if problem != "" || !bytes.Equal(got, value) {
			t.Fatalf("the dump of %.40q (%d bytes) is read as %.40q (%d): %s", value, len(value), got, len(got), problem)
		}
		if len(dump)-len(prefix) > 1+9+len(value)+rdbFooterBytes {
			t.Errorf("the dump of %d bytes takes %d", len(value), len(dump))
		}
	}
}

func TestCompressionShrinks(t *testing.T) {
	var table lzfTable
	for _, test := range []struct {
		value []byte
		most  int
	}{
		{bytes.Repeat([]byte{'a'}, 10_000), 10_000*3/264 + 20},
		{bytes.Repeat([]byte("0123456789"), 1000), 10_000*3/264 + 30},
		{[]byte(strings.Repeat("the quick brown fox jumps over the lazy dog and then ", 20)), 140},
	} {
		stream, ok := table.compress(nil, test.value, len(test.value))
		if !ok || len(stream) > test.most {
			t.Errorf("%.20q: %d bytes became %d, at most %d are right", test.value, len(test.value), len(stream), test.most)
		}
	}
}

// TestCompressionGivesUp checks the bound on the stream's length at every value of it.
func TestCompressionGivesUp(t *testing.T) {
	var table lzfTable
	value := []byte(strings.Repeat("abc", 10) + "defghijklmnopqrst" + strings.Repeat("xyz", 30))
	whole, ok := table.compress(nil, value, len(value))
	if !ok {
		t.Fatal("it does not shrink")
	}
	for most := range len(value) {
		dst := []byte("before")
		got, ok := table.compress(dst, value, most)
		if ok != (most >= len(whole)) {
			t.Errorf("with room for %d of %d bytes it says %t", most, len(whole), ok)
		}
		if !ok && string(got) != "before" {
			t.Errorf("after giving up there is %q", got)
		}
	}
}

// TestDamagedDumps cuts and changes dumps at every byte: the checksum notices all of it.
func TestDamagedDumps(t *testing.T) {
	var table lzfTable
	for _, value := range []string{"", "12", "hello", "70000", strings.Repeat("ab", 40)} {
		dump := appendDump(nil, []byte(value), &table)
		for i := range dump {
			if _, problem := parseDump(dump[:i]); problem != errDumpVersion {
				t.Errorf("the first %d bytes of %q: %q", i, dump, problem)
			}
			damaged := bytes.Clone(dump)
			damaged[i] ^= 0x10
			if _, problem := parseDump(damaged); problem != errDumpVersion {
				t.Errorf("%q, a wrong byte at %d: %q", damaged, i, problem)
			}
		}
	}
}

// sealed puts a footer behind the body of a dump.
func sealed(body []byte) []byte {
	dump := append(bytes.Clone(body), rdbVersion, 0)
	return appendUint64(dump, jonesChecksum(dump))
}

func appendUint64(dst []byte, n uint64) []byte {
	for range 8 {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// TestLengthsThatLie has no memory taken for what a dump cannot hold.
func TestLengthsThatLie(t *testing.T) {
	for _, body := range []string{
		"\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x00\x81\x7f\xff\xff\xff\xff\xff\xff\xffabc",
		"\x00\x80\xff\xff\xff\xff",
		"\x00\xc3\x03\x81\x7f\xff\xff\xff\xff\xff\xff\xffabc",
		"\x00\xc3\x03\x80\xff\xff\xff\xffabc",
		"\x00\xc3\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x05abc",
		"\x00\xc3\x81\xff\xff\xff\xff\xff\xff\xff\xff\x81\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		dump := sealed([]byte(body))
		if allocated := testing.AllocsPerRun(1, func() {
			if _, problem := parseDump(dump); problem != errDumpFormat {
				t.Errorf("%q: %q", body, problem)
			}
		}); allocated > 0 {
			t.Errorf("%q: %v allocations", body, allocated)
		}
	}
}

// FuzzParseDump feeds bodies with a right footer, and as they are, to the decoder. What it makes
// of them must survive the way through our own DUMP.
func FuzzParseDump(f *testing.F) {
	var table lzfTable
	for _, value := range dumpSamples() {
		if len(value) > 300 {
			continue
		}
		dump := appendDump(nil, value, &table)
		f.Add(dump)
		f.Add(dump[:len(dump)-rdbFooterBytes])
	}
	f.Add([]byte("\x00\xc3\x02\x00\x20\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, dump := range [][]byte{body, sealed(body)} {
			value, problem := parseDump(dump)
			if problem != "" {
				if problem != errDumpVersion && problem != errDumpFormat {
					t.Fatalf("%q: %q", dump, problem)
				}
				continue
			}
			if len(value) > lzfMostExpansion*len(dump) {
				t.Fatalf("%d bytes became %d", len(dump), len(value))
			}
			again, problem := parseDump(appendDump(nil, value, &table))
			if problem != "" || !bytes.Equal(again, value) {
				t.Fatalf("%q is read as %q, and its dump as %q: %s", dump, value, again, problem)
			}
		}
	})
}
