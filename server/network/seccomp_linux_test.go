package network_test

import (
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device/devicetest"
	"github.com/pyropedb/pyrope/server/network"
	"golang.org/x/sys/unix"
)

// TestRingsThatAreForbidden runs itself in a process whose seccomp filter answers io_uring's calls with EPERM, as the
// default profiles of containers do: the refusal says so, and what else there is.
func TestRingsThatAreForbidden(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.AnswerCalls(t, unix.EPERM, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
	options := network.Options{Addresses: []string{"127.0.0.1:0"}, Rings: true}
	s, err := network.Listen(newLines(), options)
	if err == nil {
		_ = s.Close()
		t.Fatal("it listens")
	}
	for _, want := range []string{"io_uring", "operation not permitted", "seccomp", "epoll"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	options.Rings = false
	dial(t, listen(t, options)).ask("echo here", "here")
}
