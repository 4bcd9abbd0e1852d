package catalog

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Most paths of a skill have no link on the way. The kernel can say so while it
// opens the file, which takes the place of asking about each segment of each
// path: 7 system calls for a file instead of 17.

// openPlain opens the regular file at a path of a skill that is reached without
// any link below the skill's directory. It gives nil for anything else, also
// where the kernel has no openat2: Resolve then finds out what it is.
// Precondition: CheckPath has passed the path.
func openPlain(dir, path string) (f opened, size int64) {
	at, err := retry(func() (int, error) {
		return unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, 0
	}
	defer unix.Close(at)
	// Looked at before it is opened: opening a FIFO or a device does something.
	var st unix.Stat_t
	if err := unix.Fstatat(at, path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, 0
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat2(at, path, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	if err != nil {
		return nil, 0
	}
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return nil, 0
	}
	return plainFile(fd), st.Size
}

// plainFile is a descriptor of a regular file. An os.File would ask whether it
// can be waited for, which a regular file cannot.
type plainFile int

// Read is io.Reader's.
func (f plainFile) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), b)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Close gives the descriptor back.
func (f plainFile) Close() error { return os.NewSyscallError("close", unix.Close(int(f))) }
