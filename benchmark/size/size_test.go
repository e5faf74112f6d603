package size_test

import (
	"testing"

	"github.com/pyropedb/pyrope/benchmark/size"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "4096": 4096, "1k": 1024, "1KB": 1024, "16m": 16 << 20, "16MB": 16 << 20,
		"1.5g": 3 << 29, "2Gb": 2 << 30, "1t": 1 << 40, "3TB": 3 << 40, "0.5k": 512, "7b": 7,
	} {
		got, err := size.Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "k", "b", "kb", "-1", "1x", "1 k", "1e3", "..", "1kk", "0x10", "inf", "99999999t"} {
		if n, err := size.Parse(text); err == nil {
			t.Errorf("Parse(%q) is %d; want an error", text, n)
		}
	}
}

func TestStringReadsBack(t *testing.T) {
	for n, want := range map[size.Bytes]string{0: "0B", 1000: "1000B", 1024: "1KB", 16 << 20: "16MB", 1 << 30: "1GB", 3 << 40: "3TB", 1<<50 + 1024: "1099511627777KB"} {
		if got := n.String(); got != want {
			t.Errorf("%d is written %q, want %q", uint64(n), got, want)
		}
		var back size.Bytes
		if err := back.UnmarshalText([]byte(n.String())); err != nil || back != n {
			t.Errorf("%q reads back as %d, %v", n.String(), back, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"16m", "1.5GB", "4096", "tb", "9.9.9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := size.Parse(text)
		if err != nil {
			return
		}
		if n >= 1<<53 {
			return // beyond a float's whole numbers the literal is rounded
		}
		back, err := size.Parse(size.Bytes(n).String())
		if err != nil || back != n {
			t.Errorf("%q is %d, written %q, read back %d (%v)", text, n, size.Bytes(n), back, err)
		}
	})
}
