package main

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// pipedSession is a session with its receiver running, a worker of it, and the server's end.
func pipedSession(t *testing.T, inFlight int) (*session, *sessionWorker, net.Conn) {
	t.Helper()
	client, peer := net.Pipe()
	s := &session{conn: &lightClient{conn: client}}
	ended := make(chan struct{})
	go func() { s.receive(); close(ended) }()
	t.Cleanup(func() { client.Close(); peer.Close(); <-ended })
	return s, &sessionWorker{&onlineWorker{recorder: newRecorder()}, make(chan struct{}, inFlight)}, peer
}

// await returns the next token of the window.
func await(t *testing.T, w *sessionWorker) {
	t.Helper()
	select {
	case <-w.window:
	case <-time.After(10 * time.Second):
		t.Fatal("an operation whose replies have come is not over")
	}
}

func TestSessionReceivesWhileASendIsStuck(t *testing.T) {
	s, w, peer := pipedSession(t, 2)
	sent := make(chan error, 1)
	go func() { sent <- s.send(w, time.Now(), []byte("request"), []int{1, 1}) }()
	if _, err := io.ReadFull(peer, make([]byte, 1)); err != nil { // so the send is under way
		t.Fatal(err)
	}
	if _, err := io.WriteString(peer, "+OK\r\n"); err != nil {
		t.Fatal(err)
	}
	await(t, w)
	if _, err := io.ReadFull(peer, make([]byte, len("equest"))); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(peer, "$-1\r\n"); err != nil {
		t.Fatal(err)
	}
	await(t, w)
	if h, ops, misses := w.recorder.take(); h.TotalCount() != 2 || ops != 2 || misses != 1 {
		t.Errorf("%d samples, %d operations, %d misses, want 2, 2 and 1", h.TotalCount(), ops, misses)
	}
}

func TestSessionWaitsForEveryReplyOfAnOperation(t *testing.T) {
	s, w, peer := pipedSession(t, 2)
	go func() { _, _ = io.ReadFull(peer, make([]byte, 2)) }()
	if err := s.send(w, time.Now(), []byte("ab"), []int{2, 1}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		reply string
		over  int
	}{{"+OK\r\n", 0}, {":1\r", 0}, {"\n:1\r\n", 2}} {
		if _, err := io.WriteString(peer, step.reply); err != nil {
			t.Fatal(err)
		}
		for range step.over {
			await(t, w)
		}
		if len(w.window) != 0 {
			t.Errorf("after %q more is over than has been answered", step.reply)
		}
	}
}

// TestSessionCountsArraysThatComeInPieces: an array is one reply, wherever the stream is cut.
func TestSessionCountsArraysThatComeInPieces(t *testing.T) {
	stream := "+QUEUED\r\n*2\r\n$1\r\na\r\n*3\r\n:1\r\n:2\r\n$-1\r\n:7\r\n*0\r\n"
	for cut := range len(stream) {
		s, w, peer := pipedSession(t, 4)
		go func() { _, _ = io.ReadFull(peer, make([]byte, 4)) }()
		if err := s.send(w, time.Now(), []byte("abcd"), []int{2, 1, 1}); err != nil {
			t.Fatal(err)
		}
		for _, piece := range []string{stream[:cut], stream[cut:]} {
			if _, err := io.WriteString(peer, piece); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			await(t, w)
		}
		s.guard.Lock()
		if s.failed != nil || s.head != len(s.queue) {
			t.Errorf("cut at %d: %v, %d operations are not over", cut, s.failed, len(s.queue)-s.head)
		}
		s.guard.Unlock()
	}
}

func TestSessionEndsWhatItLoses(t *testing.T) {
	for name, end := range map[string]func(peer net.Conn){
		"closed": func(peer net.Conn) { peer.Close() },
		"error":  func(peer net.Conn) { _, _ = io.WriteString(peer, "-ERR no\r\n") },
		"excess": func(peer net.Conn) { _, _ = io.WriteString(peer, strings.Repeat("+OK\r\n", 4)) },
	} {
		s, w, peer := pipedSession(t, 3)
		go func() { _, _ = io.ReadFull(peer, make([]byte, 3)) }()
		if err := s.send(w, time.Now(), []byte("abc"), []int{1, 1, 1}); err != nil {
			t.Fatal(name, err)
		}
		end(peer)
		for range 3 {
			await(t, w)
		}
		deadline := time.Now().Add(10 * time.Second)
		for failed := false; !failed; time.Sleep(time.Millisecond) {
			s.guard.Lock()
			failed = s.failed != nil
			s.guard.Unlock()
			if time.Now().After(deadline) {
				t.Fatal(name, "the session has not failed")
			}
		}
		if err := s.send(w, time.Now(), []byte("d"), []int{1}); err == nil || errors.Is(err, net.ErrClosed) && name != "closed" {
			t.Errorf("%s: sending afterwards gives %v", name, err)
		}
	}
}
