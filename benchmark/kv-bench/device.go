package main

import (
	"fmt"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/device/file"
	"github.com/pyropedb/pyrope/device/localmemory"
	"github.com/pyropedb/pyrope/device/null"
)

// openDevice opens the device the options name.
func openDevice(o *options, directory string) (device.Device, error) {
	kind, _, err := o.deviceKind()
	if err != nil {
		return nil, err
	}
	d := o.deviceOptions(directory)
	switch kind {
	case device.Null:
		return null.Open(d)
	case device.LocalMemory:
		return localmemory.Open(d)
	case device.RandomAccess, device.FileStream, device.Default:
		return file.Open(d)
	}
	return nil, fmt.Errorf("the %v device is not there", kind)
}
