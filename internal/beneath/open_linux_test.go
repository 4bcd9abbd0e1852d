package beneath

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenStaysBeneath: a name below a directory opens what lies there and
// nothing outside, whatever links and special files there are.
func TestOpenStaysBeneath(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mkdirs(t, base, "root/dir/file", "outside/file", "rooted/file")
	in := func(name string) string { return filepath.Join(base, "root", name) }
	for link, to := range map[string]string{
		"near": "dir/file", "away": "../outside/file", "absolute": in("dir/file"), "neighbour": "../rooted/file",
		"folder": "../outside", "dir/back": "../dir/file", "dir/far": "../../outside/file", "magic": "/proc/self/cwd", "loop": "loop",
	} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(in("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Held open, so that opening it by mistake is an error and not a wait.
	fifo, err := os.OpenFile(in("fifo"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	l, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root, err := OpenRoot(in("."))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, ok := range map[string]bool{
		"dir/file": true, "near": true, "dir/back": true, "dir/../near": true,
		"away": false, "absolute": false, "neighbour": false, "folder/file": false, "dir/far": false, "magic": false, "loop": false,
		"../outside/file": false, "../root/near": false, "/etc/passwd": false, in("near"): false, "dir": false, "fifo": false, "socket": false, "none": false, "": false,
	} {
		p, err := OpenRegular(root, name)
		if (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil || !ok {
			p.Close()
			continue
		}
		if _, err := io.ReadAll(p.File); err != nil || p.Path != in("dir/file") {
			t.Errorf("%q is %s: %v", name, p.Path, err)
		}
		p.Close()
	}
	for name, ok := range map[string]bool{"dir": true, ".": true, "folder": false, "..": false, "near": false, "/": false} {
		p, err := OpenDir(root, name)
		if (err == nil) != ok {
			t.Errorf("directory %q: %v", name, err)
		}
		p.Close()
	}
	if _, err := OpenRoot(in("near")); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a root that is a file: %v", err)
	}
}
