package config

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// MachineMemory is the memory this process may use, in bytes: the machine's, or the limit of one
// of its cgroups where that is less. It is 0 where it is not known.
func MachineMemory() uint64 { return memoryBelow("/") }

// memoryBelow is MachineMemory for a file system that is mounted at root.
func memoryBelow(root string) uint64 {
	memory := memoryTotal(root + "/proc/meminfo")
	for _, file := range memoryLimits(root) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit > 0 && (memory == 0 || limit < memory) {
			memory = limit
		}
	}
	return memory
}

// memoryLimits are the files that may limit this process: those of its cgroup and of every one
// above it, of either version. /proc/self/cgroup has lines as in 0::/a/b and 4:memory:/a/b.
func memoryLimits(root string) []string {
	var files []string
	add := func(mount, group, file string) {
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			files = append(files, root+path.Join(mount, group, file))
			if group == "/" {
				return
			}
		}
	}
	text, _ := os.ReadFile(root + "/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[1] == "":
			add("/sys/fs/cgroup", fields[2], "memory.max")
		case strings.Contains(","+fields[1]+",", ",memory,"):
			add("/sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes")
		}
	}
	return files
}

// memoryTotal reads the MemTotal line of a meminfo file; 0 when there is none.
func memoryTotal(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kilobytes, _ := strconv.ParseUint(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
