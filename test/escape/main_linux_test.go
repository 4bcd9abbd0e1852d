package escape

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the folder of the built programs, where every user can reach them.
var bin string

// TestMain builds the programs as they are shipped and the raw-call probe.
func TestMain(m *testing.M) {
	if deny := os.Getenv(denyVariable); deny != "" {
		fmt.Fprintln(os.Stderr, "launcher:", launchDegraded(deny))
		os.Exit(3)
	}
	code := 1
	dir, err := os.MkdirTemp("", "skill-mcp-escape-")
	if err == nil {
		err = build(dir)
	}
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "escape:", err)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// build puts the programs into dir, open to every user.
func build(dir string) error {
	bin = dir
	for name, pkg := range map[string]string{
		"skill-mcp": "./cmd/skill-mcp", "skill-exec": "./cmd/skill-exec", "skill-egress": "./cmd/skill-egress", "sys": "./test/escape/sys",
	} {
		c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), pkg)
		c.Dir, c.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "launcher"), self, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}
