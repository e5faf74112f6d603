package devicetest

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childMarker in the environment names the test that a process was started for.
const childMarker = "PYROPE_TEST_CHILD"

// InProcess runs the calling test once more in a process of its own, in which it may spoil what belongs to the whole
// process. There it returns true; here it returns false when that process has ended, and reports its failure.
// cloneFlags are those of clone(2); where they are not permitted, that is logged and nothing is run.
func InProcess(t *testing.T, cloneFlags uintptr) (child bool) {
	t.Helper()
	if os.Getenv(childMarker) == t.Name() {
		return true
	}
	command := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	command.Env = append(os.Environ(), childMarker+"="+t.Name())
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: cloneFlags}
	output, err := command.CombinedOutput()
	switch {
	case cloneFlags != 0 && errors.Is(err, unix.EPERM):
		t.Logf("namespaces of one's own are forbidden here: %v", err)
	case err != nil || !strings.Contains(string(output), "PASS"):
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// AnswerCalls installs a seccomp filter for all threads of the process: load the call's number; if it is one
// of calls, answer errno; else allow.
func AnswerCalls(t *testing.T, errno unix.Errno, calls ...uint32) {
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

// DropPrivileges takes every capability from the process, among them the one to lock memory beyond its limit.
// A build with cgo, such as the race detector's, cannot; then it says so and returns false.
func DropPrivileges(t *testing.T) bool {
	t.Helper()
	header, none := [2]uint32{unix.LINUX_CAPABILITY_VERSION_3}, [6]uint32{}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	switch errno {
	case 0:
		return true
	case unix.ENOTSUP:
		t.Log("this build has threads that Go does not know: they would keep their privileges")
	default:
		t.Fatal(errno)
	}
	return false
}

// LimitFiles sets RLIMIT_FSIZE, so that writes beyond it say EFBIG.
func LimitFiles(bytes uint64) error {
	signal.Ignore(unix.SIGXFSZ)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY})
}

// LimitLockedMemory sets RLIMIT_MEMLOCK.
func LimitLockedMemory(t *testing.T, bytes uint64) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		t.Fatal(err)
	}
}

// MountSmall mounts a tmpfs of so many bytes ("1m") on directory in the process's own mount namespace (CLONE_NEWNS of
// InProcess), and returns what changes its size; nil where mounting is forbidden.
func MountSmall(t *testing.T, directory, size string) (resize func(size string) error) {
	t.Helper()
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("tmpfs", directory, "tmpfs", 0, "size="+size)
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Logf("mounting is forbidden here: %v", err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	return func(size string) error {
		return unix.Mount("tmpfs", directory, "tmpfs", unix.MS_REMOUNT, "size="+size)
	}
}
