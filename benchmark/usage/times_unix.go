//go:build unix

package usage

import (
	"syscall"
	"time"
)

// processTimes is the CPU time that the process has used, in user and in kernel mode.
func processTimes() (user, system time.Duration) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())
}
