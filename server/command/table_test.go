package command

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLookupFindsEveryCommandInAnyCase(t *testing.T) {
	if len(Commands()) < 2 {
		t.Fatalf("the table has %d commands", len(Commands()))
	}
	for _, d := range Commands() {
		mixed := []byte(d.Name)
		for i := 0; i < len(mixed); i += 2 {
			upper(mixed[i : i+1])
		}
		for _, name := range []string{d.Name, strings.ToUpper(d.Name), string(mixed)} {
			if found := Lookup([]byte(name)); found != d {
				t.Errorf("Lookup(%q) = %v, want %s", name, found, d.Name)
			}
		}
	}
}

func TestLookupRefusesNeighbours(t *testing.T) {
	for _, d := range Commands() {
		for i := range d.Name {
			for _, replaced := range []byte{0, ' ', '$', '[', '{', 0x7f, 0x80 | d.Name[i], d.Name[i] ^ 0x40, d.Name[i] - 'a' + 1} {
				name := []byte(d.Name)
				name[i] = replaced
				if found := Lookup(name); found != nil {
					t.Errorf("Lookup(%q) found %s", name, found.Name)
				}
			}
		}
		for _, name := range []string{d.Name + "x", d.Name[1:], "x" + d.Name, d.Name + "\x00", d.Name + d.Name + d.Name} {
			if found := Lookup([]byte(name)); found != nil && found.Name != name {
				t.Errorf("Lookup(%q) found %s", name, found.Name)
			}
		}
	}
	if found := Lookup(nil); found != nil {
		t.Errorf("Lookup of nothing found %s", found.Name)
	}
}

func TestUpperWordIsUpper(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		var word, want [8]byte
		binary.LittleEndian.PutUint64(word[:], random.Uint64())
		for i, b := range word {
			if want[i] = b; 'a' <= b && b <= 'z' {
				want[i] -= 0x20
			}
		}
		var got [8]byte
		binary.LittleEndian.PutUint64(got[:], upperWord(binary.LittleEndian.Uint64(word[:])))
		if got != want {
			t.Fatalf("upperWord(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestNameWordsAreUnambiguous(t *testing.T) {
	for length := 1; length <= 8; length++ {
		name := []byte("abcdefgh")[:length]
		first, _ := nameWords(name)
		for i := range name {
			other := bytes.Clone(name)
			other[i] = 'z'
			if changed, _ := nameWords(other); changed == first {
				t.Errorf("%q and %q have the same words", name, other)
			}
		}
	}
}

func TestTableIsConsistent(t *testing.T) {
	for i, d := range AllCommands() {
		if d.Index() != i {
			t.Errorf("%s has index %d at position %d", d.FullName(), d.Index(), i)
		}
		if d.Handler == nil && len(d.Subcommands) == 0 {
			t.Errorf("%s has no handler", d.FullName())
		}
		if d.Arity == 0 || d.Group == "" || d.Since == "" || d.Summary == "" || d.Complexity == "" {
			t.Errorf("%s lacks arity or documentation", d.FullName())
		}
		fast := d.Flags&Fast != 0
		if fast != (d.Categories&InFast != 0) || fast == (d.Categories&InSlow != 0) {
			t.Errorf("%s: flag and categories disagree whether it is fast", d.FullName())
		}
		if d.Flags&Write != 0 != (d.Categories&InWrite != 0) || d.Flags&ReadOnly != 0 != (d.Categories&InRead != 0) {
			t.Errorf("%s: flags and categories disagree on reading and writing", d.FullName())
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	name := []byte("mGeT")
	if allocations := testing.AllocsPerRun(100, func() { Lookup(name) }); allocations != 0 {
		t.Errorf("Lookup allocates %v times", allocations)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, name := range []string{"get", "SET", "mget"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(name)
			for b.Loop() {
				Lookup(text)
			}
		})
	}
}
