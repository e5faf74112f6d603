//go:build !linux

package eventfd

// New returns -1: only Linux has such descriptors.
func New() int { return -1 }

// Signal is never called with a descriptor here.
func Signal(int) {}

// Close is never called with a descriptor here.
func Close(int) {}
