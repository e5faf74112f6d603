package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/device"
	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// info is one line of INFO persistence.
func (d *durable) info(name string) string {
	d.Helper()
	for line := range strings.Lines(d.do("INFO", "persistence")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	d.Errorf("INFO persistence has no %s", name)
	return ""
}

// awaitInfo waits until a line of INFO persistence is as wanted.
func (d *durable) awaitInfo(name, want string) {
	d.Helper()
	for end := time.Now().Add(30 * time.Second); d.info(name) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			d.Fatalf("%s is %s; want %s", name, d.info(name), want)
		}
	}
}

// saveCase is a kind of server that takes checkpoints.
type saveCase struct {
	name       string
	tier, file config.Switch
}

var saveCases = []saveCase{
	{"memory", config.Off, config.Off}, {"tier", config.On, config.Off},
	{"memory with a file", config.Off, config.On}, {"tier with a file", config.On, config.On},
}

// options are those of a server of this kind over a new directory.
func (c saveCase) options(t *testing.T) config.Options {
	return config.Options{CheckpointDir: t.TempDir(), LogDir: map[config.Switch]string{config.On: t.TempDir()}[c.tier], StorageTier: c.tier,
		AppendOnly: c.file, Segment: 16 << 20}
}

// TestCheckpointsSurviveRestarts saves in the middle of the work, or at its end without an append-only file, and compares everything
// after each restart: keys, values, deadlines, DBSIZE. Memory and number of databases change in between.
func TestCheckpointsSurviveRestarts(t *testing.T) {
	for _, c := range saveCases {
		t.Run(c.name, func(t *testing.T) {
			options := c.options(t)
			want := ""
			rounds := 4
			if testing.Short() {
				rounds = 3
			}
			for round := range rounds {
				options.Memory = durableMemory << (round % 2)
				options.MaxDatabases = 16 - round
				d := openServer(t, options)
				if got := d.everything(4); round > 0 && got != want {
					t.Fatalf("round %d: after the restart there is\n%.1000s\nwant\n%.1000s", round, got, want)
				}
				d.busyWork(round)
				d.expect("SAVE", "+OK")
				if c.file.IsOn() {
					d.busyWork(round + 1)
				}
				time.Sleep(2 * time.Millisecond) // the key with a deadline of one must be gone
				want = d.everything(4)
				if c.file.IsOn() {
					if round == 2 {
						d.expect("BGREWRITEAOF", "+Background append only file rewriting started")
						d.awaitInfo("aof_rewrite_in_progress", "0")
						d.expect("SET late 1", "+OK")
						want = d.everything(4)
					}
				} else {
					d.expect("SAVE", "+OK")
				}
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestCountsAreThoseOfTheCut saves while keys come and go, and compares DBSIZE after a restart with what KEYS finds.
func TestCountsAreThoseOfTheCut(t *testing.T) {
	for _, c := range saveCases[:2] {
		t.Run(c.name, func(t *testing.T) {
			options := c.options(t)
			options.Memory = 64 << 20
			rounds := 3
			if testing.Short() {
				rounds = 1
			}
			for range rounds {
				d := openServer(t, options)
				stop := make(chan struct{})
				var writers sync.WaitGroup
				for w := range 3 {
					client, err := d.Server.Client()
					if err != nil {
						t.Fatal(err)
					}
					writers.Go(func() {
						defer client.Close()
						for i := 0; ; i++ {
							select {
							case <-stop:
								return
							default:
							}
							key := fmt.Sprint("key", w, i%500)
							_, _ = client.Do("SET", key, "v")
							_, _ = client.Do("MSET", key, "1", key+"x", "2", key+"y", "3")
							_, _ = client.Do("RENAME", key+"x", key+"z")
							if i%3 == 0 {
								_, _ = client.Do("DEL", key, key+"z")
							}
						}
					})
				}
				for range 3 {
					d.expect("SAVE", "+OK")
				}
				close(stop)
				writers.Wait()
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				d = openServer(t, options)
				keys, err := d.client.Do("KEYS", "*")
				if err != nil {
					t.Fatal(err)
				}
				if size := d.do("DBSIZE"); size != strconv.Itoa(len(keys.Elements)) || size == "0" {
					t.Errorf("DBSIZE is %s, KEYS finds %d", size, len(keys.Elements))
				}
				d.Close()
			}
		})
	}
}

// TestSaveCommands checks replies and INFO.
func TestSaveCommands(t *testing.T) {
	d := openServer(t, config.Options{CheckpointDir: t.TempDir()})
	begun := time.Now().Unix()
	d.expect("SET a 1", "+OK")
	if got := d.info("rdb_changes_since_last_save"); got == "0" {
		t.Errorf("%s changes after a write", got)
	}
	d.expect("SAVE x", "-ERR wrong number of arguments for 'save' command")
	d.expect("BGSAVE x", "-ERR syntax error")
	d.expect("SAVE", "+OK")
	if got := d.info("rdb_changes_since_last_save"); got != "0" {
		t.Errorf("%s changes after SAVE", got)
	}
	d.expect("BGSAVE", "+Background saving started")
	d.awaitInfo("rdb_bgsave_in_progress", "0")
	d.expect("BGSAVE SCHEDULE", "+Background saving started")
	d.awaitInfo("rdb_bgsave_in_progress", "0")
	if got, _ := strconv.ParseInt(d.do("LASTSAVE"), 10, 64); got < begun {
		t.Errorf("LASTSAVE %d, but it is %d", got, begun)
	}
	for name, want := range map[string]string{"rdb_saves": "3", "rdb_last_bgsave_status": "ok", "rdb_current_bgsave_time_sec": "-1"} {
		if got := d.info(name); got != want {
			t.Errorf("%s:%s, want %s", name, got, want)
		}
	}
	if took, err := strconv.Atoi(d.info("rdb_last_bgsave_time_sec")); err != nil || int64(took) > time.Now().Unix()-begun {
		t.Errorf("the last save took %d s, %v; all began %d s ago", took, err, time.Now().Unix()-begun)
	}
}

// TestSavesHurry begins checkpoints in the background that would take minutes at their rate: SAVE, and the end of the server, have
// them over soon.
func TestSavesHurry(t *testing.T) {
	d := openServer(t, config.Options{CheckpointDir: t.TempDir(), CheckpointRate: config.Given(1), Memory: 128 << 20})
	d.expect("SETRANGE a 60000000 x", ":60000001")
	begun := time.Now()
	d.expect("BGSAVE", "+Background saving started")
	if got := d.info("rdb_bgsave_in_progress"); got != "1" {
		t.Errorf("rdb_bgsave_in_progress:%s at once, at a megabyte a second", got)
	}
	d.expect("SAVE", "-ERR Background save already in progress")
	d.awaitInfo("rdb_bgsave_in_progress", "0")
	d.expect("BGSAVE", "+Background saving started")
	d.Close()
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("two checkpoints took %v", took)
	}
}

// TestSavePoints has the server save by itself, fail, refuse writes, and recover from that.
func TestSavePoints(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	d := openServer(t, config.Options{CheckpointDir: directory, SavePoints: "1 1"})
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	d.expect("SET a 1", "+OK")
	d.awaitInfo("rdb_saves", "1")
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(directory, nil, 0o600); err != nil { // a file in its place
		t.Fatal(err)
	}
	d.expect("SET a 2", "+OK")
	d.awaitInfo("rdb_last_bgsave_status", "err")
	d.expect("SET a 3", "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")
	d.expect("DEL a", "-MISCONF")
	d.expect("GET a", "$1\r\n2")
	d.expect("CONFIG SET stop-writes-on-bgsave-error no", "+OK")
	d.expect("SET a 3", "+OK")
	d.expect("CONFIG SET stop-writes-on-bgsave-error yes", "+OK")
	d.expect("SET a 4", "-MISCONF")
	if err := os.Remove(directory); err != nil {
		t.Fatal(err)
	}
	d.expect("SAVE", "+OK")
	d.expect("SET a 5", "+OK")
	d.expect("CONFIG SET save x", "-ERR CONFIG SET failed (possibly related to argument 'save') - Invalid save parameters")
	if _, err := d.client.Do("CONFIG", "SET", "save", "3600 1 300 100"); err != nil {
		t.Fatal(err)
	}
	d.expect("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$14\r\n3600 1 300 100")
}

// refusedStart opens a server that must not start, and checks why.
func refusedStart(t *testing.T, options config.Options, want ...string) {
	t.Helper()
	options.Memory = durableMemory
	s, err := server.New(server.Options{Options: options})
	if err == nil {
		err = s.LoadError()
		s.Close()
	}
	for _, part := range want {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the start: %v\nwant %s", err, part)
		}
	}
}

// TestNothingIsEverStartedOver refuses to start where a checkpoint cannot be loaded, with file and offset, and leaves it as it is.
func TestNothingIsEverStartedOver(t *testing.T) {
	for _, c := range saveCases {
		t.Run(c.name, func(t *testing.T) {
			options := c.options(t)
			d := openServer(t, options)
			d.expect("SET a 1", "+OK")
			d.expect("SAVE", "+OK")
			d.expect("SET b 2", "+OK")
			if !c.file.IsOn() {
				d.expect("SAVE", "+OK")
			}
			d.Close()
			off := options
			off.Recover = config.Off
			refusedStart(t, off, "--recover", "there is checkpoint")
			files, err := filepath.Glob(filepath.Join(options.CheckpointDir, "checkpoints", "*", "*"))
			if err != nil || len(files) != 3 {
				t.Fatalf("%d files of checkpoints, %v", len(files), err)
			}
			for _, path := range files {
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				damaged := append([]byte{}, whole...)
				damaged[len(damaged)/2]++
				if err := os.WriteFile(path, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				refusedStart(t, options, filepath.Base(path), "nothing was changed")
				if err := os.WriteFile(path, whole, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.file.IsOn() {
				hidden := filepath.Join(t.TempDir(), "aof")
				if err := os.Rename(filepath.Join(options.CheckpointDir, "aof"), hidden); err != nil {
					t.Fatal(err)
				}
				refusedStart(t, options, "the checkpoint needs it from")
				if err := os.RemoveAll(filepath.Join(options.CheckpointDir, "aof")); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(hidden, filepath.Join(options.CheckpointDir, "aof")); err != nil {
					t.Fatal(err)
				}
			}
			d = openServer(t, options)
			d.expect("MGET a b", "*2\r\n$1\r\n1\r\n$1\r\n2")
			d.Close()
		})
	}
}

// TestAppendOnlyComesLater turns the append-only file on over a checkpoint, and off again.
func TestAppendOnlyComesLater(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir()}
	d := openServer(t, options)
	d.expect("SET a 1", "+OK")
	d.expect("SAVE", "+OK")
	d.Close()
	options.AppendOnly = config.On
	for _, key := range []string{"b", "c"} {
		d = openServer(t, options)
		d.expect("SET "+key+" 1", "+OK")
		d.Close()
	}
	d = openServer(t, options)
	d.expect("DBSIZE", ":3")
	d.Close()
	options.AppendOnly = config.Off
	d = openServer(t, options) // what is in the file alone is not loaded, and the log says so
	d.expect("SAVE", "+OK")
	d.Close()
	options.AppendOnly = config.On
	refusedStart(t, options, "was taken without the append-only file")
}

// TestAppendOnlyFileIsShortened drops files that a checkpoint covers, and refuses what is left without that.
func TestAppendOnlyFileIsShortened(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), CommitFrequency: config.CommitManually, CommitLimit: 80 << 20}
	d := openDurable(t, options)
	value := strings.Repeat("x", 1<<20)
	for i := range 100 {
		d.do("SET", fmt.Sprint("key", i%10), value)
	}
	d.awaitInfo("aof_rewrites", "1")
	if begin := d.info("aof_begin_address"); begin == "0" {
		t.Error("the append-only file is as long as before")
	}
	d.expect("SET a 1", "+OK")
	d.Close()
	d = openDurable(t, options)
	d.expect("DBSIZE", ":11")
	d.Close()
	if err := os.Rename(filepath.Join(options.CheckpointDir, "checkpoints"), filepath.Join(t.TempDir(), "elsewhere")); err != nil {
		t.Fatal(err)
	}
	options.AppendOnly = config.On
	refusedStart(t, options, "the checkpoint that holds what came before is not there")
}

// TestNoCheckpointsOfVolatileDevices refuses checkpoints where the next start would find nothing.
func TestNoCheckpointsOfVolatileDevices(t *testing.T) {
	d := openServer(t, config.Options{CheckpointDir: t.TempDir(), StorageTier: config.On, LogDir: t.TempDir(), DeviceType: device.LocalMemory})
	d.expect("SAVE", "-ERR no checkpoint can be taken")
	d.expect("BGSAVE", "-ERR no checkpoint can be taken")
	refusedStart(t, config.Options{CheckpointDir: t.TempDir(), StorageTier: config.On, DeviceType: device.LocalMemory, SavePoints: "1 1"},
		"--save 1 1 does not go with --device-type LocalMemory")
}

// TestSegmentsComeBackByThemselves drops what the last checkpoint needs of the device: the server takes another one, unasked, and the
// segments go.
func TestSegmentsComeBackByThemselves(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), LogDir: t.TempDir(), StorageTier: config.On, Page: 64 << 10, Memory: 1 << 20, Segment: 1 << 20}
	d := openServer(t, options)
	value := strings.Repeat("x", 10_000)
	for i := range 500 {
		d.do("SET", fmt.Sprint("key", i), value)
	}
	d.expect("SAVE", "+OK")
	first := filepath.Join(options.LogDir, "hlog.0")
	d.expect("FLUSHALL", "+OK")
	d.expect("SET a 1", "+OK")
	if _, err := os.Stat(first); err != nil {
		t.Errorf("the checkpoint needs %s: %v", first, err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	d.awaitInfo("rdb_saves", "2")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(first); os.IsNotExist(err) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", first)
		}
		d.do("SET", "key", value) // the pager has turns to take
	}
	d.Close()
	d = openServer(t, options)
	d.expect("MGET a key1", "*2\r\n$1\r\n1\r\n$-1")
	d.Close()
}

// TestLastCheckpoint: the end of a server with save points saves what was written; SHUTDOWN NOSAVE does not, and SHUTDOWN SAVE
// does without save points.
func TestLastCheckpoint(t *testing.T) {
	for _, c := range []struct {
		name, points, command string
		kept                  bool
	}{
		{"Close with save points", "3600 1", "", true},
		{"Close without", "", "", false},
		{"SHUTDOWN", "3600 1", "SHUTDOWN", true},
		{"SHUTDOWN NOSAVE", "3600 1", "SHUTDOWN NOSAVE", false},
		{"SHUTDOWN SAVE", "", "SHUTDOWN SAVE", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := config.Options{CheckpointDir: t.TempDir(), SavePoints: config.SavePoints(c.points), Recover: config.On}
			s := newServer(t, options)
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			client := dial(t, s)
			check(t, client, "SET key value", "+OK")
			if c.command != "" {
				if _, err := client.Do(strings.Fields(c.command)...); err == nil {
					t.Errorf("%s has a reply", c.command)
				}
				<-s.ShutdownRequested()
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := newServer(t, options).Client()
			if err != nil {
				t.Fatal(err)
			}
			want := "nil"
			if c.kept {
				want = `"value"`
			}
			check(t, again, "GET key", want)
		})
	}
}

// TestNothingLeftIsSmall writes many keys and removes them all: the checkpoint that follows is small, however much of memory the dead ones still fill, and
// so is what the next start has to read.
func TestNothingLeftIsSmall(t *testing.T) {
	for _, c := range saveCases {
		t.Run(c.name, func(t *testing.T) {
			options := c.options(t)
			keys := 20_000
			options.Memory, options.Index = 64<<20, 1<<20
			if testing.Short() {
				keys, options.Memory = 6_000, 16<<20
			}
			options.CommitFrequency = config.CommitManually
			d := openServer(t, options)
			value := strings.Repeat("x", 1000)
			var batch []byte
			for i := range keys {
				batch = fmt.Appendf(batch, "SET key%d %s\r\n", i, value)
			}
			for i := range keys {
				batch = fmt.Appendf(batch, "DEL key%d\r\n", i)
			}
			if _, err := d.client.Send(batch); err != nil {
				t.Fatal(err)
			}
			d.expect("DBSIZE", ":0")
			d.expect("SAVE", "+OK")
			d.Close()
			size := int64(0)
			err := filepath.WalkDir(filepath.Join(options.CheckpointDir, "checkpoints"), func(path string, entry os.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					info, wrong := entry.Info()
					if err = wrong; err == nil {
						size += info.Size()
					}
				}
				return err
			})
			if t.Logf("the checkpoint has %d bytes", size); err != nil || size > int64(keys*len(value)/2) {
				t.Errorf("the checkpoint of no keys has %d bytes, %v", size, err)
			}
			d = openServer(t, options)
			d.expect("DBSIZE", ":0")
			d.Close()
		})
	}
}

// TestDeletedAndWrittenAgain removes keys, writes them again, saves twice and starts again, three times over: KEYS, SCAN, DBSIZE, EXISTS and GET agree.
func TestDeletedAndWrittenAgain(t *testing.T) {
	for _, c := range saveCases {
		t.Run(c.name, func(t *testing.T) {
			options := c.options(t)
			for round := range 3 {
				d := openServer(t, options)
				for i := range 200 {
					key := fmt.Sprint("key", i)
					if round > 0 && i%4 != 3 {
						if got := d.do("GET", key); got != fmt.Sprint("v", round-1) {
							t.Fatalf("round %d: %s is %q", round, key, got)
						}
					}
					if d.do("DEL", key); i%4 == 3 {
						continue
					}
					d.do("SET", key, fmt.Sprint("v", round))
					if i == 100 {
						d.expect("SAVE", "+OK")
					}
				}
				d.expect("SAVE", "+OK")
				d.expect("SAVE", "+OK")
				d.Close()
				d = openServer(t, options)
				keys, err := d.client.Do("KEYS", "*")
				if err != nil || len(keys.Elements) != 150 {
					t.Fatalf("round %d: KEYS has %d keys, %v", round, len(keys.Elements), err)
				}
				scanned, err := d.client.Do("SCAN", "0", "COUNT", "1000000")
				if err != nil || len(scanned.Elements[1].Elements) != 150 {
					t.Fatalf("round %d: SCAN has %d keys, %v", round, len(scanned.Elements[1].Elements), err)
				}
				d.expect("DBSIZE", ":150")
				for i := range 200 {
					key, want := fmt.Sprint("key", i), fmt.Sprint("v", round)
					if i%4 == 3 {
						want = "(nil)"
					}
					if got, exists := d.do("GET", key), d.do("EXISTS", key); got != want || (exists == "1") != (want != "(nil)") {
						t.Fatalf("round %d: %s is %q, EXISTS says %s", round, key, got, exists)
					}
				}
				d.Close()
			}
		})
	}
}
