package numa_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pyropedb/pyrope/benchmark/numa"
)

// system is a machine of files: node number to processors, processor to the threads of its core.
func system(nodes, cores map[string]string) fstest.MapFS {
	files := fstest.MapFS{"node/online": {Data: []byte("0-1\n")}, "node/power/control": {Data: []byte("auto\n")}}
	for number, list := range nodes {
		files["node/node"+number+"/cpulist"] = &fstest.MapFile{Data: []byte(list + "\n")}
	}
	for processor, list := range cores {
		files["cpu/cpu"+processor+"/topology/thread_siblings_list"] = &fstest.MapFile{Data: []byte(list + "\n")}
	}
	return files
}

func all(int) bool { return true }

// twoNodes is the machine of the package comment.
func twoNodes() fstest.MapFS {
	return system(map[string]string{"0": "0-1,4-5", "1": "2,3,6-7"}, map[string]string{
		"0": "0,4", "4": "0,4", "1": "1,5", "5": "1,5", "2": "2,6", "6": "2,6", "3": "3,7", "7": "3,7",
	})
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   fstest.MapFS
		allowed func(int) bool
		first   int
		want    []int
	}{
		{"node 0", twoNodes(), all, 0, []int{0, 1, 4, 5, 2, 3, 6, 7}},
		{"node 1", twoNodes(), all, 1, []int{2, 3, 6, 7, 0, 1, 4, 5}},
		{"first threads forbidden", twoNodes(), func(p int) bool { return p >= 4 }, 0, []int{4, 5, 6, 7}},
		{"a node forbidden", twoNodes(), func(p int) bool { return p != 2 && p != 3 && p != 6 && p != 7 }, 0, []int{0, 1, 4, 5}},
		{"no siblings known", system(map[string]string{"0": "0-1", "1": "2-3"}, nil), all, 1, []int{2, 3, 0, 1}},
		{"a node of memory only", system(map[string]string{"0": "", "1": "0-1", "10": "2"}, nil), all, 10, []int{2, 0, 1}},
	} {
		topology, err := numa.Read(c.files, c.allowed)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if order, err := topology.Order(c.first); err != nil || !slices.Equal(order, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, order, err, c.want)
		}
	}
}

func TestNoSuchNode(t *testing.T) {
	topology, err := numa.Read(twoNodes(), all)
	if err != nil || topology.NodeCount() != 2 {
		t.Fatal(topology.NodeCount(), err)
	}
	if _, err := topology.Order(2); err == nil || !strings.Contains(err.Error(), "NUMA node 2: the nodes with processors are [0 1]") {
		t.Error(err)
	}
	if topology, err := numa.Read(fstest.MapFS{}, all); err != nil || topology.NodeCount() != 0 {
		t.Errorf("a machine without nodes has %d, %v", topology.NodeCount(), err)
	}
}

func TestDamagedLists(t *testing.T) {
	for _, list := range []string{"0-", "3-1", "a", "0,,1", "-1", "0-99999999", "0 1"} {
		if _, err := numa.Read(system(map[string]string{"0": list}, nil), all); err == nil || !strings.Contains(err.Error(), "cannot read a list of processors") {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func FuzzList(f *testing.F) {
	for _, list := range []string{"0-3,8-11", "0", "", "7-7", "1-0"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		topology, err := numa.Read(system(map[string]string{"0": list}, nil), all)
		if err != nil || topology.NodeCount() == 0 {
			return
		}
		order, err := topology.Order(0)
		if err != nil || len(order) == 0 || !slices.IsSorted(order) || len(slices.Compact(slices.Clone(order))) != len(order) {
			t.Errorf("%q: %v, %v", list, order, err)
		}
	})
}

func TestPin(t *testing.T) {
	topology, err := numa.System()
	if err != nil {
		t.Fatal(err)
	}
	if topology.NodeCount() == 0 {
		if runtime.GOOS != "linux" && numa.Pin(0) == nil {
			t.Error("a system without affinity pins")
		}
		return
	}
	order, err := topology.Order(0)
	if err != nil {
		t.Fatal(err)
	}
	pinned := make(chan error)
	go func() { pinned <- numa.Pin(order[len(order)-1]) }()
	if err := <-pinned; err != nil {
		t.Error(err)
	}
	go func() { pinned <- numa.Pin(1023) }()
	if err := <-pinned; err == nil && len(order) < 1024 {
		t.Error("a processor that is not there can be pinned to")
	}
}
