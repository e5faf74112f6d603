package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Records of the spilling tests: 16-byte keys, 96-byte values that follow from the key's number.
const (
	spillKeys  = 2_000_000
	spillBatch = 1000
)

func spillKey(to []byte, n int) []byte { return fmt.Appendf(to, "key:%012d", n) }

func spillValue(to []byte, n int) []byte {
	for i := range 6 {
		to = fmt.Appendf(to, "%016x", uint64(n+1)*0x9E3779B97F4A7C15*uint64(i+1))
	}
	return to
}

// loadSpill stores all keys with MSET.
func loadSpill(t *testing.T, connection net.Conn, keys int) {
	t.Helper()
	reader := bufio.NewReader(connection)
	var request, key, value []byte
	for first := 0; first < keys; first += spillBatch {
		request = fmt.Appendf(request[:0], "*%d\r\n$4\r\nMSET\r\n", 1+2*spillBatch)
		for n := first; n < first+spillBatch; n++ {
			key, value = spillKey(key[:0], n), spillValue(value[:0], n)
			request = fmt.Appendf(request, "$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(value), value)
		}
		if _, err := connection.Write(request); err != nil {
			t.Fatal(err)
		}
		if line, err := reader.ReadString('\n'); err != nil || line != "+OK\r\n" {
			t.Fatalf("MSET from key %d: %q, %v", first, line, err)
		}
	}
}

// verifySpill reads all keys in pipelines and compares each byte of the replies.
func verifySpill(t *testing.T, connection net.Conn, keys int) {
	t.Helper()
	var request, want, key, value []byte
	got := make([]byte, 0, spillBatch*128)
	for first := 0; first < keys; first += spillBatch {
		request, want = request[:0], want[:0]
		for n := first; n < first+spillBatch; n++ {
			key, value = spillKey(key[:0], n), spillValue(value[:0], n)
			request = fmt.Appendf(request, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(key), key)
			want = fmt.Appendf(want, "$%d\r\n%s\r\n", len(value), value)
		}
		if _, err := connection.Write(request); err != nil {
			t.Fatal(err)
		}
		got = got[:len(want)]
		if _, err := io.ReadFull(connection, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("keys from %d came back wrong, %v: %.300q", first, err, got)
		}
	}
}

// storeInfo returns a number of INFO store.
func storeInfo(t *testing.T, connection net.Conn, field string) int {
	t.Helper()
	fmt.Fprint(connection, "INFO store\r\n")
	reader := bufio.NewReader(connection)
	header, err := reader.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	length, _ := strconv.Atoi(strings.Trim(header, "$\r\n"))
	text := make([]byte, length+2)
	if _, err := io.ReadFull(reader, text); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + field + `:(\d+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("INFO store has no number %s: %s", field, text)
	}
	number, _ := strconv.Atoi(string(found[1]))
	return number
}

// TestTwoMillionKeysSpill loads two million records behind 16 MB of memory, or half a million behind 4 MB on other kinds of device, and reads
// every one back byte for byte. The reads must have come from the device.
func TestTwoMillionKeysSpill(t *testing.T) {
	if testing.Short() {
		t.Skip("two million keys take their time; make test has it")
	}
	for kind, keys := range map[string]int{
		"Native --device-io-backend Libaio": spillKeys / 4, "Native --device-io-backend Uring": spillKeys, "LocalMemory": spillKeys / 4,
	} {
		t.Run(kind, func(t *testing.T) {
			memory := 16 << 20 * keys / spillKeys
			sizes := fmt.Sprintf("--memory %d --page %d --segment 64m --storage-tier --logdir %s", memory, memory/4, t.TempDir())
			arguments := append(strings.Fields(sizes), strings.Fields("--device-type "+kind)...)
			p := startProcess(t, arguments...)
			connection := p.connect(t)
			loadSpill(t, connection, keys)
			verifySpill(t, connection, keys)
			head, tail := storeInfo(t, connection, "log_head_address"), storeInfo(t, connection, "log_tail_address")
			if tail < keys*112 || tail-head > memory {
				t.Errorf("head is %d, tail is %d: they must be within %d MB", head, tail, memory>>20)
			}
			if reads := storeInfo(t, connection, "device_reads"); reads < keys*9/10 {
				t.Errorf("%d device reads for %d cold keys", reads, keys)
			}
			if kind != "LocalMemory" {
				counters, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.Process.Pid))
				found := regexp.MustCompile(`(?m)^read_bytes: (\d+)`).FindSubmatch(counters)
				if err != nil || found == nil {
					t.Fatalf("%s, %v", counters, err)
				}
				if read, _ := strconv.Atoi(string(found[1])); read < keys*112*9/10 {
					t.Errorf("the process has read %d bytes from the disk", read)
				}
			}
		})
	}
}

// TestMemoryBehindSixtyFourMegabytes keeps two million 128-byte records behind 64 MB: the process may have a quarter more than
// the cap and the index.
func TestMemoryBehindSixtyFourMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("two million keys take their time; make test has it")
	}
	p := startProcess(t, "--memory", "64m", "--storage-tier", "--logdir", t.TempDir())
	connection := p.connect(t)
	loadSpill(t, connection, spillKeys)
	index := storeInfo(t, connection, "index_bytes") + storeInfo(t, connection, "index_overflow_bytes")
	resident := residentBytes(t, p.Process.Pid)
	t.Logf("%d KB resident, index %d KB", resident>>10, index>>10)
	if limit := (64<<20 + index) * 5 / 4; resident > limit {
		t.Errorf("%d KB resident; want at most %d: 1.25 of 64 MB and an index of %d KB", resident>>10, limit>>10, index>>10)
	}
}
