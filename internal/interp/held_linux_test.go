package interp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/policy"
)

// TestAProgramThatScriptsMayReplaceIsNotAsked: what lies in, or is reached through,
// a folder that scripts may write is no interpreter, and is never started.
func TestAProgramThatScriptsMayReplaceIsNotAsked(t *testing.T) {
	dir, path := copyOf(t, "true", "tool")
	elsewhere := t.TempDir()
	link := filepath.Join(elsewhere, "tool")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]policy.Interpreter{"by its path": {Name: "tool", Path: path}, "by a link": {Name: "tool", Path: link}, "on the PATH": {Name: "tool"}} {
		i := New(e, dir+":"+elsewhere, []string{"", dir})
		i.Ask(func(int) { t.Errorf("%s: it was started", name) })
		if s := i.State(true); !strings.Contains(s.Reason, "can be replaced by scripts") {
			t.Errorf("%s: %+v", name, s)
		}
		i.Close()
		i = New(e, dir+":"+elsewhere, []string{elsewhere + "/none"})
		i.Ask(func(int) {})
		if s := i.State(true); strings.Contains(s.Reason, "replaced") || s.Path != path {
			t.Errorf("%s, with nothing to write: %+v", name, s)
		}
		i.Close()
	}
	_, good := copyOf(t, "true", "tool")
	i := New(policy.Interpreter{Name: "tool"}, dir+":"+filepath.Dir(good), []string{dir})
	defer i.Close()
	if i.Program().Path != good {
		t.Errorf("the next on the PATH is %q", i.Program().Path)
	}
}
