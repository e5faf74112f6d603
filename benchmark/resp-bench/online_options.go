package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkOnline reports the first option that does not go with --online. The texts are those that
// scripts know.
func (o *options) checkOnline() error {
	sum := 0
	for _, percent := range o.Percent {
		sum += percent
	}
	switch {
	case o.SkipLoad && o.Txn:
		//lint:ignore ST1005 the text is part of the interface
		return errors.New("Skipload not supported with --txn")
	case o.SkipLoad:
		//lint:ignore ST1005 the text is part of the interface
		return errors.New("Skipload not supported with --online")
	case o.Op != opGet:
		return errors.New("OpType not supported for online benchmark (defaults to get/set)")
	case o.Verify:
		return errors.New("--verify is not supported with --online, which loads nothing")
	case o.Runtime == 0:
		return errors.New("--runtime must be -1 or at least 1 second with --online (got 0)")
	case o.InFlight < 1 || o.InFlight > 1<<16:
		return fmt.Errorf("--itp must be from 1 to %d (got %d)", 1<<16, o.InFlight)
	case o.Burst:
		return errors.New("--burst is for offline runs: online --itp says how many operations are in flight")
	case o.Sync && o.InFlight != 1:
		return fmt.Errorf("--sync waits for each reply: --itp must be 1 (got %d)", o.InFlight)
	case o.Rate < 0:
		return fmt.Errorf("--rate must be 0 or a number of operations a second (got %d)", o.Rate)
	case len(o.Percent) != len(o.Workload) || len(o.Percent) == 0:
		return fmt.Errorf("--op-workload and --op-percent must be lists of equal length (got %d and %d)", len(o.Workload), len(o.Percent))
	case sum != 100 || slices.Min(o.Percent) < 0:
		return fmt.Errorf("opPercent must sum to 100, distribution: %s", joinNumbers(o.Percent))
	case o.Pool && (o.Client == lightClientType || o.Client == inProcType):
		//lint:ignore ST1005 the text is part of the interface
		return fmt.Errorf("Pooling of %s is not supported", o.Client)
	case o.Pool && o.ClientHist:
		//lint:ignore ST1005 the text, its spelling included, is part of the interface
		return errors.New("Client hisogram and pool are not supported at the same time.")
	}
	for _, op := range o.Workload {
		switch {
		case o.Txn && !isTransaction(op) || !o.Txn && !isOnline(op):
			//lint:ignore ST1005 the text, its punctuation included, is part of the interface
			return fmt.Errorf("opType: %s benchmark not supported with %s ClientType!", op, o.Client)
		case op == opSetEx && o.TTL <= 0:
			//lint:ignore ST1005 the text, its full stop included, is part of the interface
			return errors.New("TTL must be positive for SETEX operations.")
		}
	}
	return nil
}

// checkOffline reports the first option that needs --online.
func (o *options) checkOffline() error {
	session := o.Client == sessionType
	switch {
	case o.InFlight != 1 && !session:
		return fmt.Errorf("--itp needs --online or --client PipelinedSession (got %d)", o.InFlight)
	case o.InFlight < 1 || o.InFlight > burstBatches:
		return fmt.Errorf("--itp must be from 1 to %d (got %d)", burstBatches, o.InFlight)
	case o.Burst && (!session || o.InFlight != 1):
		return errors.New("--burst needs --client PipelinedSession, and no --itp")
	case o.Verify && session:
		return errors.New("--verify is not supported with --client PipelinedSession, which does not look at values")
	case o.Sync:
		return errors.New("--sync needs --online")
	case o.Rate != 0:
		return fmt.Errorf("--rate needs --online (got %d)", o.Rate)
	case !isOffline(o.Op):
		//lint:ignore ST1005 the text, its punctuation included, is part of the interface
		return fmt.Errorf("opType: %s benchmark not supported with %s!", o.Op, o.Client)
	case o.Pool || o.ClientHist:
		return errors.New("--pool and --client-hist need --online")
	}
	return nil
}

// benchmarkType names the mode.
func (o *options) benchmarkType() string {
	if o.Txn {
		return "Transactional"
	}
	if o.Online {
		return "Online"
	}
	return "Offline"
}

// forceOneMessage replaces batch sizes that have no meaning online.
func (b *bench) forceOneMessage() {
	if !slices.Equal(b.options.Batch, []int{1}) {
		b.printf("Batch size parameter should be one entry of size 1, for the online benchmark, setting to [ 1 ]. Use --itp to control batch size instead.\n")
		b.options.Batch = []int{1}
	}
	b.options.Threads = b.options.Threads[:1]
}

// printOnlineConfig writes the options that only online runs have.
func (b *bench) printOnlineConfig() {
	o := &b.options
	b.printf("Pool: %t\nOpWorkload: %s\nOpPercent: %s\nTtl: %d\n", o.Pool, o.workloadNames(), joinNumbers(o.Percent), o.TTL)
	b.printf("Sorted set cardinality: %d\nIntra thread parallelism: %d\nSyncMode: %t\nClientHistogram: %t\nRate: %d\n", o.Sets, o.InFlight, o.Sync, o.ClientHist, o.Rate)
}

// workloadNames lists the operations of the mix.
func (o *options) workloadNames() string {
	names := make([]string, len(o.Workload))
	for i, op := range o.Workload {
		names[i] = op.String()
	}
	return strings.Join(names, ",")
}
