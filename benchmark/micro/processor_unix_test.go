//go:build unix

package micro

import "syscall"

// processorSeconds is the processor time that this process has used so far, in user and kernel mode.
func processorSeconds() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
