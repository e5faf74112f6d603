package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/open"
	"github.com/pyropedb/pyrope/tsavorite"
)

// deviceChoice is one value of --device.
type deviceChoice struct {
	name    string
	kind    device.Kind
	backend device.Backend
	files   bool // it keeps files, so it needs a directory
}

// deviceChoices lists the devices in the order the help shows them.
var deviceChoices = []deviceChoice{
	{"default", device.Default, device.BackendDefault, true},
	{"native", device.Native, device.BackendDefault, true},
	{"libaio", device.Native, device.Libaio, true},
	{"uring", device.Native, device.Uring, true},
	{"file", device.RandomAccess, device.BackendDefault, true},
	{"randomaccess", device.RandomAccess, device.BackendDefault, true},
	{"filestream", device.FileStream, device.BackendDefault, true},
	{"localmemory", device.LocalMemory, device.BackendDefault, false},
	{"null", device.Null, device.BackendDefault, false},
}

// deviceNames lists the values of --device.
func deviceNames() []string {
	names := make([]string, len(deviceChoices))
	for i, choice := range deviceChoices {
		names[i] = choice.name
	}
	return names
}

// deviceChoice finds the value of --device.
func (o *options) deviceChoice() (deviceChoice, error) {
	for _, choice := range deviceChoices {
		if strings.EqualFold(o.DeviceName, choice.name) {
			return choice, nil
		}
	}
	return deviceChoice{}, fmt.Errorf("--device is %q; it must be one of %s", o.DeviceName, strings.Join(deviceNames(), ", "))
}

// deviceKind says what --device and --device-io-backend mean together.
func (o *options) deviceKind() (device.Kind, device.Backend, error) {
	choice, err := o.deviceChoice()
	if err != nil {
		return 0, 0, err
	}
	asked := o.IOBackend
	hasBackends := choice.kind == device.Native || choice.kind == device.Default
	switch {
	case asked == device.BackendDefault:
		return choice.kind, choice.backend, nil
	case !hasBackends || choice.backend != device.BackendDefault && choice.backend != asked:
		return 0, 0, fmt.Errorf("--device-io-backend is %v; with --device %s it must be default", asked, o.DeviceName)
	}
	return choice.kind, asked, nil
}

// target is the store under test, with what it stands on.
type target struct {
	store     *tsavorite.Store
	device    device.Device
	directory string // of this run; "" when the device keeps no files
	sizes     sizes
	first     uint64 // where the log began: what lies between it and the head has left memory
}

// openTarget makes the run directory, the device and the store.
func openTarget(o *options) (*target, error) {
	s, err := o.computeSizes(availableMemory())
	if err != nil {
		return nil, err
	}
	choice, err := o.deviceChoice()
	if err != nil {
		return nil, err
	}
	t := &target{sizes: s}
	if choice.files {
		if t.directory, err = makeRunDirectory(o.DataPath); err != nil {
			return nil, err
		}
	}
	kind, _, err := o.deviceKind()
	if err == nil {
		t.device, err = open.Device(kind, o.deviceOptions(t.directory))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the device: %w", err), t.close())
	}
	t.store, err = tsavorite.Open(tsavorite.Options{
		Device: t.device, IndexBytes: s.indexBytes, IndexMaxBytes: s.indexBytes,
		MemoryBytes: s.memoryBytes, PageBytes: uint64(o.PageSize), MutablePercent: mutablePercent,
		CopyReadsToTail: o.CopyReads, Preallocate: o.Preallocate,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the store: %w", err), t.close())
	}
	t.first = t.store.Info().HeadAddress
	return t, nil
}

// close closes what is open and removes the run directory.
func (t *target) close() error {
	var failures []error
	if t.store != nil {
		failures = append(failures, t.store.Close())
	}
	if t.device != nil {
		failures = append(failures, t.device.Close())
	}
	if t.directory != "" {
		failures = append(failures, os.RemoveAll(t.directory))
	}
	return errors.Join(failures...)
}

// hasLeftMemory reports whether part of the log has left memory for the device. It waits until the log has come to
// rest: what was loaded last may still be on its way.
func (t *target) hasLeftMemory() bool {
	before := t.store.Info()
	for {
		time.Sleep(restInterval)
		now := t.store.Info()
		if now.HeadAddress == before.HeadAddress && now.FlushedUntilAddress == before.FlushedUntilAddress {
			return now.HeadAddress > t.first
		}
		before = now
	}
}

// restInterval is how long the log must not have moved to be at rest.
const restInterval = 20 * time.Millisecond

// keepsNothing reports whether what leaves memory is lost.
func (t *target) keepsNothing() bool { return t.device.Info().Kind == "null" }
