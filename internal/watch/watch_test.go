package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// told waits for a word.
func told(t *testing.T, c <-chan string, after string) {
	t.Helper()
	select {
	case _, ok := <-c:
		if !ok {
			t.Fatalf("%s: the channel was closed", after)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: nothing was told", after)
	}
}

func TestChangesAreTold(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	ctx, cancel := context.WithCancel(context.Background())
	c, err := Roots(ctx, []string{root}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "a", "SKILL.md")
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"a root that comes later", func() error { return os.MkdirAll(filepath.Dir(file), 0o755) }},
		{"a new file in a new folder", func() error { return os.WriteFile(file, []byte("x"), 0o644) }},
		{"an edit", func() error { return os.WriteFile(file, []byte("y"), 0o644) }},
		{"a rename", func() error { return os.Rename(filepath.Dir(file), filepath.Join(root, "b")) }},
		{"a removal", func() error { return os.RemoveAll(filepath.Join(root, "b")) }},
	} {
		must(step.do())
		told(t, c, step.name)
	}
	cancel()
	for range c { // closed when ctx ended
	}
}

// A burst is told once, not once a file.
func TestABurstIsToldOnce(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := Roots(ctx, []string{root}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(root, string(rune('a'+i%26))+"x"), []byte{byte(i)}, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	told(t, c, "a burst")
	select {
	case <-c:
		t.Error("told twice")
	case <-time.After(2 * settle):
	}
}
