package capture

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dropper counts bytes of a pipe without copying them: splice(2) moves whole
// pages to /dev/null. The last bytes stay in the pipe, to be read.
type dropper struct {
	pipe syscall.RawConn
	null *os.File // nil where this does not work: then all is read
}

func (s *Stream) newDropper() *dropper {
	d := &dropper{}
	var err error
	if d.pipe, err = s.r.SyscallConn(); err != nil {
		return d // closed: reading says so too
	}
	d.null, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0) // without it all is read
	return d
}

// size is how much to read before each drop: what the last words need at most.
func (d *dropper) size() int {
	if d.null == nil {
		return chunkSize
	}
	return tailSize
}

// drop takes out of the pipe what is there now but for the last words, and says
// how many bytes that was. It does not wait.
//
// What it leaves is read next and is a whole tail, so nothing that was before
// the dropped bytes is taken for their neighbour.
func (d *dropper) drop() int {
	if d.null == nil {
		return 0
	}
	total := 0
	err := d.pipe.Control(func(fd uintptr) {
		waiting, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD, as pipe(7) calls it
		for err == nil && waiting > tailSize {
			var n int64
			n, err = unix.Splice(int(fd), nil, int(d.null.Fd()), nil, waiting-tailSize, unix.SPLICE_F_NONBLOCK)
			if n <= 0 {
				return
			}
			total, waiting = total+int(n), waiting-int(n)
		}
	})
	if err != nil {
		return 0
	}
	return total
}

// close gives the descriptor back.
func (d *dropper) close() {
	if d.null != nil {
		_ = d.null.Close()
	}
}
