package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// command runs one command with arguments in an environment without the
// variables that choose a policy, and gives its output and exit code.
func command(t *testing.T, c *cobra.Command, args ...string) (string, int) {
	t.Helper()
	for _, n := range []string{"MCP_SKILLS_PATH", "MCP_HOST_METER_FILE", "MCP_DATA_DIR", "MCP_BLOB_BASE_URL"} {
		t.Setenv(n, "")
	}
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err := c.Execute()
	if err == nil {
		return out.String(), exitOK
	}
	var coded *codedError
	if errors.As(err, &coded) {
		return out.String() + err.Error(), coded.code
	}
	return out.String() + err.Error(), exitUsage
}

func TestPolicyCommands(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := write("good.yaml", "limits: {pids: 64}\ninterpreters:\n  bash: {path: /usr/bin/bash, why: shell scripts}\nskills:\n  demo: {network: open, why: it talks}\n")
	bad := write("bad.yaml", "network: open\nread:\n  - {path: etc}\n")
	for _, c := range []struct {
		name, policy string
		args         []string
		code         int
		says         []string
	}{
		{"the shipped policy with origins", "", []string{"show", "strict"}, exitOK, []string{"policy strict", "layers.ns-pid\trequire\tstrict"}},
		{"an owner's file with its lines", good, []string{"show"}, exitOK, []string{"policy good", "limits.pids\t64\t" + good + ":1", "interpreters.bash"}},
		{"a shipped text to begin with", "", []string{"show", "--source", "hosted"}, exitOK, []string{"# The policy of a server that a hosting", "python3:"}},
		{"an unknown name", "", []string{"show", "lax"}, exitProblem, []string{"hosted, standalone, portable, strict"}},
		{"a good file", "", []string{"check", good}, exitOK, []string{"good; the policy in force would be good"}},
		{"a good file of a hosted server", "", []string{"check", "--hosted", good}, exitOK, []string{"hosted+good", "interpreter bash: not in the shipped policy", "skill demo network open"}},
		{"all mistakes with their places", "", []string{"check", bad}, exitProblem, []string{bad + ":1:10: ", bad + ":3:5: ", "has no why", "not an absolute path"}},
		{"a file that is not there", "", []string{"check", filepath.Join(dir, "x")}, exitProblem, []string{"no such file"}},
		{"no file", "", []string{"check"}, exitUsage, []string{"arg"}},
		{"one skill", good, []string{"explain", "demo"}, exitOK, []string{"skills.demo.network\topen\t" + good + ":5\tit talks"}},
		{"a broken file stops explain", bad, []string{"explain"}, exitProblem, []string{"1:10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("MCP_SKILL_POLICY", c.policy)
			out, code := command(t, newPolicyCommand(), c.args...)
			if code != c.code {
				t.Errorf("code %d, want %d\n%s", code, c.code, out)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("does not say %q:\n%s", s, out)
				}
			}
		})
	}
}

func TestPolicyCommandsForMachines(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("a: 1\nb: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := command(t, newPolicyCommand(), "check", "--json", bad)
	var checked struct {
		OK       bool
		Problems []struct{ Line, Column int }
	}
	if err := json.Unmarshal([]byte(out), &checked); err != nil || code != exitProblem || checked.OK || len(checked.Problems) != 2 {
		t.Errorf("code %d, %v: %s", code, err, out)
	}
	out, code = command(t, newPolicyCommand(), "explain", "--json", "demo")
	var explained policyView
	if err := json.Unmarshal([]byte(out), &explained); err != nil || code != exitOK || explained.Skill != "demo" || len(explained.Rows) < 30 {
		t.Errorf("code %d, %v: %s", code, err, out)
	}
	for _, r := range explained.Rows {
		if r.Origin == "" {
			t.Errorf("%s has no origin", r.Key)
		}
	}
}
