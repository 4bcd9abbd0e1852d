package escape

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"skill-mcp/internal/report"
	shipped "skill-mcp/policy"
)

// readyMade gives the commented interpreters of the shipped policy with the
// comment signs taken away, as an owner copies them.
func readyMade(t *testing.T) string {
	t.Helper()
	text, ok := shipped.Text("standalone")
	if !ok {
		t.Fatal("no shipped policy")
	}
	var out []string
	for _, line := range regexp.MustCompile(`(?m)^#(  +\S.*)$`).FindAllStringSubmatch(string(text), -1) {
		out = append(out, line[1])
	}
	return strings.Join(out, "\n")
}

// TestReadyMadeInterpretersRun runs a real script of each kind that this
// machine has: what it needs works, what lies outside stays closed.
func TestReadyMadeInterpretersRun(t *testing.T) {
	scripts := map[string]string{
		"python3": `import json, os, ssl, sys, tempfile, subprocess, helper
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
try:
    open(sys.argv[1]); print("escaped")
except OSError as e: print("refused", e.errno)
print(json.dumps({"sum": helper.two() + 1, "env": "HOME" in os.environ}))
`,
		"bash": `set -eu
echo "$(( 1 + 2 )) $(printf x | tr x y) $(ls "$TMPDIR" | wc -l)" > "$TMPDIR/out"
cat "$TMPDIR/out"
if cat "$1" 2>/dev/null; then echo escaped; else echo refused; fi
`,
	}
	want := map[string][]string{"python3": {"refused", `{"sum": 3, "env": true}`}, "bash": {"3 y 1", "refused"}}
	file := map[string]string{"python3": "main.py", "bash": "main.sh"}
	for name, uid := range users() {
		s := start(t, uid, "")
		s.stop(s.c)
		dir := filepath.Join(s.m.Root, "kinds")
		s.must(os.MkdirAll(dir, 0o755))
		declared := "---\nname: kinds\ndescription: Scripts of other kinds.\nmcp-host:\n  version: 1\n  run:\n"
		for kind, text := range scripts {
			s.must(os.WriteFile(filepath.Join(dir, file[kind]), []byte(text), 0o644))
			declared += fmt.Sprintf("    - {script: %s, interpreter: %s, timeout: 20}\n", file[kind], kind)
		}
		s.must(os.WriteFile(filepath.Join(dir, "helper.py"), []byte("def two(): return 2\n"), 0o644))
		s.must(os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(declared+"---\n"), 0o644))
		policy := filepath.Join(s.m.Dir, "kinds.yaml")
		s.must(os.WriteFile(policy, []byte("interpreters:\n"+readyMade(t)+"\n"), 0o644))
		s.launch(policy)
		for kind := range scripts {
			t.Run(name+"/"+kind, func(t *testing.T) {
				r := s.runArgs("kinds", file[kind], s.m.Outside)
				if r.Verdict != report.Exited || r.ExitCode == nil || *r.ExitCode != 0 || r.Stderr != "" || strings.Contains(r.Stdout, "escaped") {
					t.Fatalf("verdict %s, %q, %q, %s", r.Verdict, r.Stdout, r.Stderr, r.Error)
				}
				for _, w := range want[kind] {
					if !strings.Contains(r.Stdout, w) {
						t.Errorf("said %q, want %q in it", r.Stdout, w)
					}
				}
			})
		}
	}
}
