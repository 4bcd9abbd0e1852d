package auditfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lend serves path over a fresh socket and gives the front's end.
func lend(t *testing.T, path string) *os.File {
	t.Helper()
	front, monitor, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(monitor.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	monitor.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Serve(fd, path)
	}()
	t.Cleanup(func() {
		front.Close()
		<-done
	})
	return front
}

func TestTheFileIsHandedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	front := lend(t, path)
	for range 2 {
		f, err := Ask(int(front.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("line\n"); err != nil {
			t.Fatal(err)
		}
		flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_APPEND == 0 || flags&unix.O_ACCMODE != unix.O_WRONLY {
			t.Errorf("%v: flags %#x: not for appending only", err, flags)
		}
		if fd, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || fd&unix.FD_CLOEXEC == 0 {
			t.Errorf("%v: a program could inherit it", err)
		}
		f.Close()
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "line\nline\n" {
		t.Errorf("%v: %q", err, text)
	}
}

func TestWhyThereIsNoFile(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: "too many levels", dir: "is a directory", fifo: "no such device", filepath.Join(dir, "none", "audit"): "no such file",
		filepath.Join(dir, strings.Repeat("x", 4000)): "open the audit file",
	} {
		if _, err := Ask(int(lend(t, path).Fd())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestAHelperThatHasEnded(t *testing.T) {
	front, monitor, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	monitor.Close()
	if _, err := Ask(int(front.Fd())); err == nil {
		t.Error("a file came from nobody")
	}
}
