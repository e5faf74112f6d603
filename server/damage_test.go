package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/server"
	"github.com/pyropedb/pyrope/server/config"
)

// damage is a way in which a file may be found.
type damage struct {
	name string
	cuts bool
	do   func(whole []byte, random *rand.Rand) []byte
}

var damages = []damage{
	{"a bit is flipped", false, func(whole []byte, random *rand.Rand) []byte {
		whole[random.IntN(len(whole))] ^= 1 << random.IntN(8)
		return whole
	}},
	{"some bytes are others", false, func(whole []byte, random *rand.Rand) []byte {
		at := random.IntN(len(whole))
		for i := at; i < min(len(whole), at+1+random.IntN(8192)); i++ {
			whole[i] = byte(random.Uint32())
		}
		return whole
	}},
	{"some bytes are zeros", false, func(whole []byte, random *rand.Rand) []byte {
		at := random.IntN(len(whole))
		clear(whole[at:min(len(whole), at+1+random.IntN(8192))])
		return whole
	}},
	{"it is cut", true, func(whole []byte, random *rand.Rand) []byte { return whole[:random.IntN(len(whole))] }},
	{"it is empty", true, func([]byte, *rand.Rand) []byte { return nil }},
}

// dataDirectory is all that a server leaves, in one directory.
type dataDirectory struct {
	*testing.T
	options config.Options
	path    string
}

// in are the options of a server over a directory.
func (d *dataDirectory) in(directory string) config.Options {
	options := d.options
	options.CheckpointDir = directory
	if options.StorageTier.IsOn() {
		options.LogDir = filepath.Join(directory, "log")
	}
	return options
}

// files are the names of the files that hold something.
func (d *dataDirectory) files() (names []string) {
	d.Helper()
	err := filepath.WalkDir(d.path, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if name, _ := filepath.Rel(d.path, path); err == nil && info.Size() > 0 {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		d.Fatal(err)
	}
	return names
}

// start starts a server over a copy of the directory, in which one file holds something else, and returns all its
// data, what it logs, and why it does not start.
func (d *dataDirectory) start(name string, content []byte) (all, log string, err error) {
	d.Helper()
	directory, err := os.MkdirTemp(d.TempDir(), "")
	if err != nil {
		d.Fatal(err)
	}
	defer os.RemoveAll(directory)
	if err := os.CopyFS(directory, os.DirFS(d.path)); err != nil {
		d.Fatal(err)
	}
	if name != "" {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			d.Fatal(err)
		}
	}
	var lines bytes.Buffer
	s, err := server.New(server.Options{Options: d.in(directory), Log: slog.New(slog.NewTextHandler(&lines, nil))})
	if err == nil {
		if err = s.LoadError(); err == nil {
			client, wrong := s.Client()
			if wrong != nil {
				d.Fatal(wrong)
			}
			all = (&durable{s, d.T, client}).everything(3)
		}
		s.Close()
	}
	return all, lines.String(), err
}

// TestDamagedFiles damages each file that a server has left, each in turn in each way. A start must find all data, or
// refuse and say which file is damaged and where. Of the end of the append-only file, behind the checkpoint, what is cut off may
// be missing: a crash leaves the same.
func TestDamagedFiles(t *testing.T) {
	seed := testSeed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for _, c := range saveCases {
		t.Run(c.name, func(t *testing.T) {
			d := &dataDirectory{t, c.options(t), t.TempDir()}
			d.options.Memory, d.options.Page, d.options.Segment, d.options.RecoverVerify = 64<<20, 256<<10, 4<<20, config.On
			if c.tier.IsOn() {
				d.options.Memory = 8 << 20
			}
			s := openServer(t, d.in(d.path))
			for i := range 100 {
				s.do("SET", fmt.Sprint("key", i), strings.Repeat(fmt.Sprint(i), 10_000))
			}
			s.expect("SAVE", "+OK")
			before := s.everything(3)
			if c.file.IsOn() {
				s.expect("MSET late 1 later 2", "+OK")
			}
			s.Close()
			want, _, err := d.start("", nil)
			if err != nil || !c.file.IsOn() && want != before {
				t.Fatalf("the whole data: %v, as it was: %v", err, want == before)
			}
			for _, name := range d.files() {
				d.damage(name, random, []string{want, before})
			}
		})
	}
}

// damage damages a file in each way. The first of the contents is all data, the second what there is without the entries behind
// the checkpoint.
func (d *dataDirectory) damage(name string, random *rand.Rand, contents []string) {
	whole, err := os.ReadFile(filepath.Join(d.path, name))
	if err != nil {
		d.Fatal(err)
	}
	isFile := strings.HasPrefix(name, "aof")
	for i, damage := range damages {
		if testing.Short() && i%3 != 0 {
			continue
		}
		all, log, err := d.start(name, damage.do(slices.Clone(whole), random))
		switch {
		case err != nil && isFile && damage.cuts && strings.Contains(err.Error(), "it ends at address"):
		case err != nil:
			number := name[strings.LastIndexAny(name, "/.")+1:]
			if text := err.Error(); !strings.Contains(text, "offset") || !strings.Contains(text, filepath.Base(name)) && !strings.Contains(text, "segment "+number) {
				d.Errorf("%s, %s: the start says %v", name, damage.name, err)
			}
		case all == contents[0]:
		case isFile && damage.cuts && all == contents[1]:
		default:
			d.Errorf("%s, %s: the start finds\n%.500s\nand logs %s", name, damage.name, all, log)
		}
	}
}

// TestColdDamage flips a byte in a page that stays cold. The server starts, finds it by itself, says so in INFO and in one line of the log with file and
// offset, and refuses what needs a record of that page, so that no key is missing and none has another value.
func TestColdDamage(t *testing.T) {
	options := config.Options{CheckpointDir: t.TempDir(), LogDir: t.TempDir(), StorageTier: config.On, Page: 64 << 10, Memory: 1 << 20, Segment: 1 << 20, Index: 64 << 10}
	value := func(i int) string { return strings.Repeat(fmt.Sprint(i, " "), 1000) }
	d := openServer(t, options)
	for i := range 800 {
		d.do("SET", fmt.Sprint("key", i), value(i))
	}
	d.expect("SAVE", "+OK")
	d.Close()
	d = openServer(t, options)
	d.awaitInfo("recover_verify_state", "done")
	if total := d.info("recover_verify_total_bytes"); d.info("recover_verify_damaged_pages") != "0" || total == "0" || d.info("recover_verify_verified_bytes") != total {
		t.Errorf("INFO of sound pages: %s", d.do("INFO", "persistence"))
	}
	d.Close()
	path := filepath.Join(options.LogDir, "hlog.1")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[3*(64<<10)+777] ^= 4
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	var lines logText
	options.RecoverVerifyRate = config.Given(0)
	d = openServer(t, options)
	d.expect("GET key799", "$")
	if state := d.info("recover_verify_state"); state != "off" {
		t.Errorf("without a rate the verification is %s", state)
	}
	d.Close()
	options.RecoverVerifyRate = config.Number{}
	s, err := server.New(server.Options{Options: options, Log: slog.New(slog.NewTextHandler(&lines, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.LoadError(); err != nil {
		t.Fatal(err)
	}
	client, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	d = &durable{s, t, client}
	d.awaitInfo("recover_verify_state", "done")
	if damaged := d.info("recover_verify_damaged_pages"); damaged != "1" {
		t.Errorf("%s pages are damaged; one is", damaged)
	}
	if !lines.has("offset=196608") || !lines.has("file="+path) {
		t.Errorf("the log says %v", &lines)
	}
	refused := 0
	for i := range 800 {
		name := fmt.Sprint("key", i)
		switch got := d.do("GET", name); {
		case strings.Contains(got, "file hlog.1, offset 196608"):
			refused++
			d.expect("APPEND "+name+" x", "-ERR tsavorite: damaged record: ")
			d.expect("EXISTS "+name, "-ERR tsavorite: damaged record: ")
		case strings.HasPrefix(got, fmt.Sprint(len(value(i)), " bytes, ")), got == value(i):
		default:
			t.Fatalf("%s is %.100q", name, got)
		}
	}
	if refused == 0 || refused > 100 {
		t.Errorf("%d of 800 keys are refused", refused)
	}
	d.expect("KEYS *", "-ERR tsavorite: damaged record: ")
	d.expect("FLUSHALL", "+OK")
	d.expect("DBSIZE", ":0")
	d.awaitInfo("recover_verify_damaged_pages", "0")
}
