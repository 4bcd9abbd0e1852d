package nodes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skill-mcp/test/mcpclient"
)

// A script uses real packages from its skill's own node_modules: an ES module,
// a CommonJS one, and no network.
func TestASkillUsesItsOwnPackages(t *testing.T) {
	modules := "../node/node_modules"
	if _, err := os.Stat(filepath.Join(modules, "csv-parse")); err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "" {
			t.Skipf("not run: %v (make tools)", err)
		}
		t.Fatal(err)
	}
	system, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	dir := installed(t, system)
	skill := filepath.Join(dir, "skills", "workload")
	script := `import { createRequire } from 'node:module';
import { marked } from 'marked';
const { parse } = createRequire(import.meta.url)('csv-parse/sync');
console.log(JSON.stringify({ html: marked.parse('# ' + process.argv[2]), rows: parse('a,b\n1,"2,3"\n') }));
`
	if err := os.WriteFile(filepath.Join(skill, "workload.mjs"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(skill, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"csv-parse", "marked"} {
		if out, err := exec.Command("cp", "-rL", filepath.Join(modules, name), filepath.Join(skill, "node_modules", name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	c, err := mcpclient.Start(mcpclient.Options{
		Command: []string{filepath.Join(dir, "bin", "skill-mcp")},
		Env:     []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "SKILLS_DIR=" + filepath.Join(dir, "skills")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(6 * time.Second)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"name": "workload", "script": "workload.mjs", "args": []string{"it works"}}
	r, err := c.Tool("skill_run", call, 30*time.Second)
	if err != nil || r.IsError {
		t.Fatalf("preview: %v %s", err, r.Text())
	}
	var preview struct{ ConfirmToken string }
	if err := json.Unmarshal([]byte(r.Text()), &preview); err != nil {
		t.Fatal(err)
	}
	call["confirmToken"] = preview.ConfirmToken
	if r, err = c.Tool("skill_run", call, 60*time.Second); err != nil || r.IsError {
		t.Fatalf("run: %v %s", err, r.Text())
	}
	var result struct{ Stdout, Stderr string }
	if err := json.Unmarshal([]byte(r.Text()), &result); err != nil {
		t.Fatal(err)
	}
	if want := `{"html":"<h1>it works</h1>\n","rows":[["a","b"],["1","2,3"]]}`; strings.TrimSpace(result.Stdout) != want {
		t.Errorf("got %s\n%s", result.Stdout, result.Stderr)
	}
}
