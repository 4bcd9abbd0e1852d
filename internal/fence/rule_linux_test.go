package fence

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
)

// TestARuleOnALinkOpensNothing: a path that was looked up and became a link
// since must not open what the link leads to.
func TestARuleOnALinkOpensNothing(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	if err := errors.Join(os.Mkdir(real, 0o755), os.WriteFile(filepath.Join(real, "a"), nil, 0o644), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{real: nil, link: unix.EACCES, filepath.Join(link, "a"): unix.EACCES, filepath.Join(base, "none"): unix.EACCES} {
		if got := readUnder(t, path, filepath.Join(real, "a")); !errors.Is(got, want) || (want == nil && got != nil) {
			t.Errorf("a rule on %s: reading gives %v, want %v", path, got, want)
		}
	}
}

// readUnder opens a file on a thread, which ends then, that one rule confines.
func readUnder(t *testing.T, rule, file string) error {
	t.Helper()
	answer := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		attr := unix.LandlockRulesetAttr{Handled_access_fs: handledFS(1)}
		set, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
		if errno != 0 {
			answer <- errno
			return
		}
		defer unix.Close(int(set))
		err := errors.Join(addPath(int(set), order.Rule{Path: rule, Access: order.AccessRead}, handledFS(1)), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 || err != nil {
			answer <- errors.Join(err, errno)
			return
		}
		fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		answer <- err
	}()
	return <-answer
}
