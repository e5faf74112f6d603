package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachineMemoryIsKnown(t *testing.T) {
	if memory := MachineMemory(); memory < 16<<20 || memory > 1<<50 {
		t.Errorf("this machine has %d bytes of memory", memory)
	}
}

// TestMemoryLimits reads the files of imaginary machines.
func TestMemoryLimits(t *testing.T) {
	const total = "MemTotal:       16777216 kB\nMemFree: 1 kB\n"
	check := func(name string, want uint64, files map[string]string) {
		t.Helper()
		root := t.TempDir()
		for file, text := range files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := memoryBelow(root); got != want {
			t.Errorf("%s: %d bytes; want %d", name, got, want)
		}
	}
	check("nothing is known", 0, nil)
	check("no cgroups", 16<<30, map[string]string{"proc/meminfo": total})
	check("no limit", 16<<30, map[string]string{
		"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"})
	check("a container", 1<<30, map[string]string{
		"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"})
	check("a service", 1<<28, map[string]string{
		"proc/meminfo": total, "proc/self/cgroup": "0::/system.slice/pyrope.service\n",
		"sys/fs/cgroup/system.slice/memory.max":                "268435456\n",
		"sys/fs/cgroup/system.slice/pyrope.service/memory.max": "536870912\n"})
	check("version 1", 1<<29, map[string]string{
		"proc/meminfo": total, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n",
		"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "536870912\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n"})
	check("a limit above the machine", 16<<30, map[string]string{
		"proc/meminfo": total, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "99999999999999\n"})
	check("not what is expected", 0, map[string]string{
		"proc/meminfo": "MemTotal:\n", "proc/self/cgroup": "x\n0::\n", "sys/fs/cgroup/memory.max": "-5"})
}
