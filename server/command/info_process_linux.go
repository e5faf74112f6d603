package command

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// residentBytes is the memory of the process that is in RAM, from /proc/self/statm; 0 if unknown.
func residentBytes() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}

// processorTime is the processor time of the process, in the kernel and outside it.
func processorTime() (system, user time.Duration) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, 0
	}
	return time.Duration(usage.Stime.Nano()), time.Duration(usage.Utime.Nano())
}
