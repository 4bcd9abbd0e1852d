// Package nodes runs one workload under the fence with every major version of
// node that is supported: as root and as an ordinary user, through the built
// programs. It needs bin/ and test/node/node_modules.
package nodes

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"skill-mcp/test/mcpclient"
)

// plain is the ordinary user of the suites.
const plain = 65534

// installed copies the programs, the workload and one node to a place that any
// user can read, and returns it. The suite does not run from a checkout below a
// private home.
func installed(t *testing.T, node string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "skill-mcp-nodes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	skill := filepath.Join(dir, "skills", "workload")
	for _, d := range []string{filepath.Join(dir, "bin"), filepath.Join(dir, "node"), filepath.Join(dir, "home"), skill} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: workload\ndescription: Works.\nmcp-host:\n  version: 1\n  run:\n    - {script: workload.mjs, interpreter: node, timeout: 60}\n---\n\nBody\n"
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"workload.mjs": filepath.Join(skill, "workload.mjs"), node: filepath.Join(dir, "node", "node"),
		"../../bin/skill-mcp":    filepath.Join(dir, "bin", "skill-mcp"),
		"../../bin/skill-exec":   filepath.Join(dir, "bin", "skill-exec"),
		"../../bin/skill-egress": filepath.Join(dir, "bin", "skill-egress"),
	} {
		if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.Chmod(to, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEveryNodeWorksUnderTheFence(t *testing.T) {
	system, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	for name, node := range map[string]string{
		"system": system, "node 22": "../node/node_modules/node22/bin/node",
		"node 24": "../node/node_modules/node24/bin/node", "node 26": "../node/node_modules/node26/bin/node",
	} {
		if _, err := os.Stat(node); err != nil {
			if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "" {
				t.Skipf("not run: %v (make tools)", err)
			}
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			dir := installed(t, node)
			t.Run("as this user", func(t *testing.T) { work(t, dir, os.Getuid()) })
			if os.Getuid() == 0 {
				t.Run("as an ordinary user", func(t *testing.T) { work(t, dir, plain) })
			}
		})
	}
}

// work runs the workload as uid and wants every item to be ok.
func work(t *testing.T, dir string, uid int) {
	t.Helper()
	command := []string{filepath.Join(dir, "bin", "skill-mcp")}
	if uid != os.Getuid() {
		if err := os.Chown(filepath.Join(dir, "home"), uid, uid); err != nil {
			t.Fatal(err)
		}
		command = append([]string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}, command...)
	}
	c, err := mcpclient.Start(mcpclient.Options{
		Command: command, Dir: dir,
		Env: []string{"PATH=" + filepath.Join(dir, "node") + ":/usr/bin:/bin", "HOME=" + filepath.Join(dir, "home"), "LANG=C.UTF-8", "SKILLS_DIR=" + filepath.Join(dir, "skills")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Process().Signal(syscall.SIGTERM)
	if _, err := c.Initialize("2025-11-25", nil); err != nil {
		t.Fatal(err)
	}
	call := map[string]any{"name": "workload", "script": "workload.mjs"}
	r, err := c.Tool("skill_run", call, 30*time.Second)
	if err != nil || r.IsError {
		t.Fatalf("preview: %v %s", err, r.Text())
	}
	var preview struct{ ConfirmToken string }
	if err := json.Unmarshal([]byte(r.Text()), &preview); err != nil {
		t.Fatal(err)
	}
	call["confirmToken"] = preview.ConfirmToken
	if r, err = c.Tool("skill_run", call, 90*time.Second); err != nil || r.IsError {
		t.Fatalf("run: %v %s", err, r.Text())
	}
	var result struct {
		Stdout, Stderr, Verdict string
		Evidence                struct{ StderrBytes int64 }
	}
	var report struct {
		Node string
		Said map[string]string
	}
	if err := json.Unmarshal([]byte(r.Text()), &result); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(result.Stdout), &report); err != nil {
		t.Fatalf("verdict %s, %v: %.500s %.500s", result.Verdict, err, result.Stdout, result.Stderr)
	}
	for item, said := range report.Said {
		if said != "ok" {
			t.Errorf("%s: %s: %s", report.Node, item, said)
		}
	}
	if result.Verdict != "exited" || len(report.Said) < 14 || strings.Count(result.Stderr, "x") != 300000 {
		t.Errorf("verdict %s, %d items, %d bytes of stderr", result.Verdict, len(report.Said), len(result.Stderr))
	}
}
