package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/check"
)

// builtCheck builds the programs, so that the helper lies beside this one.
func builtCheck(t *testing.T) (program string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("not run: the fence needs Linux")
	}
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-o", bin, "skill-mcp/cmd/skill-mcp", "skill-mcp/cmd/skill-exec", "skill-mcp/cmd/skill-egress")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return filepath.Join(bin, "skill-mcp")
}

// checkRun runs the built check in dir.
func checkRun(t *testing.T, program, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"check"}, args...)...)
	var out, bad bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &bad
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), bad.String()
}

func writeSkill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckParsesScriptsInsideTheFence(t *testing.T) {
	program, dir := builtCheck(t), t.TempDir()
	mark := filepath.Join(t.TempDir(), "ran")
	declared := "---\nname: NAME\ndescription: d\nmcp-host:\n  version: 1\n  run:\n    - {script: scripts/a.mjs, interpreter: node}\n---\n"
	writeSkill(t, dir, map[string]string{
		"good/SKILL.md":      strings.Replace(declared, "NAME", "good", 1),
		"good/scripts/a.mjs": "import { writeFileSync } from 'node:fs';\nwriteFileSync(" + `"` + mark + `"` + ", '');\nprocess.exit(7);\n",
		"bad/SKILL.md":       strings.Replace(declared, "NAME", "bad", 1),
		"bad/scripts/a.mjs":  "const a = 1;\nconst x = ;\n",
		"warn/SKILL.md":      "---\nname: warn\ndescription: d\n---\n",
		"warn/scripts/b.cjs": "let y = 1; let y = 2;\n",
	})
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a script that would end with 7 is only parsed", []string{"good"}, 0, "1 skill, 0 errors, 0 warnings\n"},
		{"a broken script", []string{"bad"}, 1, "bad/scripts/a.mjs:2:11: error: Unexpected token ';' (syntax)\n1 skill, 1 error, 0 warnings\n"},
		{"a warning", []string{"warn"}, 0, "warn/scripts/b.cjs:1:16: warning: Identifier 'y' has already been declared (syntax)\n1 skill, 0 errors, 1 warning\n"},
		{"a warning, strictly", []string{"--strict", "warn"}, 1, "warn/scripts/b.cjs:1:16: warning: Identifier 'y' has already been declared (syntax)\n1 skill, 0 errors, 1 warning\n"},
		{"no directory", nil, 2, ""},
		{"two formats", []string{"--json", "--sarif", "good"}, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, bad := checkRun(t, program, dir, c.args...)
			if code != c.code || out != c.want || c.code != 2 && bad != "" {
				t.Errorf("exit code %d\n%s%s\nwant %d\n%s", code, out, bad, c.code, c.want)
			}
		})
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the script ran: %v", err)
	}
}

func TestCheckWithoutAHelperSaysSo(t *testing.T) {
	dir := t.TempDir()
	writeSkill(t, dir, map[string]string{"s/SKILL.md": "---\nname: s\ndescription: d\n---\n", "s/scripts/a.js": "x = ;"})
	var out, bad bytes.Buffer
	root := newRootCommand() // no helper lies beside a test
	root.SetOut(&out)
	root.SetErr(&bad)
	root.SetArgs([]string{"check", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(bad.String(), "a.js: node syntax not checked: skill-exec must be installed beside") {
		t.Errorf("got %s", &bad)
	}
	if !strings.Contains(out.String(), "1 skill, 0 errors, 0 warnings") {
		t.Errorf("got %s", &out)
	}
}

// npmBundles gives the installed npm packages that hold skills, and skills-ref.
func npmBundles(t *testing.T) (skills []string, skillsRef string) {
	t.Helper()
	packages, err := filepath.Abs("../../test/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if packages, err = filepath.EvalSymlinks(packages); err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
			t.Fatalf("npm packages are due here: %v", err)
		}
		t.Skipf("not run: %v", err)
	}
	for _, b := range []string{"cc-sdd", "@plaited/development-skills", "@houseofwolvesllc/claude-scrum-skill"} {
		err := filepath.WalkDir(filepath.Join(packages, b), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "SKILL.md" {
				skills = append(skills, filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return skills, filepath.Join(packages, "skills-ref")
}

// TestCheckAgreesWithSkillsRef: on published skills an error here is one of
// skills-ref, and the other way round; keys beyond the specification are a
// warning here (docs/decisions).
func TestCheckAgreesWithSkillsRef(t *testing.T) {
	skills, skillsRef := npmBundles(t)
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"check", "--json"}, skills...))
	failed := root.Execute() // with exit code 1 where there is an error
	var r check.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v, %v\n%s", err, failed, &out)
	}
	if r.Skills != len(skills) || len(skills) < 136 {
		t.Errorf("%d of %d skills", r.Skills, len(skills))
	}
	in, err := json.Marshal(skills)
	if err != nil {
		t.Fatal(err)
	}
	ref := exec.Command("node", "../../internal/catalog/testdata/portable.mjs", skillsRef)
	ref.Stdin, ref.Stderr = bytes.NewReader(in), os.Stderr
	text, err := ref.Output()
	if err != nil {
		t.Fatal(err)
	}
	var theirs [][]string
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	for i, dir := range skills {
		var ours []check.Finding
		for _, f := range r.Findings {
			if f.Level == check.Error && strings.HasPrefix(f.Path, dir+"/") {
				ours = append(ours, f)
			}
		}
		refused := slices.DeleteFunc(theirs[i], func(e string) bool { return strings.HasPrefix(e, "Unexpected fields in frontmatter") })
		if (len(ours) > 0) != (len(refused) > 0) {
			t.Errorf("%s: here %v, skills-ref %q", dir, ours, refused)
		}
	}
}
