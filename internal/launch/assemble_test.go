package launch

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheDataFolderDoesNotOverlapSkills(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{"skills/a", "data", "skills-data"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("skills/a", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	roots := []string{filepath.Join(top, "skills")}
	for dir, good := range map[string]bool{
		"data": true, "skills-data": true, "not-there-yet": true,
		"skills": false, "skills/a": false, ".": false, "link": false,
	} {
		dir = filepath.Join(top, dir)
		writable, why := dataDir(dir, roots)
		if (writable == dir) != good || (why == "") != good {
			t.Errorf("%s: %q, %q", dir, writable, why)
		}
	}
	if w, why := dataDir("", roots); w != "" || why != "" {
		t.Errorf("none: %q, %q", w, why)
	}
}
