package catalog

import (
	"encoding/binary"
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is an open directory whose subdirectories are listed by descriptors,
// never through links: one getdents64 per 32 KiB of names and one fstatat per
// file. It is not safe for concurrent use.
type tree struct {
	fd  int
	buf []byte
}

// openTree opens a directory. It needs no right to list it.
func openTree(dir string) (*tree, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return &tree{fd, make([]byte, 32<<10)}, nil
}

func (t *tree) close() { _ = unix.Close(t.fd) }

// list gives the entries of a directory below (rel is "." for the tree itself)
// in byte order of their names, with the sizes of the first files. whole is
// false when the directory holds more than maxEntries.
func (t *tree) list(rel string, sizes int) (out []entry, whole bool, err error) {
	fd, err := t.openBeneath(rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW)
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	for len(out) <= maxEntries && !whole {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, t.buf) })
		if err != nil {
			return nil, false, &os.PathError{Op: "list", Path: rel, Err: err}
		}
		out = appendEntries(out, t.buf[:max(n, 0)])
		whole = n <= 0
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for i := range out {
		if out[i].kind == unknownEntry || sizes > 0 && out[i].kind == fileEntry {
			stat(fd, &out[i])
			sizes--
		}
	}
	return out, whole, nil
}

// openBeneath opens what is below without following any link on the way.
func (t *tree) openBeneath(rel string, flags int) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(t.fd, rel, &unix.OpenHow{Flags: uint64(flags),
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	})
	if err == nil || !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fd, err
	}
	return t.openSteps(rel, flags)
}

// openFile opens a file below for reading, without following any link on the
// way and without waiting for the other end of a FIFO.
func (t *tree) openFile(rel string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err := t.openBeneath(rel, flags)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: rel, Err: err}
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// readlink gives the target text of a link below.
func (t *tree) readlink(rel string) (string, error) {
	fd, err := t.openBeneath(path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := retry(func() (int, error) { return unix.Readlinkat(fd, path.Base(rel), buf) })
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: rel, Err: err}
	}
	return string(buf[:n]), nil
}

// openSteps opens what is below one segment at a time, for kernels before 5.6
// and filters that do not know openat2.
func (t *tree) openSteps(rel string, flags int) (int, error) {
	at := t.fd
	segments := strings.Split(rel, "/")
	for i, segment := range segments {
		if segment == ".." {
			return -1, unix.EXDEV
		}
		step := unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
		if i == len(segments)-1 {
			step = flags
		}
		fd, err := retry(func() (int, error) { return unix.Openat(at, segment, step, 0) })
		if at != t.fd {
			_ = unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = fd
	}
	return at, nil
}

// unknownEntry is an entry whose kind the file system does not tell.
const unknownEntry entryKind = 255

// appendEntries reads the records that getdents64 has written (getdents(2),
// struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name).
func appendEntries(out []entry, b []byte) []entry {
	const head = 19
	for len(b) > head {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= head || size > len(b) {
			break
		}
		name, _, _ := strings.Cut(string(b[head:size]), "\x00")
		if name != "." && name != ".." {
			out = append(out, entry{name: name, kind: kindOfType(b[18])})
		}
		b = b[size:]
	}
	return out
}

func kindOfType(t byte) entryKind {
	switch t {
	case unix.DT_REG:
		return fileEntry
	case unix.DT_DIR:
		return dirEntry
	case unix.DT_LNK:
		return linkEntry
	case unix.DT_UNKNOWN:
		return unknownEntry
	}
	return otherEntry
}

// stat fills in the kind and size of an entry of an open directory. One that
// is gone meanwhile counts as nothing.
func stat(fd int, e *entry) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case err != nil:
		if e.kind == unknownEntry {
			e.kind = otherEntry
		}
		return
	case st.Mode&unix.S_IFMT == unix.S_IFREG:
		e.kind = fileEntry
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		e.kind = dirEntry
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		e.kind = linkEntry
	default:
		e.kind = otherEntry
	}
	e.size = st.Size
	e.id = identityOf(&st)
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
