package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// portable gives folders of skills: the bundled ones, and real bundles. What is
// not portable in them is not in skills/list.
func (f tools) portable(t *testing.T) map[string]string {
	t.Helper()
	bundled, err := filepath.Abs(filepath.Join("..", "..", "skills"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"bundled": bundled,
		"plaited": filepath.Join(f.dir, "node_modules", "@plaited", "development-skills"),
		"scrum":   filepath.Join(f.dir, "node_modules", "@houseofwolvesllc", "claude-scrum-skill"),
		"cc-sdd":  filepath.Join(f.dir, "node_modules", "cc-sdd", "templates", "agents", "claude-code-skills"),
	}
}

func TestInspector(t *testing.T) {
	f := withServer(t)
	program := f.program(t, "@modelcontextprotocol/inspector", "inspector")
	for skills, dir := range f.portable(t) {
		for _, era := range []string{"legacy", "auto", "modern"} {
			inspect := func(t *testing.T, args ...string) string {
				t.Helper()
				all := append([]string{program, "--cli", "--protocol-era", era, "-e", "SKILLS_DIR=" + dir, f.server}, args...)
				out, code := f.run(t, []string{"MCP_CATALOG_PATH=" + filepath.Join(t.TempDir(), "mcp.json")}, all...)
				if code != 0 {
					t.Errorf("exit status %d\n%s", code, tail(out))
				}
				return out
			}
			t.Run(fmt.Sprintf("%s/%s", skills, era), func(t *testing.T) {
				inspect(t, "--method", "skills/list", "--verify", "--require-digests")
				if skills != "bundled" {
					return // the tools are the same whatever is served
				}
				inspect(t, "--method", "tools/list", "--strict")
				if out := inspect(t, "--method", "tools/call", "--tool-name", "skill_list"); !strings.Contains(out, "rootsFrom") {
					t.Errorf("skill_list gave %s", tail(out))
				}
			})
		}
	}
}

func TestMcporter(t *testing.T) {
	f := withServer(t)
	program := f.program(t, "mcporter", "mcporter")
	bundled := f.portable(t)["bundled"]
	config := filepath.Join(t.TempDir(), "mcporter.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"skills": map[string]any{"command": f.server, "env": map[string]string{"SKILLS_DIR": bundled}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, says string
		args       []string
	}{
		{"lists every tool", "skill_run", []string{"list", "skills", "--schema"}},
		{"calls skill_list", "skill-mcp-demo", []string{"call", "skills.skill_list"}},
		{"calls skill_load", "body", []string{"call", "skills.skill_load", "name=skill-mcp-demo"}},
		{"calls skill_file", "SKILL.md", []string{"call", "skills.skill_file", `--args`, `{"name":"skill-mcp-demo","paths":["SKILL.md"]}`}},
		{"calls skill_run", "confirm", []string{"call", "skills.skill_run", `--args`, `{"name":"skill-mcp-demo","script":"scripts/report.js"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, code := f.run(t, nil, append([]string{program, "--config", config}, tc.args...)...)
			if code != 0 || !strings.Contains(out, tc.says) {
				t.Errorf("exit status %d\n%s", code, tail(out))
			}
		})
	}
}

// skills-ref's opinion of the real bundles and, where they are beside the
// repository, of the shared cases.
func TestPortabilityAgreesWithSkillsRef(t *testing.T) {
	f := withServer(t)
	var roots []string
	for _, dir := range f.portable(t) {
		roots = append(roots, dir)
	}
	cases, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "cases", "*", "root"))
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range cases {
		if name := filepath.Base(filepath.Dir(root)); !strings.Contains(name, "limit") { // thousands of files that say nothing here
			roots = append(roots, madeCase(t, filepath.Dir(root)))
		}
	}
	f.script(t, "portability.mjs", roots...)
}

// madeCase copies a shared case and makes what its script makes.
func madeCase(t *testing.T, dir string) (root string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(to, "setup.sh")); err == nil {
		cmd := exec.CommandContext(t.Context(), "sh", "setup.sh")
		cmd.Dir = to
		if err := cmd.Run(); err != nil {
			t.Logf("%s cannot be made here: %v", filepath.Base(dir), err)
		}
	}
	return filepath.Join(to, "root")
}
