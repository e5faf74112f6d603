package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// resident is the memory of the process in RAM.
func (p *process) resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Process.Pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		t.Fatalf("statm: %q, %v", text, err)
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}

// watchResident notes the most memory the process has had, five times a second, until it is stopped.
func (p *process) watchResident(t *testing.T) (stop func() (most int)) {
	t.Helper()
	most, end := 0, make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			most = max(most, p.resident(t))
			select {
			case <-end:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	return func() int { close(end); watching.Wait(); return most }
}

// talker is a connection that sends commands and reads replies.
type talker struct {
	net.Conn
	reader *bufio.Reader
}

func (p *process) talk(t *testing.T) *talker {
	t.Helper()
	connection := p.connect(t)
	return &talker{connection, bufio.NewReaderSize(connection, 1<<20)}
}

// appendCommand appends a command as an array of bulk strings.
func appendCommand(to []byte, words ...[]byte) []byte {
	to = fmt.Appendf(to, "*%d\r\n", len(words))
	for _, word := range words {
		to = append(append(fmt.Appendf(to, "$%d\r\n", len(word)), word...), "\r\n"...)
	}
	return to
}

func (c *talker) line(t *testing.T) string {
	t.Helper()
	line, err := c.reader.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\r\n")
}

// do sends an inline command and returns the first line of its reply.
func (c *talker) do(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		t.Fatal(err)
	}
	return c.line(t)
}

// bulk reads a bulk string into buffer, or says that there is none.
func (c *talker) bulk(t *testing.T, buffer []byte) ([]byte, bool) {
	t.Helper()
	header := c.line(t)
	length, err := strconv.Atoi(strings.TrimPrefix(header, "$"))
	if err != nil || header[0] != '$' {
		t.Fatalf("a reply of %q", header)
	}
	if length < 0 {
		return buffer[:0], false
	}
	buffer = append(buffer[:0], make([]byte, length+2)...)
	if _, err := io.ReadFull(c.reader, buffer); err != nil {
		t.Fatal(err)
	}
	return buffer[:length], true
}

// configured is what CONFIG GET says of a parameter.
func (c *talker) configured(t *testing.T, name string) string {
	t.Helper()
	if header := c.do(t, "CONFIG GET "+name); header != "*2" {
		t.Fatalf("CONFIG GET %s: %s", name, header)
	}
	c.bulk(t, nil)
	value, _ := c.bulk(t, nil)
	return string(value)
}

// info is a field of INFO.
func (c *talker) info(t *testing.T, section, field string) string {
	t.Helper()
	fmt.Fprintf(c, "INFO %s\r\n", section)
	text, _ := c.bulk(t, nil)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	t.Fatalf("INFO %s has no %s: %s", section, field, text)
	return ""
}

// mixedLength is the length of value n: mostly small, some of up to 1 MB; about 10 KB on average.
func mixedLength(n int) int {
	switch random := uint64(n+1) * 0x9E3779B97F4A7C15 >> 20; {
	case n%512 == 5:
		return 512<<10 + int(random%(512<<10))
	case n%16 == 3:
		return 10<<10 + int(random%(90<<10))
	default:
		return 10 + int(random%2000)
	}
}

func mixedKey(n int) []byte { return fmt.Appendf(nil, "key:%09d", n) }

func mixedValue(n int) []byte {
	word := fmt.Appendf(nil, "%09d|", n)
	return bytes.Repeat(word, mixedLength(n)/len(word)+1)[:mixedLength(n)]
}

// set stores values from first on, pipelined, and returns how many were refused with -OOM.
func (c *talker) set(t *testing.T, first, count int) (refused int) {
	t.Helper()
	const batch = 64
	for from := first; from < first+count; from += batch {
		until := min(from+batch, first+count)
		var request []byte
		for n := from; n < until; n++ {
			request = appendCommand(request, []byte("SET"), mixedKey(n), mixedValue(n))
		}
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		for range until - from {
			switch line := c.line(t); {
			case strings.HasPrefix(line, "-OOM command not allowed"):
				refused++
			case line != "+OK":
				t.Fatalf("SET says %q", line)
			}
		}
	}
	return refused
}

// verify reads values back and returns how many there are; each must be as it was written.
func (c *talker) verify(t *testing.T, count int) (there int) {
	t.Helper()
	const batch = 64
	var value []byte
	for from := 0; from < count; from += batch {
		until := min(from+batch, count)
		var request []byte
		for n := from; n < until; n++ {
			request = appendCommand(request, []byte("GET"), mixedKey(n))
		}
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		for n := from; n < until; n++ {
			var found bool
			if value, found = c.bulk(t, value); !found {
				continue
			}
			if there++; !bytes.Equal(value, mixedValue(n)) {
				t.Fatalf("value %d came back with %d bytes, wrong", n, len(value))
			}
		}
	}
	return there
}

// residentFalls waits until the process has at most so much memory.
func (p *process) residentFalls(t *testing.T, limit int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); p.resident(t) > limit; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the process has %d bytes 30 s after its memory was set to %d", p.resident(t), limit)
		}
	}
}

// TestMemoryBoundsTheProcess loads four times what memory may be, of values from 10 bytes to 1 MB, behind 64 MB with a tier: the process never
// has more than a quarter above that, nothing is lost, and less and more memory can be had while it serves.
func TestMemoryBoundsTheProcess(t *testing.T) {
	const limit, count = 64 << 20, 36_000
	p := startProcess(t, "--memory", "64m", "--storage-tier", "--segment", "64m", "--logdir", t.TempDir())
	c := p.talk(t)
	stop := p.watchResident(t)
	if refused := c.set(t, 0, count); refused != 0 {
		t.Errorf("%d writes are refused with a tier", refused)
	}
	if there := c.verify(t, count); there != count {
		t.Errorf("%d of %d values are there", there, count)
	}
	most := stop()
	t.Logf("at most %d MB resident; log %s bytes, tail at %s", most>>20, c.info(t, "store", "log_memory_bytes"), c.info(t, "store", "log_tail_address"))
	if most > limit/4*5 {
		t.Errorf("the process had %d bytes, the limit is %d", most, limit)
	}
	for _, size := range []int{40 << 20, 100 << 20, 48 << 20} {
		if reply := c.do(t, fmt.Sprintf("CONFIG SET maxmemory %d", size)); reply != "+OK" {
			t.Fatalf("CONFIG SET maxmemory %d: %s", size, reply)
		}
		if shown, told := c.configured(t, "maxmemory"), c.info(t, "memory", "maxmemory"); shown != strconv.Itoa(size) || told != shown {
			t.Errorf("maxmemory is %s, and %s in INFO, after it was set to %d", shown, told, size)
		}
		p.residentFalls(t, size/4*5)
		stop := p.watchResident(t)
		c.set(t, 0, count/8)
		if there := c.verify(t, count); there != count {
			t.Errorf("%d of %d values are there with %d bytes of memory", there, count, size)
		}
		if most := stop(); most > size/4*5 {
			t.Errorf("the process had %d bytes, the limit is %d", most, size)
		}
	}
}

// TestFullMemory fills memory without a tier until writes are refused: all else is answered, deletes make room soon, and a policy that
// drops old keys takes any number of new ones within the limit.
func TestFullMemory(t *testing.T) {
	const limit = 64 << 20
	p := startProcess(t, "--memory", "64m")
	c := p.talk(t)
	if refused := c.set(t, 0, 16_000); refused == 0 {
		t.Fatal("no write is refused")
	}
	for command, want := range map[string]string{
		"PING": "+PONG", "DEL key:000000000": ":1", "UNLINK key:000000001": ":1", "EXPIRE key:000000002 100": ":1",
		"CONFIG SET timeout 0": "+OK", "CONFIG SET maxmemory 64mb": "+OK",
	} {
		if reply := c.do(t, command); reply != want {
			t.Errorf("%s on a full server: %s", command, reply)
		}
	}
	if policy := c.info(t, "memory", "maxmemory_policy"); policy != "noeviction" {
		t.Errorf("the policy is %s", policy)
	}
	for n := range 16_000 {
		if _, err := c.Write(appendCommand(nil, []byte("DEL"), mixedKey(n))); err != nil {
			t.Fatal(err)
		}
		if line := c.line(t); line != ":1" && line != ":0" {
			t.Fatalf("DEL says %q", line)
		}
	}
	emptied := time.Now()
	for c.set(t, 0, 1) != 0 {
		if time.Since(emptied) > 10*time.Second {
			t.Fatal("writes are refused ten seconds after everything was deleted")
		}
	}
	if reply := c.do(t, "CONFIG SET maxmemory-policy allkeys-lfu"); reply != "+OK" || c.configured(t, "maxmemory-policy") != "allkeys-lfu" {
		t.Fatalf("CONFIG SET maxmemory-policy: %s", reply)
	}
	stop := p.watchResident(t)
	if refused := c.set(t, 0, 36_000); refused != 0 {
		t.Errorf("%d writes are refused though old keys may go", refused)
	}
	if there := c.verify(t, 36_000); there < 500 || there == 36_000 {
		t.Errorf("%d of 36,000 values are there", there)
	}
	if most := stop(); most > limit/4*5 {
		t.Errorf("the process had %d bytes, the limit is %d", most, limit)
	}
}
