package config_test

import (
	"testing"

	"github.com/pyropedb/pyrope/server/config"
)

func TestMachineMemoryIsKnown(t *testing.T) {
	if memory := config.MachineMemory(); memory < 16<<20 || memory > 1<<50 {
		t.Errorf("this machine has %d bytes of memory", memory)
	}
}
