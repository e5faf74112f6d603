// Package numa pins threads to processors on machines whose memory lies nearer to some processors
// than to others, so that a measurement does not depend on where the scheduler happens to put them.
//
//	node 0                        node 1
//	core 0      core 1            core 2      core 3
//	cpu 0 4     cpu 1 5           cpu 2 6     cpu 3 7       order for node 0: 0 1  4 5  2 3  6 7
package numa

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Topology is the processors of a machine by node, those that this process may run on.
type Topology struct {
	nodes []node
}

// node is one NUMA node.
type node struct {
	number int
	cores  []int // the first processor of each core
	others []int // their further hyperthreads
}

// Read reads the topology from a file system that looks like /sys/devices/system. A machine that
// does not list nodes has none. Processors that are not allowed are left out.
func Read(system fs.FS, allowed func(processor int) bool) (Topology, error) {
	var t Topology
	lists, err := fs.Glob(system, "node/node[0-9]*/cpulist")
	if err != nil {
		return t, fmt.Errorf("cannot list NUMA nodes: %w", err)
	}
	for _, name := range lists {
		number, err := strconv.Atoi(strings.TrimPrefix(path.Base(path.Dir(name)), "node"))
		if err != nil {
			continue // not the directory of a node
		}
		processors, err := readList(system, name)
		if err != nil {
			return t, err
		}
		n := node{number: number}
		for _, processor := range slices.DeleteFunc(processors, func(p int) bool { return !allowed(p) }) {
			if isFirstOfCore(system, processor, allowed) {
				n.cores = append(n.cores, processor)
			} else {
				n.others = append(n.others, processor)
			}
		}
		if len(n.cores) > 0 { // a node may have memory only
			t.nodes = append(t.nodes, n)
		}
	}
	slices.SortFunc(t.nodes, func(a, b node) int { return a.number - b.number })
	return t, nil
}

// isFirstOfCore reports whether no allowed hyperthread of the processor's core comes before it.
func isFirstOfCore(system fs.FS, processor int, allowed func(int) bool) bool {
	siblings, err := readList(system, fmt.Sprintf("cpu/cpu%d/topology/thread_siblings_list", processor))
	if err != nil {
		return true // the system does not say: a core of its own
	}
	first := slices.IndexFunc(siblings, allowed)
	return first < 0 || siblings[first] >= processor
}

// readList reads a file such as "0-3,8-11".
func readList(system fs.FS, name string) ([]int, error) {
	text, err := fs.ReadFile(system, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read a list of processors: %w", err)
	}
	list, err := parseList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("cannot read a list of processors in %s: %w", name, err)
	}
	return list, nil
}

// parseList reads numbers and ranges in ascending order, separated by commas.
func parseList(text string) ([]int, error) {
	var list []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first > last {
			return nil, fmt.Errorf("%q is no range of processors such as 0-3", part)
		}
		for p := first; p <= last; p++ {
			list = append(list, int(p))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// NodeCount is how many nodes have processors for this process.
func (t Topology) NodeCount() int { return len(t.nodes) }

// Order lists all processors in the order workers take them: a node's cores, then its further
// hyperthreads, then the same of the other nodes.
func (t Topology) Order(first int) ([]int, error) {
	at := slices.IndexFunc(t.nodes, func(n node) bool { return n.number == first })
	if at < 0 {
		return nil, fmt.Errorf("cannot pin workers to NUMA node %d: the nodes with processors are %v", first, t.numbers())
	}
	var order []int
	for i := range t.nodes {
		n := t.nodes[(at+i)%len(t.nodes)]
		order = append(append(order, n.cores...), n.others...)
	}
	return order, nil
}

// numbers lists the nodes.
func (t Topology) numbers() []int {
	numbers := make([]int, len(t.nodes))
	for i, n := range t.nodes {
		numbers[i] = n.number
	}
	return numbers
}
