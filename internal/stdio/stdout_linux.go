package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TakeStdout moves the real standard output to a private descriptor and points
// descriptor 1 at standard error, so that nothing but this package can write
// into the stream of messages: not a library that prints, not a child.
//
// Precondition: nothing was written to standard output yet.
func TakeStdout() (*os.File, error) {
	// 3: never one of the standard three, even when some of them are closed.
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("take standard output: duplicate descriptor 1: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("take standard output: point descriptor 1 at standard error: %w", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}
