package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// embedding is a program of another module that starts and stops a server fifty times, and talks to it with go-redis.
const embedding = `package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/pyropedb/pyrope/server"
	"github.com/redis/go-redis/v9"
)

func main() {
	round()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for range 49 {
		round()
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines || openFiles() > files; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			fmt.Printf("%d goroutines, %d before; %d files, %d before\n", runtime.NumGoroutine(), goroutines, openFiles(), files)
			os.Exit(1)
		}
	}
	fmt.Println("well")
}

func round() {
	s, err := server.New(server.Options{})
	must(err)
	must(s.Start())
	client := redis.NewClient(&redis.Options{Addr: s.Addr().String()})
	must(client.Set(context.Background(), "a", "1", 0).Err())
	text, err := client.Get(context.Background(), "a").Result()
	must(err)
	if text != "1" {
		panic(text)
	}
	must(client.Close())
	must(s.Close())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
`

// TestAnotherModuleEmbedsTheServer builds such a program against this source and runs it.
func TestAnotherModuleEmbedsTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program of its own, without the race detector or invariants; make test has it")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, _ := strings.Cut(string(module), "\n") // its dependencies are those of the program
	write("go.mod", "module example.com/embedding\n"+requirements+
		"\nrequire github.com/pyropedb/pyrope v0.0.0\nreplace github.com/pyropedb/pyrope => "+root+"\n")
	write("go.sum", string(sums))
	write("main.go", embedding)
	program := exec.Command("go", "run", ".")
	program.Dir = directory
	program.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if output, err := program.CombinedOutput(); err != nil || string(output) != "well\n" {
		t.Errorf("%v\n%s", err, output)
	}
}
