package open

import (
	"errors"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/devicetest"
	"golang.org/x/sys/unix"
)

// TestContainerThatForbidsIOUring runs itself in a process whose seccomp filter answers io_uring's
// calls with EPERM, as the default profiles of containers do.
func TestContainerThatForbidsIOUring(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.AnswerCalls(t, unix.EPERM, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
	d, err := Device(device.Default, device.Options{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	info := d.Info()
	if info.Kind == "uring" || !strings.Contains(info.Reason, "operation not permitted") || !strings.Contains(info.Reason, "seccomp") {
		t.Errorf("Info is %+v", info)
	}
	roundTrip(t, d)
	if _, err := Device(device.Native, device.Options{Directory: t.TempDir(), Backend: device.Uring}); err == nil || !strings.Contains(err.Error(), "seccomp") {
		t.Errorf("io_uring by name: %v; want an error that names the cause", err)
	}
}

// TestExhaustedBudgetOfContexts runs itself in a process in which io_setup answers as it does when all
// processes together have reserved fs.aio-max-nr requests.
func TestExhaustedBudgetOfContexts(t *testing.T) {
	if !devicetest.InProcess(t, 0) {
		return
	}
	devicetest.AnswerCalls(t, unix.EAGAIN, unix.SYS_IO_SETUP, unix.SYS_IO_URING_SETUP)
	if _, err := Device(device.Native, device.Options{Directory: t.TempDir(), Backend: device.Libaio}); !errors.Is(err, unix.EAGAIN) || !strings.Contains(err.Error(), "fs.aio-max-nr") {
		t.Errorf("libaio by name: %v; want an error that names the limit", err)
	}
	d, err := Device(device.Default, device.Options{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if info := d.Info(); info.Kind != "file" || !strings.Contains(info.Reason, "fs.aio-max-nr") {
		t.Errorf("Info is %+v", info)
	}
	roundTrip(t, d)
}
