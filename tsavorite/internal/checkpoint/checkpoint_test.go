package checkpoint_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
)

const testID = 0x1122334455667788

// written writes payload in pieces and returns the file's bytes.
func written(t testing.TB, path string, payload []byte, kind checkpoint.FileKind) []byte {
	t.Helper()
	w, err := checkpoint.NewWriter(checkpoint.System{}, path, testID, kind)
	if err != nil {
		t.Fatal(err)
	}
	for rest := payload; len(rest) > 0; {
		n := min(len(rest), 1+rand.IntN(300_000))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	size, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || uint64(len(text)) != size {
		t.Fatalf("the file has %d bytes, Finish said %d; %v", len(text), size, err)
	}
	return text
}

// read reads a file that should hold length bytes.
func read(path string, length int, kind checkpoint.FileKind) ([]byte, error) {
	r, err := checkpoint.NewReader(checkpoint.System{}, path, testID, kind)
	if err != nil {
		return nil, err
	}
	b := make([]byte, length)
	if err := r.Read(b[:length/2]); err != nil {
		return nil, err
	}
	if err := r.Read(b[length/2:]); err != nil {
		return nil, err
	}
	return b, r.Finish()
}

func TestFilesOfChunks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	for _, length := range []int{0, 1, 1000, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 77} {
		payload := make([]byte, length)
		for i := range payload {
			payload[i] = byte(rand.Uint32())
		}
		written(t, path, payload, checkpoint.Index)
		got, err := read(path, length, checkpoint.Index)
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("%d bytes came back as %d, %v", length, len(got), err)
		}
		if err := checkpoint.Verify(checkpoint.System{}, path, testID, checkpoint.Index); err != nil {
			t.Errorf("%d bytes do not verify: %v", length, err)
		}
		for what, attempt := range map[string]func() error{
			"as another kind": func() error { _, err := read(path, length, checkpoint.Pages); return err },
			"a byte more":     func() error { _, err := read(path, length+1, checkpoint.Index); return err },
			"of another checkpoint": func() error {
				return checkpoint.Verify(checkpoint.System{}, path, testID+1, checkpoint.Index)
			},
		} {
			if err := attempt(); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("%d bytes read %s: %v", length, what, err)
			}
		}
		if length > 0 {
			if _, err := read(path, length-1, checkpoint.Index); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Errorf("%d bytes read one short: %v", length, err)
			}
		}
	}
}

// FuzzChunks: whatever a file holds, it is what was written or damage, and nothing panics.
func FuzzChunks(f *testing.F) {
	directory := f.TempDir()
	path := filepath.Join(directory, "sums")
	payload := []byte("a payload of no great length")
	whole := written(f, path, payload, checkpoint.Sums)
	f.Add(whole)
	f.Add(whole[:40])
	f.Add(append(bytes.Clone(whole), 0))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "sums")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := read(path, len(payload), checkpoint.Sums)
		switch {
		case err != nil && !errors.Is(err, checkpoint.ErrDamaged):
			t.Errorf("%v", err)
		case err == nil && (!bytes.Equal(got, payload) || !bytes.Equal(text, whole)):
			t.Errorf("%q passes for what was written", text)
		}
	})
}

// TestManifests: they come back as they were, a damaged one does not, and what has none is unfinished.
func TestManifests(t *testing.T) {
	files, directory := checkpoint.System{}, t.TempDir()
	n, err := checkpoint.Begin(files, directory)
	if err != nil || n != 1 {
		t.Fatalf("the first is number %d, %v", n, err)
	}
	m := checkpoint.New(n, testID)
	m.Version, m.PageBytes, m.Begin, m.Scan, m.Cut, m.Tail = 7, 4096, 64, 100, 200, 300
	m.Metadata, m.Dropped = []byte{0, 1, 255}, map[uint32]uint64{3: 99}
	if err := checkpoint.Publish(files, directory, m); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(files, directory, n)
	if err != nil || got.Version != 7 || got.Tail != 300 || !bytes.Equal(got.Metadata, m.Metadata) || got.Dropped[3] != 99 || !got.Created.Equal(m.Created) {
		t.Errorf("%+v came back as %+v, %v", m, got, err)
	}
	second, err := checkpoint.Begin(files, directory)
	if err != nil || second != 2 {
		t.Errorf("the second is number %d, %v", second, err)
	}
	if third, err := checkpoint.Begin(files, directory); err != nil || third != 3 {
		t.Errorf("the third is number %d, %v", third, err)
	}
	published, unfinished, err := checkpoint.List(files, directory)
	if err != nil || len(published) != 1 || len(unfinished) != 1 || unfinished[0] != 3 {
		t.Errorf("there are %v and %v, %v", published, unfinished, err)
	}
	path := filepath.Join(checkpoint.Path(directory, 1), "manifest")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		for _, text := range [][]byte{flipped, whole[:at]} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.Load(files, directory, 1); !errors.Is(err, checkpoint.ErrDamaged) {
				t.Fatalf("damage at byte %d: %v", at, err)
			}
		}
	}
	if err := checkpoint.Discard(files, directory, 1); err != nil {
		t.Fatal(err)
	}
	if published, _, err := checkpoint.List(files, directory); err != nil || len(published) != 0 {
		t.Errorf("after Discard there are %v, %v", published, err)
	}
}
