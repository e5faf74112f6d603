package open

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/pyropedb/pyrope/device"
	"golang.org/x/sys/unix"
)

// TestContainerThatForbidsIOUring runs itself in a process whose seccomp filter answers io_uring's
// calls with EPERM, as the default profiles of containers do.
func TestContainerThatForbidsIOUring(t *testing.T) {
	const marker = "PYROPE_FORBID_IO_URING"
	if os.Getenv(marker) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestContainerThatForbidsIOUring$")
		command.Env = append(os.Environ(), marker+"=1")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	answerCalls(t, unix.EPERM, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
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
	const marker = "PYROPE_EXHAUST_CONTEXTS"
	if os.Getenv(marker) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestExhaustedBudgetOfContexts$")
		command.Env = append(os.Environ(), marker+"=1")
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	answerCalls(t, unix.EAGAIN, unix.SYS_IO_SETUP, unix.SYS_IO_URING_SETUP)
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

// answerCalls installs a filter for all threads of the process: load the call's number; if it is one
// of calls, answer errno; else allow.
func answerCalls(t *testing.T, errno unix.Errno, calls ...uint32) {
	t.Helper()
	const (
		load, jumpIfEqual, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		setModeFilter, allTasks = 1, 1
		answerErrno, allow      = 0x00050000, 0x7fff0000
	)
	filter := []unix.SockFilter{{Code: load, K: 0}}
	for i, call := range calls {
		filter = append(filter, unix.SockFilter{Code: jumpIfEqual, K: call, Jt: uint8(len(calls) - i)})
	}
	filter = append(filter, unix.SockFilter{Code: give, K: allow}, unix.SockFilter{Code: give, K: answerErrno | uint32(errno)})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, allTasks, uintptr(unsafe.Pointer(&program))); errno != 0 {
		t.Fatal(errno)
	}
}
