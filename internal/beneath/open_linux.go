package beneath

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenRoot opens a root once; later lookups start at the descriptor.
func OpenRoot(path string) (Place, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Place{}, &os.PathError{Op: "open root", Path: path, Err: err}
	}
	return named(fd, path)
}

// OpenDir opens a directory below base, never outside it.
func OpenDir(base Place, rel string) (Place, error) {
	return beneath(base, rel, unix.O_PATH|unix.O_DIRECTORY)
}

// OpenRegular opens a regular file below base for reading, never outside it.
// It is known to be regular before it is opened: opening a FIFO would hang and
// opening a device acts.
func OpenRegular(base Place, rel string) (Place, error) {
	p, err := beneath(base, rel, unix.O_PATH)
	if err != nil {
		return Place{}, err
	}
	defer p.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(p.File.Fd()), &st); err != nil {
		return Place{}, &os.PathError{Op: "stat", Path: p.Path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Place{}, fmt.Errorf("open %s: not a regular file", p.Path)
	}
	f, err := os.Open(fdPath(int(p.File.Fd())))
	if err != nil {
		return Place{}, &os.PathError{Op: "open", Path: p.Path, Err: errors.Unwrap(err)}
	}
	return Place{f, p.Path}, nil
}

// beneath opens rel by one lookup that the kernel keeps below base.
func beneath(base Place, rel string, flags uint64) (Place, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(int(base.File.Fd()), rel, &how)
		if err == nil {
			return named(fd, rel)
		}
		// EAGAIN: something was renamed meanwhile and the kernel could not
		// vouch for the lookup.
		if (err != unix.EAGAIN && err != unix.EINTR) || try == 16 {
			return Place{}, &os.PathError{Op: "open", Path: rel, Err: err}
		}
	}
}

// named gives an open descriptor its real path.
func named(fd int, path string) (Place, error) {
	f := os.NewFile(uintptr(fd), path)
	real, err := os.Readlink(fdPath(fd))
	if err != nil {
		_ = f.Close()
		return Place{}, fmt.Errorf("find the real path of %s: %w", path, err)
	}
	return Place{f, real}, nil
}

// fdPath names an open descriptor of this process.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
