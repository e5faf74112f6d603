package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// ends waits for a process and returns its exit code.
func (p *process) ends(t *testing.T) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return p.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		t.Fatal("the process does not end")
		return 0
	}
}

// signal sends a signal to a process.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// try sends one command and returns its reply: the value of a bulk string, empty for none, or else the line.
func (c *client) try(words ...string) (reply string, err error) {
	if _, err := c.connection.Write(appendRequest(nil, words...)); err != nil {
		return "", err
	}
	line, err := c.reader.ReadString('\n')
	line = strings.TrimSuffix(line, "\r\n")
	if err != nil || !strings.HasPrefix(line, "$") {
		return line, err
	}
	length, _ := strconv.Atoi(line[1:])
	if length < 0 {
		return "", nil
	}
	value := make([]byte, length+2)
	_, err = io.ReadFull(c.reader, value)
	return string(value[:length]), err
}

// TestSignalsLoseNothing ends a server in the midst of a load, with an append-only file that is committed only now and then, or with save points. It
// answers what it has read and exits with 0, and whatever was acknowledged is there after the next start.
func TestSignalsLoseNothing(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments []string
	}{
		{"with a file", []string{"--aof", "--aof-commit-freq", "3600000"}},
		{"with save points", []string{"--save", "3600 1"}},
		{"with a tier", []string{"--aof", "--aof-commit-freq", "3600000", "--save", "3600 1", "--storage-tier", "--memory", "8m", "--page", "256k", "--segment", "4m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			arguments := append([]string{"--memory", "64m", "--checkpointdir", t.TempDir()}, c.arguments...)
			if len(c.arguments) > 4 {
				arguments = append(arguments[2:], "--logdir", t.TempDir())
			}
			acknowledged := make([]int, 4)
			for life, ending := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, nil} {
				p := startProcess(t, arguments...)
				first := connectClient(t, p)
				first.awaitLoaded()
				for w, want := range acknowledged {
					reply, err := first.try("GET", fmt.Sprint("counter", w))
					if err != nil {
						t.Fatal(err)
					}
					if got, _ := strconv.Atoi(reply); got < want || got > want+1 { // one may not have been answered
						t.Errorf("life %d: counter %d is %q; %d was acknowledged", life, w, reply, want)
					} else {
						acknowledged[w] = got
					}
				}
				if ending == nil {
					return
				}
				var workers, begun sync.WaitGroup
				for w := range acknowledged {
					client := connectClient(t, p)
					begun.Add(1)
					first := sync.OnceFunc(begun.Done)
					workers.Go(func() {
						defer first()
						for {
							if reply, err := client.try("INCR", fmt.Sprint("counter", w)); err != nil || !strings.HasPrefix(reply, ":") {
								return
							}
							acknowledged[w]++
							first()
						}
					})
				}
				begun.Wait()
				time.Sleep(50 * time.Millisecond)
				p.signal(t, ending)
				if code := p.ends(t); code != 0 {
					t.Errorf("%v ends the server with %d", ending, code)
				}
				workers.Wait()
				if acknowledged[0] == 0 {
					t.Error("there was no load")
				}
			}
		})
	}
}

// stuck starts a server and a client of it that takes no replies, and asks it to end.
func stuck(t *testing.T, timeout string) *process {
	t.Helper()
	p := startProcess(t, "--memory", "64m", "--shutdown-timeout", timeout)
	connection := p.connect(t)
	value := strings.Repeat("v", 1<<20)
	request := appendRequest(nil, "SET", "long", value)
	for range 64 {
		request = appendRequest(request, "GET", "long")
	}
	if _, err := connection.Write(request); err != nil {
		t.Fatal(err)
	}
	other := connectClient(t, p)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if reply, err := other.try("EXISTS", "long"); err != nil {
			t.Fatal(err)
		} else if reply == ":1" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server does not take the value")
		}
	}
	p.signal(t, syscall.SIGTERM)
	return p
}

// TestShutdownTimeout: a server whose client takes no replies ends by itself when its time is over.
func TestShutdownTimeout(t *testing.T) {
	begun := time.Now()
	p := stuck(t, "1")
	if code := p.ends(t); code != 0 {
		t.Errorf("the server ends with %d", code)
	}
	t.Logf("after %v", time.Since(begun))
}

// TestSecondSignalForces: it ends a server that would wait much longer.
func TestSecondSignalForces(t *testing.T) {
	p := stuck(t, "600")
	time.Sleep(100 * time.Millisecond)
	p.signal(t, syscall.SIGINT)
	if code := p.ends(t); code != 1 {
		t.Errorf("the server ends with %d, want 1", code)
	}
}

// TestShutdownWords are those of Redis 7: what each does to the data, and what happens when it cannot be saved.
func TestShutdownWords(t *testing.T) {
	directory := t.TempDir()
	start := func(points string) (*process, *client) {
		t.Helper()
		p := startProcess(t, "--memory", "64m", "--checkpointdir", directory, "--save", points)
		c := connectClient(t, p)
		c.awaitLoaded()
		return p, c
	}
	value := func(c *client) string {
		reply, err := c.try("GET", "key")
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	before := ""
	for _, c := range []struct {
		points, words string
		saves         bool
	}{
		{"", "SAVE", true}, {"3600 1", "NOSAVE", false}, {"3600 1", "", true}, {"", "", false},
		{"3600 1", "NOW", true}, {"", "NOW FORCE SAVE", true}, {"3600 1", "NOSAVE NOW FORCE", false},
	} {
		p, client := start(c.points)
		if got := value(client); got != before {
			t.Errorf("before SHUTDOWN %s the key is %q, want %q", c.words, got, before)
		}
		name := c.words + " " + c.points
		if reply, err := client.try("SET", "key", name); reply != "+OK" {
			t.Errorf("SET: %s, %v", reply, err)
		}
		if reply, err := client.try(append([]string{"SHUTDOWN"}, strings.Fields(c.words)...)...); err == nil {
			t.Errorf("SHUTDOWN %s is answered with %q", c.words, reply)
		}
		if code := p.ends(t); code != 0 {
			t.Errorf("SHUTDOWN %s ends the server with %d", c.words, code)
		}
		if c.saves {
			before = name
		}
	}
	p, client := start("3600 1")
	if got := value(client); got != before {
		t.Errorf("in the end the key is %q, want %q", got, before)
	}
	refused := func(words, want string) {
		t.Helper()
		if reply, err := client.try(append([]string{"SHUTDOWN"}, strings.Fields(words)...)...); reply != "-"+want {
			t.Fatalf("SHUTDOWN %s: %q, %v", words, reply, err)
		}
	}
	refused("ABORT", "ERR No shutdown in progress.")
	refused("SAVE NOSAVE", "ERR syntax error")
	refused("ABORT NOW", "ERR syntax error")
	refused("LATER", "ERR syntax error")
	if reply, err := client.try("SET", "key", "late"); reply != "+OK" {
		t.Errorf("SET: %s, %v", reply, err)
	}
	checkpoints := filepath.Join(directory, "checkpoints")
	if err := os.Rename(checkpoints, checkpoints+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(checkpoints, nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	for _, words := range []string{"SAVE", "", "NOW"} {
		refused(words, "ERR Errors trying to SHUTDOWN. Check logs.")
	}
	if got := value(client); got != "late" {
		t.Errorf("a server that does not end has %q", got)
	}
	if reply, err := client.try("SHUTDOWN", "FORCE"); err == nil {
		t.Errorf("SHUTDOWN FORCE is answered with %q", reply)
	}
	if code := p.ends(t); code != 0 {
		t.Errorf("SHUTDOWN FORCE ends the server with %d", code)
	}
}
