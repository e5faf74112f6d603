// Package open makes a device of a kind: the one place that knows all implementations.
//
//	Default      io_uring, then libaio, then file: the first that works in the directory
//	Native       libaio or io_uring, as Options.Backend says; no other takes its place
//	RandomAccess file
//	FileStream   file
//	LocalMemory  localmemory
//	Null         null
package open

import (
	"errors"
	"fmt"
	"os"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/device/libaio"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/device/null"
	"github.com/pyropedb/pyrope/device/uring"
)

// Device opens a device. Info().Reason of a Default one says what was tried and why it failed.
func Device(kind device.Kind, o device.Options) (device.Device, error) {
	if o.Backend != device.BackendDefault && kind != device.Native && kind != device.Default {
		return nil, fmt.Errorf("device: Backend is %s; with kind %s it must not be given, only Native has backends", o.Backend, kind)
	}
	switch kind {
	case device.Default:
		if o.Backend != device.BackendDefault {
			return openNative(o)
		}
		return openFirst(o, candidates)
	case device.Native:
		return openNative(o)
	case device.RandomAccess, device.FileStream:
		return openFile(o)
	case device.LocalMemory:
		return asDevice(localmemory.Open(o))
	case device.Null:
		return asDevice(null.Open(o))
	}
	return nil, fmt.Errorf("device: kind is %d; it must be one of Default to Null (0 to %d)", kind, device.Null)
}

func openNative(o device.Options) (device.Device, error) {
	if o.Backend == device.Uring {
		return uring.Open(o)
	}
	return libaio.Open(o)
}

// openFile opens the file device in a directory that takes files: the rings prove that with a write, this device would
// notice at the first page that goes out.
func openFile(o device.Options) (device.Device, error) {
	d, err := file.Open(o)
	if err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	probe, err := os.CreateTemp(o.Directory, o.FileName+".probe-*")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the file device: cannot make a file in the device's directory: %w", err), d.Close())
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the file device: %w", err), d.Close())
	}
	return d, nil
}

// asDevice keeps a nil pointer from becoming a device that is not nil.
func asDevice[D device.Device](d D, err error) (device.Device, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// candidate is one choice of Default.
type candidate struct {
	name string
	open func(device.Options) (device.Device, error)
}

var candidates = []candidate{{"io_uring", uring.Open}, {"libaio", libaio.Open}, {"file", openFile}}

// openFirst opens the first candidate that works: the kernel's rings prove themselves with a write
// and a read in the directory when they are opened.
func openFirst(o device.Options, candidates []candidate) (device.Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var failures []error
	for _, c := range candidates {
		d, err := c.open(o)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		return &chosen{Device: d, reason: reasonFor(c.name, d.Info(), failures)}, nil
	}
	return nil, errors.Join(failures...)
}

// askedFor is the reason that devices give for themselves.
const askedFor = "asked for"

func reasonFor(name string, info device.Info, failures []error) string {
	reason := "first choice, works here"
	if name == "file" {
		reason = "works everywhere"
	} else if len(failures) > 0 {
		reason = "second choice, works here"
	}
	if info.Reason != askedFor {
		reason += " (" + info.Reason + ")"
	}
	for _, failure := range failures {
		reason += "; " + failure.Error()
	}
	return reason
}

// chosen is a device with the reason for which Default chose it.
type chosen struct {
	device.Device
	reason string
}

// Info is the device's, with the reason.
func (c *chosen) Info() device.Info {
	info := c.Device.Info()
	info.Reason = c.reason
	return info
}
