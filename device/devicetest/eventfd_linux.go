package devicetest

import (
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"golang.org/x/sys/unix"
)

// testEventFD waits for completions with an edge-triggered epoll set and never with Poll.
func testEventFD(t *testing.T, c Config) {
	f := open(t, c, func(o *device.Options) { o.IOContexts, o.QueueDepth, o.ThrottleLimit = 1, 4, 0 })
	const length = 2 * segmentBytes
	f.fill(length)
	q, other := f.queue(), f.queue()
	defer f.closeQueue(other)
	defer f.closeQueue(q)
	fd := q.EventFD()
	if fd < 0 {
		if c.HasEventFD {
			t.Fatal("EventFD is -1")
		}
		return
	}
	if again := q.EventFD(); again != fd {
		t.Fatalf("EventFD is %d, then %d", fd, again)
	}
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(set) }()
	if err := unix.EpollCtl(set, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | epollEdge, Fd: int32(fd)}); err != nil {
		t.Fatal(err)
	}
	done := make([]*device.Request, 8)
	for round := range 20 {
		requests := f.randomReads(1+3*round, length, uint64(round))
		others := f.randomReads(2, length, 99)
		q.Submit(requests)
		other.Submit(others)
		f.collect(other, len(others), f.checkRead) // may reap for q, which must be told
		for back := 0; back < len(requests); {
			if n := q.Poll(done, false); n > 0 {
				for _, r := range done[:n] {
					f.checkRead(r)
				}
				back += n
				continue
			}
			f.awaitEvent(set)
		}
	}
}

const epollEdge = 1 << 31 // EPOLLET; the constant of package unix does not fit an uint32 field

func (f *fixture) awaitEvent(set int) {
	f.Helper()
	events := make([]unix.EpollEvent, 1)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		n, err := unix.EpollWait(set, events, 1000)
		if n > 0 {
			return
		}
		if err != nil && err != unix.EINTR {
			f.Fatal(err)
		}
	}
	f.Fatal("no event for a completion within ten seconds")
}
