package tsavorite_test

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/tsavorite"
	"github.com/pyropedb/pyrope/tsavorite/internal/checkpoint"
)

// haltingFiles are the system's files, of which those of pages stop before a piece is written until they may go on.
type haltingFiles struct {
	checkpoint.System
	writes  int // of pages
	halt    int // at which write they stop
	halted  chan struct{}
	proceed chan struct{}
}

func (f *haltingFiles) Create(path string) (checkpoint.File, error) {
	file, err := f.System.Create(path)
	if err == nil && filepath.Base(path) == checkpoint.Pages.String() {
		return haltingFile{file, f}, nil
	}
	return file, err
}

type haltingFile struct {
	checkpoint.File
	files *haltingFiles
}

func (f haltingFile) Write(b []byte) (int, error) {
	if f.files.writes++; f.files.writes == f.files.halt {
		close(f.files.halted)
		<-f.files.proceed
	}
	return f.File.Write(b)
}

// TestSavedRecordsChangeInPlace halts a checkpoint in memory half-way: what is saved already is changed in place again, what is not is
// copied, and the checkpoint holds what was there at its cut.
func TestSavedRecordsChangeInPlace(t *testing.T) {
	watch(t, 4*time.Minute)
	const keys, length, chunk = 4000, 1000, 1 << 20
	l := newLasting(t, storeCase{"memory", tsavorite.Options{MemoryBytes: 16 << 20, PageBytes: 64 << 10}, ""})
	store := l.open(t)
	session := openSession(t, store)
	upsert := func(n int, with byte) {
		t.Helper()
		session.Enter()
		defer session.Leave()
		if status := session.Upsert(compactKey(n), bytes.Repeat([]byte{with}, length), tsavorite.Metadata{}); status != tsavorite.Found && status != tsavorite.Created {
			t.Fatalf("Upsert: %v", status)
		}
	}
	for n := range keys {
		upsert(n, 'a')
	}
	want := allOf(t, store)
	files := &haltingFiles{halt: 3, halted: make(chan struct{}), proceed: make(chan struct{})} // the header, a chunk, and then
	over := make(chan error, 1)
	go func() {
		_, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory}.WithFiles(files))
		over <- err
	}()
	<-files.halted
	before := store.Info().TailAddress
	for n := range chunk / (length + 100) {
		upsert(n, 'b')
	}
	if after := store.Info().TailAddress; after != before {
		t.Errorf("records that are saved were copied: the tail went from %d to %d", before, after)
	}
	for n := keys / 2; n < keys; n++ {
		upsert(n, 'b')
	}
	if grown := store.Info().TailAddress - before; grown < keys/2*length {
		t.Errorf("records that are not saved yet were changed in place: the tail grew by %d bytes only", grown)
	}
	close(files.proceed)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	session.Close()
	closeStore(t, store)
	store, _ = l.recover(t)
	defer closeStore(t, store)
	wantSameContents(t, allOf(t, store), want)
}

// TestCheckpointKeepsToItsPace takes a checkpoint that would take an hour at its pace, and has it hurry.
func TestCheckpointKeepsToItsPace(t *testing.T) {
	for _, settings := range []storeCase{{"memory", tsavorite.Options{MemoryBytes: 16 << 20, PageBytes: 64 << 10}, ""}, {"file", tsavorite.Options{MemoryBytes: 16 << 20, PageBytes: 16 << 10}, "file"}} {
		t.Run(settings.name, func(t *testing.T) {
			watch(t, 4*time.Minute)
			l := newLasting(t, settings)
			store := l.open(t)
			fillStore(t, store, 1, 1000)
			hurry, over := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := store.Checkpoint(tsavorite.CheckpointOptions{Directory: l.directory, BytesPerSecond: 16, Hurry: hurry})
				over <- err
			}()
			select {
			case err := <-over:
				t.Fatalf("it does not wait: %v", err)
			case <-time.After(200 * time.Millisecond):
			}
			want := allOf(t, store)
			close(hurry)
			if err := <-over; err != nil {
				t.Fatal(err)
			}
			closeStore(t, store)
			store, _ = l.recover(t)
			defer closeStore(t, store)
			wantSameContents(t, allOf(t, store), want)
		})
	}
}
