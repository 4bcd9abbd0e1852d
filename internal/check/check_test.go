package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
)

// node answers as node would, by the name of the script.
type node map[string]string

func (n node) Syntax(_ context.Context, _ int, _ *catalog.Skill, script string) (said, reason string) {
	if script == "scripts/unasked.mjs" {
		return "", "no fence"
	}
	return n[script], ""
}

// tree writes files and gives their folder, with its real path.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// look gives the findings of a folder as path:line:column level code.
func look(t *testing.T, dir string) (lines []string, r Report) {
	t.Helper()
	r = Run(t.Context(), Options{
		Dirs: []string{dir}, Reserved: func(n string) bool { return n == "LD_PRELOAD" }, Interpreters: []string{"node"},
		Syntax: node{"scripts/bad.mjs": "/b/s/scripts/bad.mjs:2\nconst x = ;\n          ^\n\nSyntaxError: Unexpected token ';'\n    at x\n"},
	})
	for _, f := range r.Findings {
		lines = append(lines, fmt.Sprintf("%s:%d:%d %s %s", filepath.ToSlash(Shown(dir, f.Path)), f.Line, f.Column, f.Level, f.Code))
	}
	return lines, r
}

const head = "---\nname: s\ndescription: d\n"

// run is a SKILL.md with a run list from line 6 on.
func run(items string) string { return head + "mcp-host:\n  version: 1\n  run:\n" + items + "---\n" }

func TestFindingsStandWhereTheMistakeIs(t *testing.T) {
	cases := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a skill without a mistake", map[string]string{"s/SKILL.md": head + "---\n"}, nil},
		{"no frontmatter", map[string]string{"s/SKILL.md": "# s\n"}, []string{"s/SKILL.md:1:1 error malformed-frontmatter"}},
		{"frontmatter that is never closed", map[string]string{"s/SKILL.md": head}, []string{"s/SKILL.md:1:1 error malformed-frontmatter"}},
		{"YAML that breaks", map[string]string{"s/SKILL.md": "---\nname: s\ndescription: a: b\n---\n"}, []string{"s/SKILL.md:3:15 error malformed-frontmatter"}},
		{"a name that is not the directory's", map[string]string{"s/SKILL.md": "---\ndescription: d\nname: other\n---\n"},
			[]string{"s/SKILL.md:3:7 warning name-mismatch", "s/SKILL.md:3:7 error not-portable"}},
		{"a missing description", map[string]string{"s/SKILL.md": "---\nname: s\n---\n"}, []string{"s/SKILL.md:2:1 error not-portable"}},
		{"a licence that is no text", map[string]string{"s/SKILL.md": head + "license: 3\n---\n"}, []string{"s/SKILL.md:4:10 error not-portable"}},
		{"an unknown key", map[string]string{"s/SKILL.md": head + "colour: red\n---\n"}, []string{"s/SKILL.md:4:1 warning declaration"}},
		{"two unknown keys on one line", map[string]string{"s/SKILL.md": head + "mcp-host: {version: 1, a1: 2, b1: 3}\n---\n"},
			[]string{"s/SKILL.md:4:24 warning declaration", "s/SKILL.md:4:31 warning declaration"}},
		{"a block that is no map", map[string]string{"s/SKILL.md": head + "mcp-host: yes\n---\n"}, []string{"s/SKILL.md:4:11 error declaration"}},
		{"a version that is not known", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 2\n---\n"}, []string{"s/SKILL.md:5:12 error declaration"}},
		{"a version that is no number", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: x\n---\n"}, []string{"s/SKILL.md:5:12 error declaration"}},
		{"a script outside the skill", map[string]string{"s/SKILL.md": run("    - script: ../x.js\n      interpreter: node\n")},
			[]string{"s/SKILL.md:7:15 error declaration"}},
		{"a declared script that is not there", map[string]string{"s/SKILL.md": run("    - {script: scripts/a.js, interpreter: node}\n")},
			[]string{"s/SKILL.md:7:16 error declared-script-missing"}},
		{"an interpreter that the policy does not have", map[string]string{"s/a.py": "", "s/SKILL.md": run("    - {script: a.py, interpreter: python3}\n")},
			[]string{"s/SKILL.md:7:35 warning interpreter-not-offered"}},
		{"a time limit above the most", map[string]string{"s/a.js": "", "s/SKILL.md": run("    - {script: a.js, interpreter: node, timeout: 999}\n")},
			[]string{"s/SKILL.md:7:50 warning declaration"}},
		{"a time limit that is none", map[string]string{"s/a.js": "", "s/SKILL.md": run("    - {script: a.js, interpreter: node, timeout: soon}\n")},
			[]string{"s/SKILL.md:7:50 error declaration"}},
		{"a reserved variable", map[string]string{"s/a.js": "", "s/SKILL.md": run("    - {script: a.js, interpreter: node, env: [OK, LD_PRELOAD]}\n")},
			[]string{"s/SKILL.md:7:51 error declaration"}},
		{"a host with a scheme", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 1\n  egress:\n    - good.example\n    - http://x\n---\n"},
			[]string{"s/SKILL.md:8:7 error declaration"}},
		{"hosts that are reached", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 1\n  egress: [api.example, '*.api.example', 203.0.113.7]\n---\n"}, nil},
		{"hosts that are internal addresses", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 1\n  egress:\n    - 169.254.169.254\n    - 10.0.0.1\n---\n"},
			[]string{"s/SKILL.md:7:7 warning host-not-reached", "s/SKILL.md:8:7 warning host-not-reached"}},
		{"hosts that are addresses in other spellings", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 1\n  egress:\n    - \"2852039166\"\n    - 0251.0376.0251.0376\n    - \"0xa9fea9fe\"\n    - 169.254.43518\n---\n"},
			[]string{"s/SKILL.md:7:7 warning host-not-reached", "s/SKILL.md:8:7 warning host-not-reached", "s/SKILL.md:9:7 warning host-not-reached", "s/SKILL.md:10:7 warning host-not-reached"}},
		{"hosts that are IPv6 addresses", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 1\n  egress:\n    - \"[::ffff:169.254.169.254]\"\n    - \"64:ff9b::a9fe:a9fe\"\n    - \"::1\"\n---\n"},
			[]string{"s/SKILL.md:7:7 error declaration", "s/SKILL.md:8:7 error declaration", "s/SKILL.md:9:7 error declaration"}},
		{"hosts that are every host", map[string]string{"s/SKILL.md": head + "mcp-host:\n  version: 1\n  egress: ['*', '*.com', '..']\n---\n"},
			[]string{"s/SKILL.md:6:12 warning host-not-reached", "s/SKILL.md:6:17 warning host-not-reached", "s/SKILL.md:6:26 warning host-not-reached"}},
		{"a declared script with a syntax error", map[string]string{"s/scripts/bad.mjs": "\n", "s/SKILL.md": run("    - {script: scripts/bad.mjs, interpreter: node}\n")},
			[]string{"s/scripts/bad.mjs:2:11 error syntax"}},
		{"a script that nothing declares with a syntax error", map[string]string{"s/scripts/bad.mjs": "\n", "s/SKILL.md": head + "---\n"},
			[]string{"s/scripts/bad.mjs:2:11 warning syntax"}},
		{"a runtime that is not known", map[string]string{"s/SKILL.md": head + "ankole-runtime: never\n---\n"}, []string{"s/SKILL.md:4:17 error dependency.runtime"}},
		{"dependencies that are no YAML", map[string]string{"s/SKILL.md": head + "---\n", "s/agents/openai.yaml": "a: [1\nb: 2\n"},
			[]string{"s/agents/openai.yaml:2:1 error dependency.metadata-yaml"}},
		{"a dependency with a bad address and an unknown field", map[string]string{"s/SKILL.md": head + "---\n",
			"s/agents/openai.yaml": "dependencies:\n  tools:\n    - type: mcp\n      value: x\n      transport: streamable_http\n      url: ftp://x\n      speed: 1\n"},
			[]string{"s/agents/openai.yaml:6:7 error dependency.url", "s/agents/openai.yaml:7:7 error dependency.unknown-field"}},
		{"a dependency without an address, in the other place", map[string]string{"s/SKILL.md": head + "---\n",
			"s/openai.yaml": "dependencies:\n  tools:\n    - type: mcp\n      value: x\n      transport: streamable_http\n"},
			[]string{"s/openai.yaml:3:7 error dependency.required"}},
		{"two dependency files that differ", map[string]string{"s/SKILL.md": head + "---\n", "s/openai.yaml": "{}\n", "s/agents/openai.yaml": "dependencies: {}\n"},
			[]string{"s/openai.yaml:0:0 error dependency.metadata-ambiguous"}},
		{"a dependency file with the wrong ending", map[string]string{"s/SKILL.md": head + "---\n", "s/agents/openai.yml": "{}\n"},
			[]string{"s/agents/openai.yml:0:0 warning dependency.unread-file"}},
		{"a directory beside a skill", map[string]string{"s/SKILL.md": head + "---\n", "notes/x": ""}, []string{"notes:0:0 warning no-skill-md"}},
		{"no skill at all", map[string]string{"a/skill.md": head + "---\n", "b/x": ""}, []string{".:0:0 error no-skills"}},
		{"a directory that cannot name a skill", map[string]string{"a b/SKILL.md": head + "---\n"}, []string{"a b:0:0 error unusable-name"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, r := look(t, tree(t, c.files))
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s\n%+v", strings.Join(got, "\n"), strings.Join(c.want, "\n"), r.Findings)
			}
		})
	}
}

func TestEachDirectoryIsLookedAtByItself(t *testing.T) {
	dir := tree(t, map[string]string{"a/s/SKILL.md": head + "---\n", "b/s/SKILL.md": head + "license: 3\n---\n"})
	r := Run(t.Context(), Options{Dirs: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "b", "s")}, Syntax: node{}})
	if r.Skills != 3 || r.Errors != 1 || r.Warnings != 0 {
		t.Errorf("got %+v, want three skills and the one error of b/s once", r)
	}
}

func TestWhatCannotBeAskedIsNotChecked(t *testing.T) {
	dir := tree(t, map[string]string{"s/scripts/unasked.mjs": "", "s/SKILL.md": head + "---\n"})
	_, r := look(t, dir)
	want := Unchecked{filepath.Join(dir, "s", "scripts", "unasked.mjs"), "node syntax", "no fence"}
	if len(r.Findings) != 0 || len(r.NotChecked) != 1 || r.NotChecked[0] != want {
		t.Errorf("got %+v, want only %+v", r, want)
	}
}

func TestStrictFailsOnWarnings(t *testing.T) {
	for _, c := range []struct {
		r             Report
		loose, strict bool
	}{{Report{}, false, false}, {Report{Warnings: 1}, false, true}, {Report{Errors: 1}, true, true}} {
		if c.r.Failed(false) != c.loose || c.r.Failed(true) != c.strict {
			t.Errorf("%+v fails wrongly", c.r)
		}
	}
}

// TestSkillsThatLieDeeperAreNamed: a package whose skills lie further below
// than a server looks has none, and the error says which directory has.
func TestSkillsThatLieDeeperAreNamed(t *testing.T) {
	dir := tree(t, map[string]string{"templates/agents/skills/s/SKILL.md": head + "---\n", "a/x": ""})
	r := Run(t.Context(), Options{Dirs: []string{dir}, Syntax: node{}})
	if len(r.Findings) != 1 || r.Findings[0].Code != CodeNoSkills || !strings.HasSuffix(r.Findings[0].Message, "name their directory: "+filepath.Join(dir, "templates/agents/skills")) {
		t.Errorf("%+v", r.Findings)
	}
	empty := Run(t.Context(), Options{Dirs: []string{tree(t, map[string]string{"a/b/c/x": ""})}, Syntax: node{}})
	if len(empty.Findings) != 1 || strings.Contains(empty.Findings[0].Message, "further below") {
		t.Errorf("%+v", empty.Findings)
	}
}
