package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/program"
	"github.com/pyropedb/pyrope/device"
)

// parse reads a command line that must be right.
func parse(t *testing.T, line string) options {
	t.Helper()
	o, err := parseOptions(strings.Fields(line), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return o
}

func TestDefaults(t *testing.T) {
	o := parse(t, "")
	if o.Threads != 1 || o.loadThreads() != 1 || o.Keys != 100_000_000 || o.ValueSize != 100 || o.Mix != (mix{100, 0, 0, 0}) || o.Distribution != "uniform" ||
		o.ZipfTheta != 0.99 || o.RunSeconds != 30 || o.WarmupSecs != 5 || o.Batch != 1024 || o.Seed != 211 || o.Iterations != 1 || o.HashPack != 2 ||
		o.LogMemory != "auto" || o.PageSize != 16<<20 || o.SegmentSize != 1<<30 || o.DeviceName != "default" || o.DataPath != "temp/kv-benchmark" || o.ReadMode != "auto" {
		t.Errorf("defaults are %+v", o)
	}
	if !slices.Equal(o.runThreads(), []int{1}) {
		t.Errorf("threads to run with are %v, want 1", o.runThreads())
	}
}

func TestFlags(t *testing.T) {
	o := parse(t, "-t 4 --load-threads 2 --run-threads-sweep 1,2,4 -n 2000000 -v 64 -b 256 -d zipf --zipf-theta 0.5 --runsec 0.5 --warmup-sec 0 -s 7 -i 3 "+
		"--rumd 50,20,20,10 --hashpack 4 --index-size 64MB --log-memory 1.5g --page-size 4m --segment-size 64m --device localmemory --device-inline-completion "+
		"--device-throttle-limit 512 --device-completion-threads 4 --read-mode single --validate --quiet --warm --json-stdout")
	if o.loadThreads() != 2 || !slices.Equal(o.runThreads(), []int{1, 2, 4}) || o.Mix != (mix{50, 20, 20, 10}) || o.IndexSize != 64<<20 || o.RunSeconds != 0.5 {
		t.Errorf("read as %+v", o)
	}
	d := o.deviceOptions("somewhere")
	if d.Directory != "somewhere" || !d.InlineCompletion || d.ThrottleLimit != 512 || d.CompletionThreads != 4 || d.SegmentSizeBytes != 64<<20 || !d.Fresh {
		t.Errorf("the device is told %+v", d)
	}
}

func TestDeviceNames(t *testing.T) {
	for line, want := range map[string]struct {
		kind    device.Kind
		backend device.Backend
	}{
		"--device default":                             {device.Default, device.BackendDefault},
		"--device default --device-io-backend uring":   {device.Default, device.Uring},
		"--device native":                              {device.Native, device.BackendDefault},
		"--device native --device-io-backend uring":    {device.Native, device.Uring},
		"--device Native --device-io-backend Libaio":   {device.Native, device.Libaio},
		"--device libaio":                              {device.Native, device.Libaio},
		"--device uring --device-io-backend uring":     {device.Native, device.Uring},
		"--device file":                                {device.RandomAccess, device.BackendDefault},
		"--device randomaccess":                        {device.RandomAccess, device.BackendDefault},
		"--device filestream":                          {device.FileStream, device.BackendDefault},
		"--device localmemory --device-io-contexts 2":  {device.LocalMemory, device.BackendDefault},
		"--device null --device-io-backend default -q": {device.Null, device.BackendDefault},
	} {
		o := parse(t, strings.TrimSuffix(line, " -q"))
		kind, backend, err := o.deviceKind()
		if err != nil || kind != want.kind || backend != want.backend {
			t.Errorf("%s: %v with backend %v, %v; want %v with %v", line, kind, backend, err, want.kind, want.backend)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for line, want := range map[string]string{
		"-t 0":                      "--threads is 0; it must be from 1 to 1024",
		"--load-threads -1":         "--load-threads",
		"--run-threads-sweep 1,0":   "--run-threads-sweep is [1 0]",
		"-n -1":                     "--keys",
		"-v 4":                      "--value-size is 4; it must be from 8 to 1048576",
		"-v 2000000":                "--value-size is 2000000",
		"--rumd 50,50":              "--rumd is \"50,50\"; it must be four percentages that add up to 100",
		"--rumd 50,50,1,0":          "add up to 100",
		"--rumd a,b,c,d":            "four percentages such as 50,50,0,0",
		"-d pareto":                 "--distribution",
		"--zipf-theta 1":            "--zipf-theta is 1",
		"--runsec 0":                "--runsec is 0",
		"-b 0":                      "--batch-size is 0",
		"-i 0":                      "--iterations is 0",
		"--hashpack 0":              "--hashpack is 0",
		"--log-memory lots":         "--log-memory: cannot read size \"lots\"",
		"--page-size 3m":            "--page-size is 3m; it must be a power of two",
		"--page-size 4k -v 5000":    "a record of 5000 bytes of value takes 5032 bytes",
		"--segment-size 1m":         "--segment-size is 1m; it must be at least --page-size (16m)",
		"--index-size 3m":           "--index-size is 3m; it must be a power of two",
		"--device floppy":           "--device is \"floppy\"; it must be one of default, native,",
		"--device-io-backend epoll": "--device-io-backend",
		"--device libaio --device-io-backend uring":        "--device-io-backend is Uring; with --device libaio it must be default",
		"--device null --device-io-backend uring":          "with --device null it must be default",
		"--device-throttle-limit 1000000":                  "ThrottleLimit is 1000000",
		"--device-throttle-limit 1 --device-io-contexts 2": "ThrottleLimit is 1; it must be 0 or at least IOContexts (2)",
		"--value-size-max 99":                              "--value-size-max is 99; it must be 0 or from --value-size (100) to 1048576",
		"--page-size 4k --value-size-max 5000":             "a record of 5000 bytes of value takes 5032 bytes",
		"--device-uring-sqpoll":                            "there is no flag --device-uring-sqpoll: there is no kernel thread that polls",
		"--device-uring-sqpoll-idle-ms 5":                  "there is no kernel thread that polls",
		"--max-inline-value-size 16k":                      "values are in the log",
		"--use-native-allocator":                           "always outside the Go heap",
		"--use-legacy-buffer-pool":                         "one kind of buffer",
		"--pool-stats":                                     "belong to sessions",
		"--no-threadpool-tune":                             "there is no thread pool",
		"--preset A,B":                                     "or 2M and one of them",
		"--read-mode psychic":                              "--read-mode",
		"--preset E":                                       "the index is a hash, which keeps no order of keys; A, B, C, D and F can be run",
		"--preset G":                                       "--preset is \"G\"; it must be A, B, C, D or F, or 2M",
		"--rumd 0,0,0,0":                                   "add up to 100",
		"--numa-node=-1":                                   "--numa-node is -1",
		"--report-interval-sec -0.5":                       "--report-interval-sec",
	} {
		if _, err := parseOptions(strings.Fields(line), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
}

func TestPresetOfTwoMillionKeys(t *testing.T) {
	for line, keys := range map[string]uint64{"": 100_000_000, "--preset 2m": 2_000_000, "--preset 2M,A": 2_000_000, "--preset 2M -n 5": 5, "--preset A": 100_000_000} {
		if o := parse(t, line); o.Keys != keys {
			t.Errorf("%q has %d keys, want %d", line, o.Keys, keys)
		}
	}
	if o := parse(t, "--preset 2M,A"); o.Mix != (mix{50, 50, 0, 0}) || o.Distribution != zipf {
		t.Errorf("2M,A is %v, %s", o.Mix, o.Distribution)
	}
}

func TestPresets(t *testing.T) {
	for line, want := range map[string]struct {
		mix          mix
		distribution string
	}{
		"":                            {mix{100, 0, 0, 0}, uniform},
		"--preset A":                  {mix{50, 50, 0, 0}, zipf},
		"--preset b":                  {mix{95, 5, 0, 0}, zipf},
		"--preset C":                  {mix{100, 0, 0, 0}, zipf},
		"--preset D":                  {mix{95, 5, 0, 0}, latest},
		"--preset F":                  {mix{50, 0, 50, 0}, zipf},
		"--preset F -d uniform":       {mix{50, 0, 50, 0}, uniform},
		"--preset D --rumd 90,10,0,0": {mix{90, 10, 0, 0}, latest},
		"-d zipf":                     {mix{100, 0, 0, 0}, zipf},
	} {
		if o := parse(t, line); o.Mix != want.mix || o.Distribution != want.distribution {
			t.Errorf("%s: %v, %s; want %v, %s", line, o.Mix, o.Distribution, want.mix, want.distribution)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := parseOptions([]string{"--help"}, &out); !errors.Is(err, program.ErrHelpShown) {
		t.Fatal(err)
	}
	for _, want := range []string{"-n, --keys=0", "localmemory", "--rumd=R,U,M,D", "--device-throttle-limit=0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q", want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		line              string
		available         uint64
		index, memory     uint64
		recordBytesOfLine int
	}{
		// 2 M keys of 136 bytes: 274 MB in pages, 305 MB with the immutable tenth.
		{"-n 2000000", 0, 32 << 20, 512 << 20, 136},
		{"-n 2000000 --index-size 64m", 0, 64 << 20, 512 << 20, 136},
		{"-n 2000000 --hashpack 1", 0, 64 << 20, 512 << 20, 136},
		{"-n 100", 0, 2048, 64 << 20, 136},
		{"-n 1", 0, 512, 64 << 20, 136},
		{"-n 2000000 --log-memory 48m", 0, 32 << 20, 48 << 20, 136},
		{"-n 2000000 --log-memory 16m", 0, 32 << 20, 16 << 20, 136}, // pages of 4 MiB
		{"-n 2000000", 600 << 20, 32 << 20, 256 << 20, 136},
		{"-n 2000000", 16 << 20, 32 << 20, 64 << 20, 136},
		{"-n 1000 -v 8 --page-size 4k", 0, 16 << 10, 64 << 10, 40},
	} {
		o := parse(t, c.line)
		s, err := o.computeSizes(c.available)
		if err != nil || s.indexBytes != c.index || s.memoryBytes != c.memory || recordBytes(o.ValueSize) != c.recordBytesOfLine {
			t.Errorf("%s with %d available: index %d, memory %d, record %d, %v; want %d, %d, %d",
				c.line, c.available, s.indexBytes, s.memoryBytes, recordBytes(o.ValueSize), err, c.index, c.memory, c.recordBytesOfLine)
		}
	}
	for _, line := range []string{"--log-memory 16m --page-size 16m", "--log-memory 50m --page-size 16m"} {
		if _, err := parseOptions(strings.Fields(line), io.Discard); err == nil || !strings.Contains(err.Error(), "a multiple of --page-size (16m) and at least 48m") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestMemAvailable(t *testing.T) {
	for text, want := range map[string]uint64{
		"MemTotal:       24684544 kB\nMemFree:        1 kB\nMemAvailable:   24305940 kB\n": 24305940 << 10,
		"MemTotal: 1 kB\n": 0, "MemAvailable: many kB\n": 0, "": 0,
	} {
		if got := parseMemAvailable([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
