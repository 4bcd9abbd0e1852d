package capture

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe whose read end can be waited for with a deadline. The
// write end stays blocking: the script must not see EAGAIN.
func pipe() (r, w *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	// A plain user may be over its share of pipe memory; the pipe then keeps
	// the stock size and only drains more slowly.
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETPIPE_SZ, pipeSize)
	if err := unix.SetNonblock(p[0], true); err != nil {
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(p[0]), "read end"), os.NewFile(uintptr(p[1]), "write end"), nil
}

// held reports whether somebody has the write end open: a pipe without writers
// hangs up, with or without bytes in it.
func (s *Stream) held() bool {
	raw, err := s.r.SyscallConn()
	if err != nil {
		return false // closed: this process ended it
	}
	held := false
	_ = raw.Control(func(fd uintptr) { // fails only when closed
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		held = err != nil || n == 0 || p[0].Revents&unix.POLLHUP == 0
	})
	return held
}

// drop takes out of the pipe what waits in it, whole pages at a time and not
// copied, and says how many bytes that was. It leaves the last words: they are
// read next and are a whole tail, so nothing before the gap gets next to them.
func (s *Stream) drop(null *os.File) int {
	n := int64(0)
	if raw, err := s.r.SyscallConn(); err == nil { // else it is closed, as the next read says
		_ = raw.Control(func(fd uintptr) {
			if waiting, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil && waiting > tailSize { // FIONREAD of pipe(7)
				n, _ = unix.Splice(int(fd), nil, int(null.Fd()), nil, waiting-tailSize, unix.SPLICE_F_NONBLOCK)
			}
		})
	}
	return int(max(n, 0))
}
