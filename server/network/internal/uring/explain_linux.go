package uring

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

var errTooOld = errors.New("io_uring: the kernel is older than 5.19")

// explain says why io_uring_setup was refused.
func explain(errno unix.Errno) error {
	err := fmt.Errorf("io_uring_setup: %w", errno)
	switch errno {
	case unix.EPERM:
		disabled, readErr := os.ReadFile("/proc/sys/kernel/io_uring_disabled")
		if value := strings.TrimSpace(string(disabled)); readErr == nil && value != "0" {
			return fmt.Errorf("%w: kernel.io_uring_disabled is %s", err, value)
		}
		return fmt.Errorf("%w: forbidden by a seccomp profile, as containers have by default", err)
	case unix.ENOSYS:
		return fmt.Errorf("%w: the kernel has no io_uring, or a seccomp profile hides it", err)
	case unix.EINVAL:
		return fmt.Errorf("%w: %w", err, errTooOld)
	case unix.ENOMEM:
		var limit unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) == nil {
			return fmt.Errorf("%w: RLIMIT_MEMLOCK is %d KiB (ulimit -l)", err, limit.Cur>>10)
		}
	}
	return err
}
