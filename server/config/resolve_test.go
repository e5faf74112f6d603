package config_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server/config"
)

const gigabyte = 1 << 30

func TestDefaults(t *testing.T) {
	got, notes, err := config.Resolve(config.Options{}, 64*gigabyte)
	if err != nil || len(notes) != 0 {
		t.Fatalf("notes %q, error %v", notes, err)
	}
	backend := config.BackendNet
	if runtime.GOOS == "linux" {
		backend = config.BackendEpoll
	}
	want := config.Options{
		ProtectedMode: config.On, ScatterGather: config.On, NetworkBackend: backend,
		Memory: 16 << 30, Page: 16 << 20, Index: 4 << 20, MutablePercent: 90, MaxDeadPercent: 50, CompactionKind: config.CompactionLookUp,
		Policy: config.NoEviction, MaxDatabases: 16, MaxClients: 10000,
		StorageTier: config.Off, Segment: 1 << 30, CopyReads: config.Off,
		LatencyTracking: config.On, ExpireEffort: 1, EnableDebug: config.DebugNo,
		LoggerLevel: config.Information, LoggerFormat: config.LogText,
		ShutdownTimeout: 5, TCPKeepAlive: config.Given(300), QueryBufferLimit: 1 << 30, MaxBulk: 512 << 20,
		OutputLimits: config.OutputLimits{
			Normal:  config.OutputLimit{Given: true},
			Replica: config.OutputLimit{Hard: 256 << 20, Soft: 64 << 20, SoftSeconds: 60, Given: true},
			PubSub:  config.OutputLimit{Hard: 32 << 20, Soft: 8 << 20, SoftSeconds: 60, Given: true},
		},
		TLS: config.Off, AuthClients: config.AuthYes, Protocols: "TLSv1.2 TLSv1.3", SessionCaching: config.On,
		CertRefresh: config.Given(10),
		AppendOnly:  config.Off, CheckpointDir: ".", Recover: config.On, RecoverVerify: config.Off, RecoverVerifyRate: config.Given(64), CheckpointRate: config.Given(256), KeepCheckpoints: 1, StopWrites: config.On, CommitFrequency: config.CommitEverySecond, CommitMemory: 32 << 20, CommitPage: 1 << 20,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestResolveIsIdempotent(t *testing.T) {
	for _, o := range []config.Options{
		{}, {Memory: 17 << 20}, {Memory: 100 << 20, Page: 3 << 20 / 3, StorageTier: config.On}, {Index: 5 << 20, IndexMax: 9 << 20},
	} {
		once, _, err := config.Resolve(o, 8*gigabyte)
		if err != nil {
			t.Fatal(err)
		}
		twice, notes, err := config.Resolve(once, 8*gigabyte)
		if err != nil || twice != once || len(notes) != 0 {
			t.Errorf("%+v resolved again: notes %q, error %v\n%s", o, notes, err, cmp.Diff(once, twice))
		}
	}
}

func TestDefaultsThatDependOnEachOther(t *testing.T) {
	check := func(name string, o config.Options, machine uint64, wantNote string, right func(config.Options) bool) {
		t.Helper()
		got, notes, err := config.Resolve(o, machine)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if !right(got) {
			t.Errorf("%s: got %+v", name, got)
		}
		if joined := strings.Join(notes, "; "); !strings.Contains(joined, wantNote) || wantNote == "" && joined != "" {
			t.Errorf("%s: notes %q; want %q", name, joined, wantNote)
		}
	}
	check("small machine", config.Options{}, 10*gigabyte, "70% of this machine's 10g", func(o config.Options) bool {
		return o.Memory > 6*gigabyte && o.Memory <= 7*gigabyte
	})
	check("unknown machine", config.Options{}, 0, "", func(o config.Options) bool { return o.Memory == 16*gigabyte })
	check("more than the machine has", config.Options{Memory: 10 * gigabyte}, 8*gigabyte,
		"--memory 10g is more than 70% of this machine's 8g", func(o config.Options) bool { return o.Memory == 10*gigabyte })
	check("page follows memory", config.Options{Memory: 64 << 20}, 0, "--page is 4m instead of 16m, to fit --memory 64m",
		func(o config.Options) bool { return o.Page == 4<<20 })
	check("page given", config.Options{Memory: 48 << 20, Page: 16 << 20}, 0, "",
		func(o config.Options) bool { return o.Page == 16<<20 && o.Memory == 48<<20 })
	check("smallest memory", config.Options{Memory: 12 << 10}, 0, "--page is 4k", func(o config.Options) bool { return o.Page == 4<<10 })
	check("memory is no multiple of the page", config.Options{Memory: 50 << 20, Page: 16 << 20}, 0, "",
		func(o config.Options) bool { return o.Memory == 50<<20 })
	check("index rounds down", config.Options{Index: 5 << 20}, 0, "--index 5m is rounded down to 4m",
		func(o config.Options) bool { return o.Index == 4<<20 })
	check("bound of the index rounds down", config.Options{IndexMax: 5 << 30}, 0, "--index-max-size 5g is rounded down to 4g",
		func(o config.Options) bool { return o.IndexMax == 4<<30 && o.Index == 4<<20 })
	check("small bound of the index", config.Options{IndexMax: 64 << 10}, 0, "",
		func(o config.Options) bool { return o.Index == 64<<10 })
	check("tier without directory", config.Options{StorageTier: config.On}, 0, "",
		func(o config.Options) bool { return o.LogDir == "." })
	check("backend without a kind", config.Options{StorageTier: config.On, DeviceBackend: device.Uring}, 0, "",
		func(o config.Options) bool { return o.DeviceType == device.Native })
	check("policy with a tier", config.Options{StorageTier: config.On, Policy: config.AllKeysLRU}, 0,
		"--maxmemory-policy allkeys-lru is ignored", func(o config.Options) bool { return true })
	check("policy of deadlines with a tier", config.Options{StorageTier: config.On, Policy: config.VolatileTTL, MaxDisk: 1 << 30}, 0,
		"--maxmemory-policy volatile-ttl is ignored", func(o config.Options) bool { return true })
	check("policy with a bounded tier", config.Options{StorageTier: config.On, Policy: config.AllKeysLRU, MaxDisk: 1 << 30}, 0, "",
		func(o config.Options) bool { return true })
	check("device without a tier", config.Options{DeviceType: device.Native}, 0,
		"--device-type Native is ignored without --storage-tier", func(o config.Options) bool { return true })
	check("loops without loops", config.Options{NetworkBackend: config.BackendNet, NetworkThreads: 2}, 0,
		"--network-threads 2 is ignored: --network-backend net has no event loops", func(o config.Options) bool { return o.NetworkThreads == 0 })
}

// TestRefusals has a line for each range and each pair of options that may not fit.
func TestRefusals(t *testing.T) {
	on := config.On
	refused := func(o config.Options, want string) {
		t.Helper()
		_, _, err := config.Resolve(o, 0)
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	refused(config.Options{Memory: 8 << 20, Page: 4 << 20}, "--memory 8m is too small for --page 4m: at least 12m (3 pages)")
	refused(config.Options{Memory: 8 << 10}, "--memory 8k is too small for --page 4k: at least 12k (3 pages)")
	refused(config.Options{Memory: 1}, "--memory 1 is too small for --page 4k: at least 12k (3 pages)")
	refused(config.Options{Page: 16 << 20, Segment: 8 << 20}, "--segment 8m is too small for --page 16m: at least 16m")
	refused(config.Options{Segment: 8 << 20}, "--segment 8m is too small for --page 16m: at least 16m")
	refused(config.Options{Index: 4 << 20, IndexMax: 1 << 20}, "--index-max-size 1m is too small for --index 4m: at least 4m")
	refused(config.Options{Page: 2 << 10}, "--page 2k is too small: at least 4k")
	refused(config.Options{Page: 256 << 20}, "--page 256m is too large: at most 128m")
	refused(config.Options{Page: 5 << 20}, "--page 5m is not a power of two: 4m or 8m")
	refused(config.Options{Segment: 100 << 20}, "--segment 100m is not a power of two: 64m or 128m")
	refused(config.Options{Segment: 2 << 40}, "--segment 2t is too large: at most 1t")
	refused(config.Options{Index: 300}, "--index 256 is too small: at least 512")
	refused(config.Options{Index: 1 << 38}, "--index 256g is too large: at most 128g")
	refused(config.Options{Port: -1}, "--port -1 is out of range: 0 to 65535")
	refused(config.Options{Port: 65536}, "--port 65536 is out of range: 0 to 65535")
	refused(config.Options{NetworkThreads: 1025}, "--network-threads 1025 is out of range: 0 to 1024")
	refused(config.Options{NetworkBackend: "kqueue"}, "--network-backend: cannot read network backend \"kqueue\": it must be epoll, uring or net")
	refused(config.Options{MutablePercent: 100}, "--mutable-percent 100 is out of range: 1 to 99")
	refused(config.Options{MutablePercent: -5}, "--mutable-percent -5 is out of range: 1 to 99")
	refused(config.Options{MaxDatabases: 257}, "--max-databases 257 is out of range: 1 to 256")
	refused(config.Options{DeviceCompletionThreads: 65}, "--device-completion-threads 65 is out of range: 0 to 64")
	refused(config.Options{DeviceContexts: 4097}, "--device-io-contexts 4097 is out of range: 0 to 4096")
	refused(config.Options{DeviceQueueDepth: 40000}, "--device-queue-depth 40000 is out of range: 0 to 32768")
	refused(config.Options{DeviceThrottle: 70000}, "--device-throttle-limit 70000 is out of range: 0 to 65536")
	refused(config.Options{DeviceThrottle: 100, DeviceContexts: 4, DeviceQueueDepth: 16},
		"--device-throttle-limit 100 is too large for --device-io-contexts 4 × --device-queue-depth 16: at most 64")
	refused(config.Options{DeviceThrottle: 3, DeviceContexts: 4},
		"--device-throttle-limit 3 is too small for --device-io-contexts 4: at least 4")
	refused(config.Options{MaxClients: -1}, "--network-connection-limit -1 is out of range: 1 to 1000000")
	refused(config.Options{LogDir: "/data"}, "--logdir /data needs --storage-tier")
	refused(config.Options{QueryBufferLimit: 1000}, "--client-query-buffer-limit 1000 is too small: at least 1m")
	refused(config.Options{MaxBulk: 64 << 10}, "--proto-max-bulk-len 64k is too small: at least 1m")
	refused(config.Options{Timeout: -1}, "--timeout -1 is out of range: 0 to 2147483647")
	refused(config.Options{TCPBacklog: 70000}, "--tcp-backlog 70000 is out of range: 0 to 65535")
	refused(config.Options{TCPKeepAlive: config.Given(-1)}, "--tcp-keepalive -1 is out of range: 0 to 2147483647")
	refused(config.Options{CertRefresh: config.Given(-5)}, "--cert-refresh-freq -5 is out of range: 0 to 2147483647")
	refused(config.Options{TLSPort: 65536, CertFile: "c", AuthClients: config.AuthNo}, "--tls-port 65536 is out of range: 0 to 65535")
	refused(config.Options{TLS: on, AuthClients: config.AuthNo}, "--tls needs --tls-cert-file")
	refused(config.Options{TLSPort: 7, AuthClients: config.AuthNo}, "--tls-port 7 needs --tls-cert-file")
	refused(config.Options{TLS: on, CertFile: "c"},
		"--tls with --tls-auth-clients yes needs --tls-ca-cert-file or --tls-ca-cert-dir; --tls-auth-clients no asks clients for no certificate")
	refused(config.Options{TLSPort: 7, CertFile: "c", AuthClients: config.AuthOptional},
		"--tls-port 7 with --tls-auth-clients optional needs --tls-ca-cert-file or --tls-ca-cert-dir; --tls-auth-clients no asks clients for no certificate")
	refused(config.Options{TLSPort: 7, Port: 7, CertFile: "c", CAFile: "a"}, "--tls-port 7 is --port too: give --port 0 for TLS alone")
	refused(config.Options{Protocols: "TLSv1.1 TLSv1.3"},
		`--tls-protocols: cannot read protocols "TLSv1.1 TLSv1.3": a version between them is left out`)
	refused(config.Options{AuthClients: "YES"}, `--tls-auth-clients is "YES"; it must be written "yes"`)
	refused(config.Options{StorageTier: on, DeviceType: device.Null, DeviceBackend: device.Uring},
		"--device-io-backend Uring does not go with --device-type Null: it needs Native")
	refused(config.Options{Policy: "volatile"},
		`--maxmemory-policy: cannot read policy "volatile": it must be noeviction, allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu, volatile-random or volatile-ttl`)
	refused(config.Options{LoggerLevel: "debug"}, `--logger-level is "debug"; it must be written "Debug"`)
	refused(config.Options{Port: 65536, MaxDatabases: 300},
		"--port 65536 is out of range: 0 to 65535\n--max-databases 300 is out of range: 1 to 256")
}

// TestSizePairs walks every pair of sizes that depend on one another and asks that exactly the
// pairs that fit are taken, and that a refusal names both options.
func TestSizePairs(t *testing.T) {
	sizes := []config.Size{4 << 10, 8 << 10, 12 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 128 << 20, 1 << 30}
	isPowerOfTwo := func(s config.Size) bool { return s&(s-1) == 0 }
	pair := func(o config.Options, fits bool, first, second string) {
		t.Helper()
		_, _, err := config.Resolve(o, 0)
		if (err == nil) != fits {
			t.Errorf("%s %s: error %v, fits %v", first, second, err, fits)
		}
		if err != nil && (!strings.Contains(err.Error(), first+" is too small for "+second) || !strings.Contains(err.Error(), "at least")) {
			t.Errorf("%s %s: %v", first, second, err)
		}
	}
	for _, a := range sizes {
		for _, b := range sizes {
			if !isPowerOfTwo(b) {
				continue
			}
			if b <= 128<<20 {
				pair(config.Options{Memory: a, Page: b}, a >= 3*b, fmt.Sprintf("--memory %s", a), fmt.Sprintf("--page %s", b))
			}
			if b <= 128<<20 && isPowerOfTwo(a) {
				pair(config.Options{Segment: a, Page: b, Memory: 1 << 30}, a >= b, fmt.Sprintf("--segment %s", a), fmt.Sprintf("--page %s", b))
			}
			if isPowerOfTwo(a) {
				pair(config.Options{IndexMax: a, Index: b}, a >= b, fmt.Sprintf("--index-max-size %s", a), fmt.Sprintf("--index %s", b))
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	check := func(o config.Options, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, o.Addresses()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", o, diff)
		}
	}
	check(config.Options{}, "127.0.0.1:0")
	check(config.Options{Port: 6379}, "127.0.0.1:6379")
	check(config.Options{Port: 6379, ProtectedMode: config.Off}, ":6379")
	check(config.Options{Port: 1, Bind: "127.0.0.1 -::1"}, "127.0.0.1:1", "-[::1]:1")
	check(config.Options{Port: 1, Bind: "10.0.0.1,[::2]"}, "10.0.0.1:1", "[::2]:1")
	check(config.Options{Port: 1, Bind: "localhost"}, "127.0.0.1:1", "-[::1]:1")
	check(config.Options{Port: 1, Bind: "::1 -::1 -10.0.0.1"}, "[::1]:1", "-10.0.0.1:1")
	check(config.Options{Port: 1, Bind: "* -::*"}, ":1")
	check(config.Options{UnixSocket: "/tmp/s"})
	check(config.Options{UnixSocket: "/tmp/s", Port: 5}, "127.0.0.1:5")
	check(config.Options{TLSPort: 6})
	check(config.Options{TLSPort: 6, Port: 5}, "127.0.0.1:5")
	check(config.Options{TLS: config.On, Port: 5})
}

func TestTLSAddresses(t *testing.T) {
	check := func(o config.Options, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, o.TLSAddresses()); diff != "" || o.SpeaksTLS() != (want != nil) {
			t.Errorf("%+v (-want +got):\n%s", o, diff)
		}
	}
	check(config.Options{Port: 5})
	check(config.Options{TLSPort: 6, Bind: "10.0.0.1"}, "10.0.0.1:6")
	check(config.Options{TLS: config.On}, "127.0.0.1:0")
	check(config.Options{TLS: config.On, Port: 5, TLSPort: 6}, "127.0.0.1:5", "127.0.0.1:6")
	check(config.Options{TLS: config.On, TLSPort: 6}, "127.0.0.1:6")
}

func TestHTTPAddress(t *testing.T) {
	for want, o := range map[string]config.Options{
		"": {HTTPBind: "*"}, "127.0.0.1:0": {HTTPPort: config.Given(0)}, ":9121": {HTTPPort: config.Given(9121), HTTPBind: "*"},
		"[::1]:80": {HTTPPort: config.Given(80), HTTPBind: "::1"},
	} {
		if got := o.HTTPAddress(); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}

// TestRangesFitTheLayersBelow compares the bounds in the tags with those of whoever uses the numbers.
func TestRangesFitTheLayersBelow(t *testing.T) {
	for name, want := range map[string]int64{
		"device-completion-threads": device.MaxCompletionThreads, "device-io-contexts": device.MaxIOContexts,
		"device-queue-depth": device.MaxQueueDepth, "device-throttle-limit": device.MaxThrottleLimit,
	} {
		if least, most := config.Range(name); least != 0 || most != want {
			t.Errorf("%s goes from %d to %d, want %d", name, least, most, want)
		}
	}
}

func TestOutputLimits(t *testing.T) {
	var o config.Options
	for _, text := range []string{"normal 1mb 512kb 5", "PUBSUB 64mb 0 0 slave 0 0 0", "normal 2mb 0 0"} {
		if err := o.Set("client-output-buffer-limit", text); err != nil {
			t.Fatal(err)
		}
	}
	want := "normal 2097152 0 0 slave 0 0 0 pubsub 67108864 0 0"
	if got := o.Get("client-output-buffer-limit"); got != want {
		t.Errorf("limits %q, want %q", got, want)
	}
	for text, want := range map[string]string{
		"": "once or more", "normal": "once or more", "normal 1 2 3 4": "once or more", "other 1 2 3": "class must be",
		"normal x 0 0": "limits must be", "normal 0 x 0": "limits must be", "normal 0 0 -1": "limits must be", "normal 0 0 x": "limits must be",
	} {
		if err := o.Set("client-output-buffer-limit", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if got := o.Get("client-output-buffer-limit"); got != want {
		t.Errorf("refused limits leave %q, want %q", got, want)
	}
}

func TestHosts(t *testing.T) {
	for bind, want := range map[string]string{"": "127.0.0.1", "*": "*", "10.0.0.1,-::1": "10.0.0.1 -::1"} {
		if got := (config.Options{Bind: bind}).Hosts(); got != want {
			t.Errorf("hosts of %q are %q; want %q", bind, got, want)
		}
	}
}

func TestAppendOnlyOptions(t *testing.T) {
	got, _, err := config.Resolve(config.Options{StorageTier: config.On, LogDir: "/data", CommitPage: 4 << 20, CommitFrequency: config.CommitAlways}, 64*gigabyte)
	if err != nil || got.CheckpointDir != "/data" || got.CommitMemory != 128<<20 {
		t.Errorf("directory %q, memory %s, error %v", got.CheckpointDir, got.CommitMemory, err)
	}
	for _, c := range []struct {
		options config.Options
		want    string
	}{
		{config.Options{CommitPage: 3 << 20}, "--aof-page-size 3m is not a power of two: 2m or 4m"},
		{config.Options{CommitPage: 1 << 10}, "--aof-page-size 1k is too small: at least 4k"},
		{config.Options{CommitPage: 1 << 20, CommitMemory: 1 << 20}, "--aof-memory 1m is too small for --aof-page-size 1m: at least 2m (2 pages)"},
	} {
		if _, _, err := config.Resolve(c.options, 64*gigabyte); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	for text, want := range map[string]config.CommitFrequency{"Always": "0", "everysec": "1000", "NO": "-1", "0": "0", "-1": "-1", "250": "250"} {
		var got config.CommitFrequency
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "sometimes", "-2", "3600001", "1.5"} {
		var got config.CommitFrequency
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
