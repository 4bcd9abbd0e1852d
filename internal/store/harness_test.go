package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the tests run themselves again as a process that dies at a
// given step.
func TestMain(m *testing.M) {
	if at := os.Getenv("STORE_TEST_DIE_AT"); at != "" {
		dieAt(at)
		return
	}
	os.Exit(m.Run())
}

// dieAt changes (or recovers) the store named by the environment and kills
// itself at the numbered step.
func dieAt(at string) {
	n, _ := strconv.Atoi(at)
	s, err := Open(os.Getenv("STORE_TEST_DIR"))
	if err != nil {
		os.Exit(3)
	}
	s.noExchange = os.Getenv("STORE_TEST_NO_EXCHANGE") != ""
	s.Step = func(string) {
		if n--; n < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	l, err := s.Lock(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	if os.Getenv("STORE_TEST_ONLY_RECOVER") != "" {
		return
	}
	if err := change(l, os.Getenv("STORE_TEST_BASE")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
}

type thing struct {
	Text string `json:"text"`
}

// change replaces a folder and an object, adds one of each and removes one of
// each, as one change.
func change(l *Lock, base string) error {
	tx, err := l.Begin("test")
	if err != nil {
		return err
	}
	for _, name := range []string{"replaced", "added"} {
		stage := tx.Folder
		if name == "added" {
			stage = tx.NewFolder
		}
		root, err := stage(base, name)
		if err != nil {
			return err
		}
		err = errors.Join(root.Mkdir("sub", 0o755), root.WriteFile("sub/f", []byte("new"), 0o644), root.Close())
		if err != nil {
			return err
		}
	}
	return errors.Join(
		tx.Remove(base, "removed"),
		tx.Put("things", "replaced", thing{"new"}), tx.Put("things", "added", thing{"new"}), tx.Delete("things", "removed"),
		tx.Commit())
}

// before builds a store and a base in the state that change expects.
func before(t *testing.T) (*Store, string) {
	t.Helper()
	dir, base := memoryDir(t), memoryDir(t)
	s, err := Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	l := lock(t, s)
	defer l.Unlock()
	for _, name := range []string{"replaced", "removed"} {
		err := errors.Join(os.MkdirAll(filepath.Join(base, name, "sub"), 0o755),
			os.WriteFile(filepath.Join(base, name, "sub", "f"), []byte("old"), 0o644),
			l.Put("things", name, thing{"old"}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, base
}

// memoryDir is a folder in memory where there is one: hundreds of synced changes
// take minutes on a busy disk and prove nothing more there.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "store-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func lock(t *testing.T, s *Store) *Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	l, err := s.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// state is "old" or "new", or says what is mixed or left over.
func state(s *Store, base string) string {
	folder := func(name string) string {
		b, err := os.ReadFile(filepath.Join(base, name, "sub", "f"))
		if err != nil {
			return "-"
		}
		return string(b)
	}
	object := func(name string) string {
		var v thing
		if err := s.Get("things", name, &v); err != nil {
			return "-"
		}
		return v.Text
	}
	all := []string{}
	for _, name := range []string{"replaced", "added", "removed"} {
		all = append(all, folder(name), object(name))
	}
	switch got := strings.Join(all, " "); got {
	case "old old - - old old":
		return "old"
	case "new new new new - -":
		return "new"
	default:
		return "mixed: " + got
	}
}

func leftovers(s *Store, base string) string {
	out := ""
	for _, p := range []string{filepath.Join(base, WorkFolder), filepath.Join(s.dir, WorkFolder)} {
		if _, err := os.Lstat(p); err == nil {
			out += p + " "
		}
	}
	if ids, err := listJSON(s.root, "journal"); err != nil || len(ids) > 0 {
		out += fmt.Sprint("journals ", ids, err)
	}
	return out
}

func runAgain(t *testing.T, s *Store, base string, step int, extra ...string) (died bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "STORE_TEST_DIE_AT="+strconv.Itoa(step), "STORE_TEST_DIR="+s.dir, "STORE_TEST_BASE="+base), extra...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return true
	}
	if err != nil {
		t.Fatalf("step %d: %v: %s", step, err, out)
	}
	return false
}
