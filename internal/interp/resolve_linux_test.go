package interp

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/wire"
)

// ask resolves an entry and waits for its version.
func ask(t *testing.T, e policy.Interpreter, path string) wire.Interpreter {
	t.Helper()
	i := New(e, path, nil)
	t.Cleanup(i.Close)
	i.Ask(func(int) {})
	return i.State(true)
}

// copyOf puts a native program into a new directory.
func copyOf(t *testing.T, program, name string) (dir, path string) {
	t.Helper()
	found, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(found)
	if err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func TestAShimIsPassedOver(t *testing.T) {
	shims := t.TempDir()
	if err := os.WriteFile(filepath.Join(shims, "bash"), []byte("#!/bin/sh\nexec $HOME/bash\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, path := copyOf(t, "bash", "bash")
	if s := ask(t, policy.Interpreter{Name: "bash"}, shims+":"+dir); s.Path != path || s.Reason != "" || s.Version == "" {
		t.Errorf("%+v", s)
	}
	if s := ask(t, policy.Interpreter{Name: "bash"}, shims); !strings.Contains(s.Reason, "shim") {
		t.Errorf("only a shim: %+v", s)
	}
	if s := ask(t, policy.Interpreter{Name: "bash", Path: filepath.Join(shims, "bash")}, dir); !strings.Contains(s.Reason, "shim") {
		t.Errorf("the policy names a shim: %+v", s)
	}
}

func TestWhatCannotRunSaysWhy(t *testing.T) {
	dir, path := copyOf(t, "bash", "bash")
	sum := func(text []byte) string { h := sha256.Sum256(text); return hex.EncodeToString(h[:]) }
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		entry policy.Interpreter
		path  string
		want  string // part of the reason, "" = can run
	}{
		"found on the path":                {policy.Interpreter{Name: "bash"}, dir, ""},
		"by a link":                        {policy.Interpreter{Name: "bash", Path: link}, "", ""},
		"nowhere":                          {policy.Interpreter{Name: "bash"}, "/nonexistent", "PATH"},
		"an empty path":                    {policy.Interpreter{Name: "bash"}, "", "PATH"},
		"a relative path":                  {policy.Interpreter{Name: "bash"}, ".:", "PATH"},
		"not executable":                   {policy.Interpreter{Name: "x", Path: plain}, "", "executable"},
		"a directory":                      {policy.Interpreter{Name: "x", Path: dir}, "", "executable"},
		"within bounds":                    {policy.Interpreter{Name: "bash", Path: path, MinVersion: "3", MaxVersion: "99"}, "", ""},
		"below its bounds":                 {policy.Interpreter{Name: "bash", Path: path, MinVersion: "99"}, "", "below"},
		"above its bounds":                 {policy.Interpreter{Name: "bash", Path: path, MaxVersion: "1"}, "", "above"},
		"of the pinned bytes":              {policy.Interpreter{Name: "bash", Path: path, SHA256: sum(bytes)}, "", ""},
		"of other bytes":                   {policy.Interpreter{Name: "bash", Path: path, SHA256: sum(nil)}, "", "pins"},
		"of no version, without bounds":    {policy.Interpreter{Name: "false", Path: "/bin/false"}, "", ""},
		"a name that is an object's":       {policy.Interpreter{Name: "constructor"}, dir, "PATH"},
		"a name that climbs out of a path": {policy.Interpreter{Name: "../../bin/bash"}, "/nonexistent", "path"},
	} {
		if s := ask(t, c.entry, c.path); (c.want == "") != (s.Reason == "") || !strings.Contains(s.Reason, c.want) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestAProgramOfOtherBytesIsNotAsked: the question for the version runs the
// program outside the fence, so a pin has to be compared before it.
func TestAProgramOfOtherBytesIsNotAsked(t *testing.T) {
	_, path := copyOf(t, "bash", "bash")
	for pin, want := range map[string]bool{"": true, strings.Repeat("0", 64): false} {
		i := New(policy.Interpreter{Name: "bash", Path: path, SHA256: pin}, "", nil)
		asked := false
		i.Ask(func(int) { asked = true })
		if s := i.State(true); asked != want || (s.Reason == "") != want {
			t.Errorf("pin %q: asked %v, want %v; %+v", pin, asked, want, s)
		}
		i.Close()
	}
}

// TestAVersionThatHangsIsGivenUp takes as long as the bound, which is the
// point: a program that never answers must not hold a plan for ever.
func TestAVersionThatHangsIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte("package main\nfunc main() { for { } }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "spin")
	if out, err := exec.Command("go", "build", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s := ask(t, policy.Interpreter{Name: "spin", Path: bin, MinVersion: "1"}, ""); !strings.Contains(s.Reason, "unknown") {
		t.Errorf("%+v", s)
	}
}

func TestPrefixReadsAreWhatIsThere(t *testing.T) {
	prefix := t.TempDir()
	for _, d := range []string{"bin", "lib/node_modules", "share/nodejs", "lib/python3.11", "other"} {
		if err := os.MkdirAll(filepath.Join(prefix, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	node := prefixReads("node", filepath.Join(prefix, "bin", "node"))
	if len(node) != 2 || node[0] != filepath.Join(prefix, "lib/node_modules") || node[1] != filepath.Join(prefix, "share/nodejs") {
		t.Error(node)
	}
	if py := prefixReads("python3", filepath.Join(prefix, "bin", "python3")); len(py) != 1 || filepath.Base(py[0]) != "python3.11" {
		t.Error(py)
	}
	if other := prefixReads("bash", filepath.Join(prefix, "bin", "bash")); other != nil {
		t.Error(other)
	}
}
