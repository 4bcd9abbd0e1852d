package catalog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tree is an open directory whose subdirectories are listed by descriptors,
// never through links: one getdents64 per 32 KiB of names and one fstatat per
// file. It is not safe for concurrent use.
type tree struct {
	fd      int
	buf     *[32 << 10]byte // for getdents64; of lists, from the first list on
	entries []entry         // of the last directory
	path    []byte          // of the last entry
}

// openTree opens a directory. It needs no right to list it.
func openTree(dir string) (*tree, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return &tree{fd: fd}, nil
}

// lists are the memory that directories are listed into: most skills have two
// small ones, which need a fraction of it.
var lists = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (t *tree) close() {
	_ = unix.Close(t.fd)
	if t.buf != nil {
		lists.Put(t.buf)
		t.buf = nil
	}
}

// holds says whether a directory of the tree has something of a name, in one
// call. sure is false when that could not be found out so.
func (t *tree) holds(dir, name string) (there, sure bool) {
	var st unix.Stat_t
	err := unix.Fstatat(t.fd, dir+"/"+name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil, err == nil || errors.Is(err, unix.ENOENT)
}

// list gives the entries of a directory below (rel is "." for the tree itself)
// in no order; they are good until the next call. sizes asks for the sizes of
// files. whole is false when the directory holds more than maxEntries.
func (t *tree) list(rel string, sizes bool) (out []entry, whole bool, err error) {
	fd, err := t.openBeneath(rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW)
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: rel, Err: err}
	}
	defer unix.Close(fd)
	if t.buf == nil {
		t.buf = lists.Get().(*[32 << 10]byte)
	}
	t.entries = t.entries[:0]
	t.path = append(t.path[:0], below(rel)...)
	for len(t.entries) <= maxEntries && !whole {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, t.buf[:]) })
		if err != nil {
			return nil, false, &os.PathError{Op: "list", Path: rel, Err: err}
		}
		t.take(fd, t.buf[:max(n, 0)], sizes)
		whole = n <= 0
	}
	return t.entries, whole, nil
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

// sizes fills in the sizes of files. Each directory is opened once.
func (t *tree) sizes(files []File) {
	dirs := map[string][]int{}
	for i, f := range files {
		dir := path.Dir(f.Path)
		dirs[dir] = append(dirs[dir], i)
	}
	for dir, all := range dirs {
		runtime.Gosched() // as in the walk
		fd, err := t.openBeneath(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW)
		if err != nil {
			continue
		}
		skip := len(below(dir))
		for _, i := range all {
			t.path = append(append(t.path[:0], files[i].Path[skip:]...), 0)
			e := entry{}
			if stat(fd, &t.path[0], &e); e.kind == fileEntry {
				files[i].Size = e.size
			}
		}
		_ = unix.Close(fd)
	}
}

// take reads the records that getdents64 has written (getdents(2), struct
// linux_dirent64: ino 8, off 8, reclen 2, type 1, name, NUL). Files are asked
// for their size at once, by the name in the record.
func (t *tree) take(fd int, b []byte, sizes bool) {
	const head = 19
	prefix := len(t.path)
	for len(b) > head {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= head || size > len(b) {
			return
		}
		name := b[head:size]
		end := bytes.IndexByte(name, 0)
		if end < 0 {
			return
		}
		kind := kindOfType(b[18])
		b = b[size:]
		if kind == dirEntry && (string(name[:end]) == "." || string(name[:end]) == "..") {
			continue
		}
		path := string(append(t.path, name[:end]...))
		e := entry{name: path[prefix:], path: path, kind: kind}
		if kind == unknownEntry || sizes && kind == fileEntry {
			stat(fd, &name[0], &e)
		}
		t.entries = append(t.entries, e)
	}
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

// stat fills in the kind and size of an entry of an open directory, by its
// name with a NUL behind. One that is gone meanwhile counts as nothing.
//
// The call goes past the scheduler (RawSyscall), which takes a third of the
// time of a scan off: a directory that was just listed answers from memory.
func stat(fd int, name *byte, e *entry) {
	var st unix.Stat_t
	_, _, errno := unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	switch mode := st.Mode & unix.S_IFMT; {
	case errno != 0:
		if e.kind == unknownEntry {
			e.kind = otherEntry
		}
		return
	case mode == unix.S_IFREG:
		e.kind = fileEntry
	case mode == unix.S_IFDIR:
		e.kind = dirEntry
	case mode == unix.S_IFLNK:
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
