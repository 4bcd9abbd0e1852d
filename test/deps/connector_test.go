package deps

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// d32: what export-mcp writes works in the real mcporter, over stdio and HTTP,
// once the variables have their values.
func TestExportedServersWorkInMcporter(t *testing.T) {
	p := built(t)
	dir := t.TempDir()
	env := environ(t, t.TempDir())
	export := func(template map[string]any) string {
		t.Helper()
		text, err := json.Marshal(template)
		if err != nil {
			t.Fatal(err)
		}
		name := template["name"].(string)
		in, out := filepath.Join(dir, name+".json"), filepath.Join(dir, "mcp-"+name+".json")
		if err := os.WriteFile(in, text, 0o600); err != nil {
			t.Fatal(err)
		}
		store := filepath.Join(dir, "store")
		for _, args := range [][]string{{"connector", "import", in}, {"connector", "export-mcp", name, "-o", out}} {
			if stdout, stderr, code := command(t, p, env, append(args, "--store", store)...); code != 0 {
				t.Fatalf("%v: code %d\n%s\n%s", args, code, stdout, stderr)
			}
		}
		return out
	}
	template := func(name, transport string, more map[string]any) map[string]any {
		out := map[string]any{"schema_version": 1, "kind": "open-science.connector", "name": name, "display_name": name, "transport": transport}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	local := export(template("local", "stdio", map[string]any{
		"command": "node", "args": []string{p.everything}, "required_secrets": map[string]any{"environment": []string{"API_TOKEN"}}}))
	remote := export(template("remote", "streamable_http", map[string]any{
		"url": httpServer(t), "required_secrets": map[string]any{"headers": []string{"Authorization"}}}))
	for _, c := range []struct {
		name, config, variable string
		args                   []string
		want                   string
		fails                  bool
	}{
		{"list over stdio", local, "API_TOKEN=value-of-the-test", []string{"list", "local", "--json"}, `"echo"`, false},
		{"the variable reaches the server", local, "API_TOKEN=value-of-the-test", []string{"call", "local.get-env"}, "value-of-the-test", false},
		{"list over http", remote, "Authorization=Bearer " + token, []string{"list", "remote", "--json"}, `"lookup"`, false},
		{"call over http", remote, "Authorization=Bearer " + token, []string{"call", "remote.lookup", "word=x"}, "found x", false},
		{"a wrong token", remote, "Authorization=Bearer wrong", []string{"call", "remote.lookup", "word=x"}, "found x", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("node", append([]string{p.mcporter, "--config", c.config}, c.args...)...)
			var out, errs bytes.Buffer
			cmd.Env, cmd.Stdout, cmd.Stderr = append(environ(t, t.TempDir()), c.variable), &out, &errs
			err := cmd.Run()
			if found := strings.Contains(out.String(), c.want); found == c.fails || err != nil && !c.fails {
				t.Errorf("%v, want %q (%t)\nstdout: %.800s\nstderr: %.800s", err, c.want, !c.fails, &out, &errs)
			}
		})
	}
}
