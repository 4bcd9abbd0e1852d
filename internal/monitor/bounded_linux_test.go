package monitor

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAFrontThatDoesNotReadIsGone: output is sent while a run lasts, and a front
// that takes none of it must not keep the monitor from ending the run in time.
func TestAFrontThatDoesNotReadIsGone(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	front, mine := os.NewFile(uintptr(pair[0]), "front"), os.NewFile(uintptr(pair[1]), "monitor")
	defer front.Close()
	defer mine.Close()
	b := bounded{mine, 20 * time.Millisecond}
	for range 1000 { // 64 MiB, more than any socket holds
		if _, err = b.Write(make([]byte, 64<<10)); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v", err)
	}
}
