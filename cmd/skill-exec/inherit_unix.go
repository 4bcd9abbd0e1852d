//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// inherited takes a descriptor over: children must not get it, and reading it
// must not hold a thread.
func inherited(fd int) *os.File {
	unix.CloseOnExec(fd)
	_ = unix.SetNonblock(fd, true) // a regular file stays as it is
	return os.NewFile(uintptr(fd), "inherited descriptor")
}
