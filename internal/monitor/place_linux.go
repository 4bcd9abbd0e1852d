package monitor

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openRoot opens a root once; later lookups start at the descriptor.
func openRoot(path string) (place, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return place{}, &os.PathError{Op: "open root", Path: path, Err: err}
	}
	return named(fd, path)
}

// openDir opens a directory below base, never outside it.
func openDir(base place, rel string) (place, error) {
	return beneath(base, rel, unix.O_PATH|unix.O_DIRECTORY)
}

// openRegular opens a regular file below base for reading, never outside it.
// It is known to be regular before it is opened: opening a FIFO would hang and
// opening a device acts.
func openRegular(base place, rel string) (place, error) {
	p, err := beneath(base, rel, unix.O_PATH)
	if err != nil {
		return place{}, err
	}
	defer p.close()
	var st unix.Stat_t
	if err := unix.Fstat(int(p.file.Fd()), &st); err != nil {
		return place{}, &os.PathError{Op: "stat", Path: p.path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return place{}, fmt.Errorf("open %s: not a regular file", p.path)
	}
	f, err := os.Open(fdPath(int(p.file.Fd())))
	if err != nil {
		return place{}, &os.PathError{Op: "open", Path: p.path, Err: errors.Unwrap(err)}
	}
	return place{f, p.path}, nil
}

// beneath opens rel by one lookup that the kernel keeps below base.
func beneath(base place, rel string, flags uint64) (place, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(int(base.file.Fd()), rel, &how)
		if err == nil {
			return named(fd, rel)
		}
		// EAGAIN: something was renamed meanwhile and the kernel could not
		// vouch for the lookup.
		if (err != unix.EAGAIN && err != unix.EINTR) || try == 16 {
			return place{}, &os.PathError{Op: "open", Path: rel, Err: err}
		}
	}
}

// named gives an open descriptor its real path.
func named(fd int, path string) (place, error) {
	f := os.NewFile(uintptr(fd), path)
	real, err := os.Readlink(fdPath(fd))
	if err != nil {
		_ = f.Close()
		return place{}, fmt.Errorf("find the real path of %s: %w", path, err)
	}
	return place{f, real}, nil
}

// fdPath names an open descriptor of this process.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
