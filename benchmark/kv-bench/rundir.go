package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	runDirectoryPrefix = "kv-run-"
	ownerFile          = ".kv-benchmark-owner" // holds the pid of the process a run directory belongs to
)

// makeRunDirectory makes a directory for this run below parent, after removing those that
// processes which are gone have left there.
func makeRunDirectory(parent string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the data path: %w", err)
	}
	if err := sweepRunDirectories(parent); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s%s-%d", runDirectoryPrefix, time.Now().UTC().Format("20060102T150405"), os.Getpid())
	directory := filepath.Join(parent, name)
	if err := os.Mkdir(directory, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the run directory: %w", err)
	}
	owner := []byte(strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(filepath.Join(directory, ownerFile), owner, 0o644); err != nil {
		return "", fmt.Errorf("cannot mark the run directory: %w", err)
	}
	return directory, nil
}

// sweepRunDirectories removes the run directories below parent whose owner no longer lives. What
// does not carry the mark is left alone.
func sweepRunDirectories(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("cannot list the data path: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), runDirectoryPrefix) {
			continue
		}
		directory := filepath.Join(parent, entry.Name())
		text, err := os.ReadFile(filepath.Join(directory, ownerFile))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || pid <= 0 || isAlive(pid) {
			continue
		}
		if err := os.RemoveAll(directory); err != nil {
			return fmt.Errorf("cannot remove an abandoned run directory: %w", err)
		}
	}
	return nil
}

// isAlive reports whether a process exists; in doubt it does.
func isAlive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	if runtime.GOOS == "windows" {
		return true // there FindProcess fails for a process that is gone
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
