package open

import (
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
	forbidIOUring(t)
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

// forbidIOUring installs the filter for all threads of the process: load the call's number; if it
// is one of io_uring's three, answer EPERM; else allow.
func forbidIOUring(t *testing.T) {
	t.Helper()
	const (
		load, jumpIfEqual, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		setModeFilter, allTasks = 1, 1
		answerErrno, allow      = 0x00050000, 0x7fff0000
	)
	filter := []unix.SockFilter{
		{Code: load, K: 0},
		{Code: jumpIfEqual, K: unix.SYS_IO_URING_SETUP, Jt: 3},
		{Code: jumpIfEqual, K: unix.SYS_IO_URING_ENTER, Jt: 2},
		{Code: jumpIfEqual, K: unix.SYS_IO_URING_REGISTER, Jt: 1},
		{Code: give, K: allow},
		{Code: give, K: answerErrno | uint32(unix.EPERM)},
	}
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
