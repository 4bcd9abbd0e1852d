package packages

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"skill-mcp/test/mcpclient"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMCPB unpacks the bundle with the tool of the format and starts what its
// manifest says.
func TestMCPB(t *testing.T) {
	tool, err := filepath.Abs(filepath.Join(repository, "test/node/node_modules/.bin/mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	bundle := made(t, "mcpb/*.mcpb")
	dir := filepath.Join(folder(t), "bundle")
	command(t, repository, nil, tool, "unpack", bundle, dir)
	command(t, dir, nil, tool, "validate", filepath.Join(dir, "manifest.json"))
	raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Server struct {
			Type      string
			McpConfig struct {
				Command string
				Args    []string
				Env     map[string]string
			} `json:"mcp_config"`
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"skill-mcp", "skill-exec", "skill-egress"} {
		if st, err := os.Stat(filepath.Join(dir, "server", name)); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	start := m.Server.McpConfig
	argv := append([]string{strings.ReplaceAll(start.Command, "${__dirname}", dir)}, start.Args...)
	// Left empty by the person, a client hands over nothing or the placeholder.
	for name, value := range map[string]string{"empty": "", "not replaced": start.Env["SKILLS_DIR"]} {
		t.Run("skills_dir "+name, func(t *testing.T) {
			exchange(t, mcpclient.Options{Command: argv, Env: environment("SKILLS_DIR=" + value), Dir: "/"})
		})
	}
}
