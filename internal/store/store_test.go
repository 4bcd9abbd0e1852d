package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAKillAtAnyStepLeavesOldOrNew(t *testing.T) {
	for _, mode := range []string{"", "STORE_TEST_NO_EXCHANGE=1"} {
		sawOld, sawNew := 0, 0
		for step := 0; ; step++ {
			s, base := before(t)
			died := runAgain(t, s, base, step, mode)
			lock(t, s).Unlock()
			got := state(s, base)
			if left := leftovers(s, base); left != "" || strings.HasPrefix(got, "mixed") {
				t.Fatalf("%q step %d: %s, left over: %s", mode, step, got, left)
			}
			if !died {
				if got != "new" {
					t.Fatalf("the whole change gives %s", got)
				}
				break
			}
			if got == "old" {
				sawOld++
			} else {
				sawNew++
			}
		}
		if sawOld < 10 || sawNew < 2 {
			t.Errorf("%q: %d kills gave old, %d new: the steps are not where they should be", mode, sawOld, sawNew)
		}
	}
}

func TestAKillDuringRecoveryIsRecoveredToo(t *testing.T) {
	for _, mode := range []string{"", "STORE_TEST_NO_EXCHANGE=1"} {
		// A step late among the renames, so that recovery has much to undo.
		first := 0
		for s, base := before(t); ; first++ {
			names := []string{}
			s.Step = func(name string) { names = append(names, name) }
			l := lock(t, s)
			if err := change(l, base); err != nil {
				t.Fatal(err)
			}
			l.Unlock()
			for first = range names {
				if names[first] == "change 5" {
					break
				}
			}
			break
		}
		for step := 0; ; step++ {
			s, base := before(t)
			if !runAgain(t, s, base, first, mode) {
				t.Fatal("the change did not die")
			}
			died := runAgain(t, s, base, step, mode, "STORE_TEST_ONLY_RECOVER=1")
			lock(t, s).Unlock()
			if got, left := state(s, base), leftovers(s, base); got != "old" || left != "" {
				t.Fatalf("%q step %d: %s, left over: %s", mode, step, got, left)
			}
			if !died {
				if step < 6 {
					t.Errorf("recovery has only %d steps", step)
				}
				break
			}
		}
	}
}

func TestAnUnreadableJournalBlocksChangesNotReads(t *testing.T) {
	s, base := before(t)
	journals := filepath.Join(s.dir, "journal")
	for name, text := range map[string]string{
		"no JSON":         "{",
		"another version": `{"version":2,"id":"ID","what":"x","phase":"done","bases":[],"ops":[]}`,
		"a path":          `{"version":1,"id":"ID","what":"x","phase":"done","bases":["/x"],"ops":[{"base":0,"live":"../x","action":"put"}]}`,
		"a bad base":      `{"version":1,"id":"ID","what":"x","phase":"done","bases":["x"],"ops":[]}`,
		"a bad index":     `{"version":1,"id":"ID","what":"x","phase":"done","bases":["/x"],"ops":[{"base":1,"live":"x","action":"put"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			id := randomID()
			file := filepath.Join(journals, id+".json")
			if err := errors.Join(os.MkdirAll(journals, 0o700), os.WriteFile(file, []byte(strings.ReplaceAll(text, "ID", id)), 0o600)); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(file)
			_, err := s.Lock(context.Background())
			var blocked *BlockedError
			if !errors.As(err, &blocked) || !strings.Contains(err.Error(), file) {
				t.Fatalf("lock: %v", err)
			}
			if got := state(s, base); got != "old" {
				t.Errorf("reading: %s", got)
			}
		})
	}
	lock(t, s).Unlock()
}

func TestRecoveryDoesNotThrowAwayLaterWork(t *testing.T) {
	s, base := before(t)
	names := []string{}
	s.Step = func(name string) { names = append(names, name) }
	l := lock(t, s)
	if err := change(l, base); err != nil {
		t.Fatal(err)
	}
	l.Unlock()
	s, base = before(t)
	for step, name := range names {
		if name == "change 5" && !runAgain(t, s, base, step) {
			t.Fatal("the change did not die")
		}
	}
	edited := filepath.Join(base, "added", "sub", "f")
	if err := os.WriteFile(edited, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock(context.Background()); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Fatalf("lock: %v", err)
	}
	if b, err := os.ReadFile(edited); string(b) != "mine" {
		t.Fatalf("the edit is gone: %v", err)
	}
	if err := os.Rename(filepath.Join(base, "added"), filepath.Join(base, "kept")); err != nil {
		t.Fatal(err)
	}
	lock(t, s).Unlock()
	if got, left := state(s, base), leftovers(s, base); got != "old" || left != "" {
		t.Fatalf("%s, left over %s", got, left)
	}
}

func TestOneLockAtATime(t *testing.T) {
	s, base := before(t)
	l := lock(t, s)
	other, err := Open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := other.Lock(ctx); err == nil {
		t.Fatal("two locks at once")
	}
	if got := state(other, base); got != "old" {
		t.Errorf("reading under another's lock: %s", got)
	}
	l.Unlock()
	lock(t, other).Unlock()
}

func TestAFailedStepIsUndone(t *testing.T) {
	s, base := before(t)
	s.Step = func(name string) {
		if name == "change 2" { // the folder to remove goes away by another hand
			_ = os.Rename(filepath.Join(base, "removed"), filepath.Join(base, "elsewhere"))
		}
	}
	l := lock(t, s)
	defer l.Unlock()
	err := change(l, base)
	var commit *CommitError
	if !errors.As(err, &commit) || commit.Rollback != nil {
		t.Fatalf("commit: %v", err)
	}
	if err := os.Rename(filepath.Join(base, "elsewhere"), filepath.Join(base, "removed")); err != nil {
		t.Fatal(err)
	}
	if got, left := state(s, base), leftovers(s, base); got != "old" || left != "" {
		t.Fatalf("%s, left over %s", got, left)
	}
}

func TestANewFolderTakesNobodysPlace(t *testing.T) {
	s, base := before(t)
	l := lock(t, s)
	defer l.Unlock()
	for name, make := range map[string]func(string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o755) },
		"a file":   func(p string) error { return os.WriteFile(p, []byte("mine"), 0o644) },
		"a link":   func(p string) error { return os.Symlink("/nowhere", p) },
	} {
		target := filepath.Join(base, "taken")
		if err := make(target); err != nil {
			t.Fatal(err)
		}
		tx, err := l.Begin("test")
		if err != nil {
			t.Fatal(err)
		}
		root, err := tx.NewFolder(base, "taken")
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		if err := tx.Commit(); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Lstat(target); err != nil || name == "a link" && info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is gone: %v", name, err)
		}
		if left := leftovers(s, base); left != "" {
			t.Error(left)
		}
		os.Remove(target)
	}
}

func TestObjectNamesAreChecked(t *testing.T) {
	s, _ := before(t)
	l := lock(t, s)
	defer l.Unlock()
	for _, bad := range [][2]string{{"../x", "a"}, {"things", "../a"}, {"things", ".a"}, {"journal", "a"}, {"spool", "a"}, {"things", ""}, {"", "a"}, {"things", "a/b"}} {
		if err := l.Put(bad[0], bad[1], thing{}); err == nil {
			t.Errorf("put %q was allowed", bad)
		}
	}
	if err := s.Get("things", "none", &thing{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if ids, err := s.List("things"); err != nil || strings.Join(ids, " ") != "removed replaced" {
		t.Errorf("list: %v %v", ids, err)
	}
}

func TestSpoolLeavesNothing(t *testing.T) {
	s, _ := before(t)
	sp, err := s.Spool()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sp.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "spool"))
	if err != nil || len(entries) != 0 {
		t.Errorf("spool holds %v, %v", entries, err)
	}
	if err := sp.Close(); err != nil {
		t.Error(err)
	}
}
