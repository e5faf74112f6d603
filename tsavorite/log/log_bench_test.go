package log_test

import (
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/tsavorite/log"
)

// openLarge opens a log of the default sizes in a directory.
func openLarge(b testing.TB, directory string, replay func(log.Address, []byte) error) (*log.Log, device.Device) {
	b.Helper()
	d, err := file.Open(device.Options{Directory: directory, FileName: "log"})
	if err != nil {
		b.Fatal(err)
	}
	l, err := log.Open(log.Options{Device: d, Replay: replay})
	if err != nil {
		b.Fatal(err)
	}
	return l, d
}

// BenchmarkAppend appends entries of 100 bytes; the device takes them meanwhile.
func BenchmarkAppend(b *testing.B) {
	l, d := openLarge(b, b.TempDir(), nil)
	header, value := make([]byte, 20), make([]byte, 80)
	b.SetBytes(100)
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := l.TryReserve(100); err != nil {
			b.Fatal(err)
		} else if !ok {
			if err := l.WaitRoom(100); err != nil {
				b.Fatal(err)
			}
			continue
		}
		l.AppendReserved(100, header, value)
	}
	l.Close()
	d.Close()
}

// BenchmarkCommit appends an entry of 100 bytes and makes it durable.
func BenchmarkCommit(b *testing.B) {
	l, d := openLarge(b, b.TempDir(), nil)
	value := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		_, end, err := l.Append(value)
		if err == nil {
			err = l.WaitCommit(end)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	l.Close()
	d.Close()
}

// BenchmarkVerify opens a log of 256 MB.
func BenchmarkVerify(b *testing.B) {
	const size = 256 << 20
	directory := b.TempDir()
	l, d := openLarge(b, directory, nil)
	value := make([]byte, 100)
	for range size / 104 {
		if _, _, err := l.Append(value); err != nil {
			b.Fatal(err)
		}
	}
	l.Close()
	d.Close()
	b.SetBytes(size)
	for b.Loop() {
		entries := 0
		l, d := openLarge(b, directory, func(log.Address, []byte) error {
			entries++
			return nil
		})
		l.Close()
		d.Close()
	}
}
