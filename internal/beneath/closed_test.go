//go:build unix

package beneath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosed: what another user cannot read is named with what would open it.
func TestClosed(t *testing.T) {
	top, err := os.MkdirTemp("/tmp", "closed-") // below nothing that is closed itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	file := filepath.Join(top, "a", "b", "script.js")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	modes := func(script, a, b, all os.FileMode) {
		for path, mode := range map[string]os.FileMode{file: script, filepath.Join(top, "a"): a, filepath.Join(top, "a/b"): b, top: all} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		script, a, b, all os.FileMode
		want              string // begins the answer
	}{
		{0o644, 0o755, 0o755, 0o755, ""},
		{0o644, 0o711, 0o711, 0o711, ""},
		{0o640, 0o755, 0o755, 0o755, file + " has mode 0640"},
		{0o644, 0o755, 0o750, 0o755, filepath.Join(top, "a/b") + " has mode 0750"},
		{0o644, 0o755, 0o755, 0o700, top + " has mode 0700"},
	} {
		modes(c.script, c.a, c.b, c.all)
		if got := Closed(file); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%o %o %o %o: %q", c.script, c.a, c.b, c.all, got)
		}
		os.Chmod(top, 0o755)
	}
	if Closed(filepath.Join(top, "none")) == "" {
		t.Error("what is not there can be read")
	}
}
