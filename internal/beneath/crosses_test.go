package beneath

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCrosses(t *testing.T) {
	base := t.TempDir()
	at := func(p string) string { return filepath.Join(base, p) }
	err := errors.Join(os.MkdirAll(at("theirs/bin"), 0o755), os.MkdirAll(at("opt/v1/bin"), 0o755), os.WriteFile(at("opt/v1/bin/node"), nil, 0o755),
		os.WriteFile(at("theirs/bin/python"), nil, 0o755), os.Symlink(at("opt/v1"), at("theirs/current")), os.Symlink("theirs/current", at("node")),
		os.Symlink("opt/v1/bin/node", at("direct")), os.Symlink("theirs/bin", at("bin")), os.Symlink("loop", at("loop")), os.Symlink("theirs", at("alias")))
	if err != nil {
		t.Fatal(err)
	}
	for path, crosses := range map[string]bool{
		"opt/v1/bin/node": false, "direct": false, "opt": false, "none/at/all": false, "loop": false,
		"theirs/bin/python": true, "theirs": true, "bin/python": true, "node/bin/node": true, "theirs/current/bin/node": true, "theirs/none": true,
	} {
		for _, tree := range []string{at("theirs"), at("alias")} {
			if got := Crosses(at(path), []string{at("gone"), tree}); (got == tree) != crosses || (got == "") == crosses {
				t.Errorf("%s by %s: %q", path, tree, got)
			}
		}
	}
}
