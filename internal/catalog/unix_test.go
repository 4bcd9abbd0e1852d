//go:build unix

package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// within ends the test when f takes longer than anything but a hang would.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}

func TestNothingWaitsForAFIFO(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/x": "text", "b/x": ""})
	for _, f := range []string{"a/fifo", "b/SKILL.md", "fifo"} {
		if err := syscall.Mkfifo(filepath.Join(dir, f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	within(t, func() {
		c := scan(dir)
		if d := cmp.Diff([]string{"unreadable-skill-md b"}, reasons(c, dir)); d != "" {
			t.Error(d)
		}
		a := c.Skill("a")
		if got := a.Read("fifo", MaxRead); got.Err == nil || !strings.Contains(got.Err.Error(), "regular file") {
			t.Errorf("read of a FIFO: %v", got.Err)
		}
		if _, err := a.Digest(context.Background()); err != nil {
			t.Errorf("digest: %v", err)
		}
		// A file that becomes a FIFO between the look and the open.
		found, err := a.Resolve("x")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "a/x")); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "a/x"), 0o644); err != nil {
			t.Fatal(err)
		}
		var refused *Refused
		if _, _, err := found.read(10); !errors.As(err, &refused) {
			t.Errorf("read of what became a FIFO: %v", err)
		}
	})
}

func TestWhatBecomesALinkAfterItWasResolvedIsNotFollowed(t *testing.T) {
	for name, swap := range map[string]string{"the file": "a/sub/x", "its directory": "a/sub"} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/sub/x": "inside", "out/x": "outside"})
			found, err := scan(dir).Skill("a").Resolve("sub/x")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, swap)); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(dir, "out")
			if swap == "a/sub/x" {
				target += "/x"
			}
			if err := os.Symlink(target, filepath.Join(dir, swap)); err != nil {
				t.Fatal(err)
			}
			if data, _, err := found.read(10); err == nil {
				t.Errorf("read %q", data)
			}
		})
	}
}

func TestAnUnreadableDirectoryIsReported(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("not run: root reads everything")
	}
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/closed/x": "", "shut/SKILL.md": good("shut"), "a/in": "->closed/x"})
	for _, d := range []string{"a/closed", "shut"} {
		path := filepath.Join(dir, d)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
	}
	c := scan(dir)
	if d := cmp.Diff([]string{"unreadable-path a/closed", "unreadable-skill-md shut"}, reasons(c, dir)); d != "" {
		t.Error(d)
	}
	if _, err := c.Skill("a").Digest(t.Context()); err == nil || Hint(err) == "" {
		t.Errorf("a bundle that cannot be read whole is bound to an approval: %v", err)
	}
}

func TestScansKeepNoDescriptors(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/sub/x": "x", "b/SKILL.md": "bad", "c/x": ""})
	count := func() int {
		fds, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skipf("not run: %v", err)
		}
		return len(fds)
	}
	opts := Options{Roots: []string{dir}}
	c := Scan(t.Context(), opts)
	before := count()
	for range 1000 {
		opts.Before = c
		c = Scan(t.Context(), opts)
		if _, err := c.Skill("a").Digest(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestALaterScanLeavesTheOldCatalogAsItWas(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a")})
	opts := Options{Roots: []string{dir}}
	old := Scan(t.Context(), opts)
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	opts.Before = old
	next := Scan(t.Context(), opts)
	if next.Skill("a") != nil || next.Skill("b") == nil || old.Skill("a") == nil || old.Skill("b") != nil {
		t.Error("the two catalogs are not apart")
	}
	if next.hashes != old.hashes {
		t.Error("what was known of files is lost")
	}
}

// TestOnlyPlainFilesAreOpenedInOneStep: whatever is not a regular file below
// the skill, reached without links, is left to Resolve.
func TestOnlyPlainFilesAreOpenedInOneStep(t *testing.T) {
	dir := plant(t, map[string]string{"a/SKILL.md": good("a"), "a/sub/x": "inside", "out/x": "outside", "a/link": "->sub/x", "a/leave": "->../out/x", "a/dir": "->sub"})
	if err := syscall.Mkfifo(filepath.Join(dir, "a", "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"sub/x": "inside", "link": "inside", "dir/x": "inside", "leave": "", "fifo": "", "sub": "", "none": "", "sub/x/y": "",
	} {
		f, size := openPlain(filepath.Join(dir, "a"), path)
		if plain := f != nil; plain != (path == "sub/x" && runtime.GOOS == "linux") || plain && size != 6 {
			t.Errorf("%s: opened in one step %v, of size %d", path, plain, size)
		}
		if f != nil {
			_ = f.Close()
		}
		if got := scan(dir).Skill("a").Read(path, MaxRead); got.Data != want || (got.Err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", path, got.Data, got.Err)
		}
	}
}
