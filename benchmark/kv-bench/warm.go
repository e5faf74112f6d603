package main

import (
	"fmt"
	"time"

	"github.com/pyropedb/pyrope/benchmark/pass"
	"github.com/pyropedb/pyrope/benchmark/report"
	"github.com/pyropedb/pyrope/device"
)

// warmBytes is a request of the warming pass.
const warmBytes = 1 << 20

// warm reads what the device holds once, from end to end. Disks may keep a cache beneath that
// O_DIRECT does not pass; after this it is in the same state whatever ran before.
func (b *bench) warm(t *target) error {
	info := t.store.Info()
	began := time.Now()
	n, err := pass.Pass{
		Device: t.device, Op: device.OpRead, Begin: info.BeginAddress &^ (warmBytes - 1), End: (info.FlushedUntilAddress + warmBytes - 1) &^ (warmBytes - 1),
		BlockBytes: warmBytes, Interrupted: b.interrupted,
	}.Run()
	if err != nil {
		return fmt.Errorf("cannot warm the device: %w", err)
	}
	seconds := time.Since(began).Seconds()
	b.printf("[warm]   read %s bytes of the device in %s s (%s MB/s)\n", report.N0(n), report.N2(seconds), report.N2(float64(n)/1e6/seconds))
	return nil
}
