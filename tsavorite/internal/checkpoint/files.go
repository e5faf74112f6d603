package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// Files is what checkpoints need of a file system; tests have one that fails.
type Files interface {
	Create(path string) (File, error)
	Open(path string) (io.ReadCloser, error)
	// List returns the names in a directory; none when there is no such directory.
	List(directory string) ([]string, error)
	MakeDirectory(path string) error
	SyncDirectory(path string) error
	Rename(from, to string) error
	// Remove removes a file, or a directory with all that it holds.
	Remove(path string) error
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// System is the operating system's file system.
type System struct{}

// Create makes an empty file.
func (System) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

// Open opens a file to be read.
func (System) Open(path string) (io.ReadCloser, error) { return os.Open(path) }

// List returns the names in a directory.
func (System) List(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// MakeDirectory makes a directory and those above it.
func (System) MakeDirectory(path string) error { return os.MkdirAll(path, 0o755) }

// SyncDirectory makes the names in a directory durable. Windows has no such call and needs none.
func (System) SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// Rename renames a file, over another if there is one.
func (System) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file or a directory.
func (System) Remove(path string) error { return os.RemoveAll(path) }

// Paced is a file system in which await is called before each piece of a file is read or written, with its length in bytes: it keeps that to a pace.
func Paced(files Files, await func(bytes int)) Files { return paced{files, await} }

type paced struct {
	Files
	await func(bytes int)
}

func (p paced) Create(path string) (File, error) {
	file, err := p.Files.Create(path)
	if err != nil {
		return nil, err
	}
	return pacedWriter{file, p.await}, nil
}

func (p paced) Open(path string) (io.ReadCloser, error) {
	file, err := p.Files.Open(path)
	if err != nil {
		return nil, err
	}
	return pacedReader{file, p.await}, nil
}

type pacedWriter struct {
	File
	await func(bytes int)
}

func (w pacedWriter) Write(b []byte) (int, error) {
	w.await(len(b))
	return w.File.Write(b)
}

type pacedReader struct {
	io.ReadCloser
	await func(bytes int)
}

func (r pacedReader) Read(b []byte) (int, error) {
	r.await(len(b))
	return r.ReadCloser.Read(b)
}
