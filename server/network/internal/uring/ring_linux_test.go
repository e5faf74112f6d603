package uring

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const bufferBytes = 4096

// open makes a small ring, and tells whether the system has rings: if not, the refusal must say why.
func open(t *testing.T) (*Ring, bool) {
	t.Helper()
	r, err := Open(Options{Entries: 8, Completions: 64, Buffers: 4})
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, errTooOld) {
		if !strings.Contains(err.Error(), "seccomp") && !strings.Contains(err.Error(), "io_uring_disabled") && !errors.Is(err, errTooOld) {
			t.Errorf("%v: names no cause", err)
		}
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Fill(bufferBytes)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, true
}

// pair returns both ends of a stream.
func pair(t *testing.T) (ours, theirs int) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(ends[0]), unix.Close(ends[1]) })
	return ends[0], ends[1]
}

// results waits until there are count completions and returns their results by mark.
func (r *Ring) results(t *testing.T, count int) map[uint64]Completion {
	t.Helper()
	var list []Completion
	for end := time.Now().Add(30 * time.Second); len(list) < count; list = r.Reap(list) {
		if time.Now().After(end) {
			t.Fatalf("%d completions, want %d: %+v", len(list), count, list)
		}
		r.Wait(time.Second)
	}
	found := map[uint64]Completion{}
	for _, c := range list {
		found[c.Mark] = c
	}
	if len(list) != count || len(found) != count {
		t.Fatalf("completions %+v, want %d of different marks", list, count)
	}
	return found
}

func write(t *testing.T, descriptor int, text string) {
	t.Helper()
	if n, err := unix.Write(descriptor, []byte(text)); n != len(text) {
		t.Fatalf("wrote %d of %d bytes, %v", n, len(text), err)
	}
}

// TestReceive has more data come than there are buffers, twice.
func TestReceive(t *testing.T) {
	r, ok := open(t)
	if !ok {
		return
	}
	const count = 6
	var theirs [count]int
	for i := range theirs {
		var ours int
		ours, theirs[i] = pair(t)
		r.Receive(ours, uint64(i))
	}
	r.Submit()
	if list := r.Reap(nil); len(list) != 0 || r.Staged() != 0 {
		t.Fatalf("%+v before anything was sent, %d staged", list, r.Staged())
	}
	for i, descriptor := range theirs {
		write(t, descriptor, strings.Repeat(string(rune('a'+i)), 100+i))
	}
	starved, numbers := 0, []uint16{}
	for mark, c := range r.results(t, count) {
		buffer, number, used := r.Buffer(c)
		if c.Result == -int32(unix.ENOBUFS) && !used {
			starved++
			continue
		}
		numbers = append(numbers, number)
		want := strings.Repeat(string(rune('a'+mark)), 100+int(mark))
		if !used || len(buffer) != bufferBytes || string(buffer[:c.Result]) != want {
			t.Errorf("receive %d: %+v %.20q, want %.20q", mark, c, buffer[:max(c.Result, 0)], want)
		}
	}
	slices.Sort(numbers)
	if starved != count-4 || !slices.Equal(numbers, []uint16{0, 1, 2, 3}) {
		t.Errorf("%d receives found no buffer, the others have %v", starved, numbers)
	}
	// What is lent again is used again, in that order, and what is replaced is not written to.
	kept := r.buffers.buffers[2]
	content := bytes.Clone(kept)
	r.Replace(2, make([]byte, bufferBytes))
	r.Recycle(1)
	ours, peer := pair(t)
	for _, want := range []uint16{2, 1} {
		write(t, peer, "again")
		r.Receive(ours, 7)
		c := r.results(t, 1)[7]
		if buffer, number, _ := r.Buffer(c); number != want || string(buffer[:c.Result]) != "again" {
			t.Errorf("buffer %d has %.20q, want %d", number, buffer, want)
		}
	}
	if !bytes.Equal(kept, content) {
		t.Error("a buffer that was replaced has been written to")
	}
	_ = unix.Close(peer)
	r.Recycle(1)
	r.Receive(ours, 8)
	if c := r.results(t, 1)[8]; c.Result != 0 {
		t.Errorf("at the end: %+v", c)
	}
}

// TestSend: a send says nothing when it has sent all, and else how much it has.
func TestSend(t *testing.T) {
	r, ok := open(t)
	if !ok {
		return
	}
	ours, theirs := pair(t)
	text := []byte("hello")
	r.Send(ours, text, 1)
	r.Submit()
	got := make([]byte, 16<<20)
	if n, err := unix.Read(theirs, got); n != len(text) || string(got[:n]) != "hello" {
		t.Errorf("read %q, %v", got[:max(n, 0)], err)
	}
	if list := r.Reap(nil); len(list) != 0 {
		t.Errorf("a send that was carried out says %+v", list)
	}
	large := bytes.Repeat([]byte("0123456789"), len(got)/10)
	r.Send(ours, large, 2)
	r.Send(ours, large, 3)
	r.Submit()
	list := r.Reap(nil) // at once
	if len(list) != 2 || list[0].Mark != 2 || list[1].Mark != 3 || list[1].Result != -int32(unix.EAGAIN) {
		t.Fatalf("two sends of too much: %+v", list)
	}
	if taken := int(list[0].Result); taken <= 0 || taken >= len(large) {
		t.Errorf("%d bytes were taken", taken)
	} else if n, err := unix.Read(theirs, got[:taken]); err != nil || !bytes.HasPrefix(large, got[:n]) {
		t.Errorf("%d bytes came, %v, or others than were sent", n, err)
	}
	_ = unix.Close(theirs)
	r.Send(ours, text, 4)
	if c := r.results(t, 1)[4]; c.Result != -int32(unix.EPIPE) {
		t.Errorf("without a peer: %+v", c)
	}
}

// TestPollAndCancel waits for room, for input and for nothing, and ends what does not end by itself.
func TestPollAndCancel(t *testing.T) {
	r, ok := open(t)
	if !ok {
		return
	}
	ours, theirs := pair(t)
	r.Poll(ours, unix.POLLIN|unix.POLLOUT, 1)
	if c := r.results(t, 1)[1]; c.Result != unix.POLLOUT {
		t.Errorf("a poll for room: %+v", c)
	}
	for mark := uint64(2); mark <= 5; mark++ {
		r.Poll(ours, unix.POLLIN, mark)
	}
	r.Receive(ours, 6)
	begin := time.Now()
	r.Wait(time.Millisecond)
	if list := r.Reap(nil); len(list) != 0 || time.Since(begin) < time.Millisecond {
		t.Errorf("%+v after %v, want nothing after a millisecond", list, time.Since(begin))
	}
	r.Cancel(3, 100)
	if c := r.results(t, 1)[3]; c.Result != -int32(unix.ECANCELED) {
		t.Errorf("a poll that was cancelled: %+v", c)
	}
	r.CancelAll(101)
	for mark, c := range r.results(t, 4) {
		if c.Result != -int32(unix.ECANCELED) || mark == 3 || mark > 6 {
			t.Errorf("an operation that was cancelled with all: %+v", c)
		}
	}
	r.Poll(ours, unix.POLLIN, 7)
	r.Submit()
	write(t, theirs, "x")
	if c := r.results(t, 1)[7]; c.Result != unix.POLLIN {
		t.Errorf("a poll for input: %+v", c)
	}
}

// TestAnyThread: what one thread has staged completes for another, while the first one does something else.
func TestAnyThread(t *testing.T) {
	r, ok := open(t)
	if !ok {
		return
	}
	ours, theirs := pair(t)
	staged, end := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		r.Receive(ours, 1)
		r.Submit()
		close(staged)
		<-end // its thread sleeps; the goroutine and with it the thread end after the completion
	}()
	<-staged
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	write(t, theirs, "hello")
	c := r.results(t, 1)[1]
	if buffer, _, _ := r.Buffer(c); c.Result != 5 || string(buffer[:5]) != "hello" {
		t.Errorf("%+v", c)
	}
	close(end)
	// What a thread has staged that has ended is cancelled at the latest when there is something to receive, which stays.
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		r.Receive(ours, 2)
		r.Submit()
		close(ended)
	}()
	<-ended
	time.Sleep(10 * time.Millisecond) // most likely the thread is gone then; if not, the receive succeeds
	write(t, theirs, "again")
	c = r.results(t, 1)[2]
	if c.Result == -int32(unix.ECANCELED) {
		r.Receive(ours, 3)
		c = r.results(t, 1)[3]
	}
	if buffer, _, used := r.Buffer(c); !used || string(buffer[:c.Result]) != "again" {
		t.Errorf("after the end of a thread: %+v", c)
	}
}
