package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Descriptors of the monitor, as the launch phase passes them.
const (
	socketFD = 3 // the stream to the front
	bootFD   = 4 // the owner's hand-over, in memory
)

// handover takes both over: children must not get them, and reading the socket
// must not hold a thread.
func handover() (socket io.ReadWriteCloser, boot io.ReadCloser, err error) {
	for _, fd := range []int{socketFD, bootFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, nil, fmt.Errorf("take descriptor %d over: %w", fd, err)
		}
	}
	if err := unix.SetNonblock(socketFD, true); err != nil {
		return nil, nil, fmt.Errorf("take descriptor %d over: %w", socketFD, err)
	}
	return os.NewFile(socketFD, "wire"), os.NewFile(bootFD, "hand-over"), nil
}
