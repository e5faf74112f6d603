//go:build unix

package program_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pyropedb/pyrope/benchmark/program"
)

// asProgram in the environment makes the test binary a benchmark that runs until it is interrupted.
const asProgram = "PYROPE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	program.Main(func(arguments []string, stdout, _ io.Writer, interrupted *atomic.Bool) int {
		fmt.Fprintln(stdout, "running", len(arguments))
		for deadline := time.Now().Add(20 * time.Second); !interrupted.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				return program.Failure
			}
		}
		return program.Code(program.ErrInterrupted)
	})
}

func TestInterruptEndsARunEarly(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self, "one", "two")
	command.Env = append(os.Environ(), asProgram+"=1")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if strings.TrimSpace(line) != "running 2" || err != nil {
		t.Errorf("it says %q, %v", line, err)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := command.Wait(); !errors.As(err, &exit) || exit.ExitCode() != program.Interrupted {
		t.Errorf("it ends with %v, want exit code %d", err, program.Interrupted)
	}
}
