package beneath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLookup builds a small tree with links and looks a name up in it, as the
// monitor does for the front. The model has no kernel's help: what is opened is
// a regular file whose real path lies below the base, and a name that stays
// inside by its letters and meets no link is found exactly when it is there.
func FuzzLookup(f *testing.F) {
	for _, s := range []string{"a/b.txt", "link/b.txt", "out/secret", "../secret", "a/../a/b.txt", "up", "abs", "a", "", "a/b.txt/", "./a/b.txt", "deep/self/deep/self/a.txt", "fifo"} {
		for _, to := range []string{"a", "..", "../outside", "/etc", "a/b.txt", ".", "/proc/self/cwd", "link"} {
			f.Add(s, to)
		}
	}
	f.Fuzz(func(t *testing.T, name, to string) {
		if len(name) > 200 || len(to) > 200 || strings.ContainsRune(to, 0) || to == "" {
			return
		}
		top := t.TempDir()
		mkdirs(t, top, "outside/secret", "base/a/b.txt", "base/deep/a.txt")
		base := filepath.Join(top, "base")
		for _, link := range []string{"link", "out", "up", "abs", "a/link", "deep/self"} {
			if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
				return // longer than a link may be
			}
		}
		root, err := OpenRoot(base)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		got, err := OpenRegular(root, name)
		if err == nil {
			defer got.Close()
			checkInside(t, base, name, got)
		}
		if plain := filepath.Join(base, name); Local(name) && !meetsLink(base, name) {
			info, missing := os.Lstat(plain)
			if isFile := missing == nil && info.Mode().IsRegular(); isFile != (err == nil) {
				t.Fatalf("%q: a file there: %v; opened: %v", name, isFile, err)
			}
		}
	})
}

// checkInside holds what was opened against its real path.
func checkInside(t *testing.T, base, name string, got Place) {
	t.Helper()
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	info, err := got.File.Stat()
	if err != nil || !info.Mode().IsRegular() {
		t.Fatalf("%q opened %v (%v)", name, info, err)
	}
	there, err := os.Stat(got.Path)
	if err != nil || !os.SameFile(info, there) || !strings.HasPrefix(got.Path, real+"/") {
		t.Fatalf("%q opened %q, outside %q or not what it is called (%v)", name, got.Path, real, err)
	}
}

// meetsLink reports whether a link lies on the way.
func meetsLink(base, name string) bool {
	at := base
	for _, part := range strings.Split(name, "/") {
		at = filepath.Join(at, part)
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
