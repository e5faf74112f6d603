//go:build !linux

package config

// MachineMemory is the memory this process may use, in bytes; 0 on systems where it is not known.
func MachineMemory() uint64 { return 0 }
