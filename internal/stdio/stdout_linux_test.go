package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the process whose standard output is taken:
// that cannot be undone in this one.
func TestMain(m *testing.M) {
	if os.Getenv("SKILL_MCP_TEST_TAKE_STDOUT") == "" {
		os.Exit(m.Run())
	}
	os.Exit(takeAndPrint())
}

func takeAndPrint() int {
	out, err := TakeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("a library prints")
	_, _ = syscall.Write(1, []byte("and another\n"))
	flags, err := unix.FcntlInt(out.Fd(), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		fmt.Fprintln(os.Stderr, "the private descriptor would be inherited", err)
		return 1
	}
	_, _ = fmt.Fprintln(out, "a message")
	return 0
}

func TestOnlyMessagesReachStandardOutput(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SKILL_MCP_TEST_TAKE_STDOUT=1")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errOut.String())
	}
	if out.String() != "a message\n" || !strings.Contains(errOut.String(), "a library prints\nand another\n") {
		t.Errorf("stdout %q, stderr %q", out.String(), errOut.String())
	}
}

func TestPipeWithoutAReaderIsAnErrorAndNotASignal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	wr := newWriter(w)
	wr.Queue([]byte("{}"), false)
	wr.Flush()
	select {
	case <-wr.dead:
		if !errors.Is(wr.broken, syscall.EPIPE) {
			t.Errorf("broken by %v", wr.broken)
		}
	default:
		t.Error("the writer has not noticed")
	}
}
