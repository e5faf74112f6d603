package config_test

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server/config"
	"pgregory.net/rapid"
)

func TestParseSize(t *testing.T) {
	good := func(text string, want config.Size) {
		t.Helper()
		if got, err := config.ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	good("0", 0)
	good("512", 512)
	good("512b", 512)
	good("4k", 4096)
	good("4K", 4096)
	good("4kb", 4096)
	good("16MB", 16<<20)
	good(" 1g ", 1<<30)
	good("2T", 2<<40)
	good("8388607t", 8388607<<40)
	good("8388607.99999999999999999999t", 8388607<<40+1<<40-1)
	good("1.5g", 3<<29)
	good("0.5KB", 512)
	good("0.1k", 102)

	bad := func(text string) {
		t.Helper()
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d; want an error", text, got)
		} else if !strings.Contains(err.Error(), "cannot read size") {
			t.Errorf("ParseSize(%q): %v", text, err)
		}
	}
	for _, text := range []string{"", "b", "k", "-1", "+1", "1.5", "1.5b", "1.g", ".5g", "1.5.5g", "1.-5g", "1.1e3k", "16mm", "16x", "1 g", "0x10",
		"8388608t", "99999999999999999999", "1e9"} {
		bad(text)
	}
}

func TestSizeString(t *testing.T) {
	for size, want := range map[config.Size]string{
		0: "0", 1000: "1000", 1024: "1k", 12 << 20: "12m", 1536 << 10: "1536k", 1 << 30: "1g", 1 << 50: "1024t",
	} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d).String() = %q; want %q", uint64(size), got, want)
		}
	}
}

func TestSizeTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := config.Size(rapid.Uint64Range(0, 1<<62).Draw(t, "size"))
		if got, err := config.ParseSize(size.String()); err != nil || got != size {
			t.Fatalf("%d is written %s and read as %d, %v", uint64(size), size, uint64(got), err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"16m", "4kb", "1g", "", "b", "9999999t", "1.5g"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := config.ParseSize(text)
		if err != nil {
			return
		}
		if again, err := config.ParseSize(size.String()); err != nil || again != size {
			t.Errorf("%q is %d, written %s, read as %d, %v", text, uint64(size), size, uint64(again), err)
		}
	})
}
