package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (b *packageBench) write(name, text string) string {
	b.t.Helper()
	name = filepath.Join(b.dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return name
}

const goodConnector = `{"schema_version":1,"kind":"open-science.connector","name":"docs","display_name":"Docs","transport":"stdio",
"command":"npx","args":["-y","@example/mcp"],"required_secrets":{"environment":["API_TOKEN"]}}`

func TestConnectorCommands(t *testing.T) {
	b := newPackageBench(t)
	file := b.write("docs.json", goodConnector)
	b.want(exitOK, "connector", "check", file)
	b.want(exitOK, "connector", "list")
	if b.stdout.Len() != 0 {
		t.Errorf("a check stored something: %s", &b.stdout)
	}
	b.want(exitOK, "connector", "import", file)
	if out := b.stdout.String(); !strings.Contains(out, "not connected, secrets missing") {
		t.Error(out)
	}
	b.want(exitProblem, "connector", "import", file)
	if out := b.stdout.String(); !strings.Contains(out, "connector-template.duplicate-name") {
		t.Error(out)
	}
	b.want(exitOK, "connector", "export", "docs")
	first := b.stdout.String()
	other := newPackageBench(t)
	other.want(exitOK, "connector", "import", other.write("again.json", first))
	other.want(exitOK, "connector", "export", "docs")
	if other.stdout.String() != first {
		t.Errorf("the round trip differs:\n%s\n%s", first, &other.stdout)
	}
	b.want(exitOK, "connector", "export-mcp", "docs")
	if out := b.stdout.String(); !strings.Contains(out, `"API_TOKEN": "${API_TOKEN}"`) {
		t.Error(out)
	}
	out := filepath.Join(b.dir, "out.json")
	b.want(exitProblem, "connector", "export", "docs", "-o", out, "--digest", strings.Repeat("0", 64))
	b.want(exitOK, "connector", "export", "docs", "-o", out)
	b.want(exitProblem, "connector", "export", "docs", "-o", out)
	b.want(exitProblem, "connector", "export", "none")
	b.want(exitProblem, "connector", "check", filepath.Join(b.dir, "none.json"))
	b.want(exitUsage, "connector", "check")
}

// d39 and d30: values that let somebody in are neither kept nor printed.
func TestConnectorsKeepAndPrintNoSecrets(t *testing.T) {
	b := newPackageBench(t)
	secret := "ghp_" + strings.Repeat("aB3", 12)
	servers := b.write("servers.json", `{"mcpServers":{"docs":{"command":"npx","env":{"API_TOKEN":"`+secret+`"}},
"web":{"type":"http","url":"https://h.example/mcp","headers":{"Authorization":"Bearer `+secret+`"}}}}`)
	said := func() string { return b.stdout.String() + b.stder.String() }
	b.want(exitOK, "connector", "import", servers)
	all := said()
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"export", "docs"}, {"export", "web", "--json"}, {"export-mcp", "web"}} {
		b.want(exitOK, append([]string{"connector"}, args...)...)
		all += said()
	}
	for _, bad := range []string{
		strings.Replace(goodConnector, "@example/mcp", "--token="+secret, 1),
		strings.Replace(goodConnector, "API_TOKEN", secret, 1),
		strings.Replace(goodConnector, `"kind"`, `"`+secret+`":1,"kind"`, 1),
		strings.Replace(goodConnector, `"docs"`, `"`+secret+`"`, 1),
		strings.Replace(goodConnector, `"npx"`, `"npx `+secret+`"`, 1),
	} {
		if b.run("connector", "check", b.write("bad.json", bad)) == exitOK {
			t.Errorf("accepted: %s", bad)
		}
		all += said()
	}
	err := filepath.WalkDir(filepath.Join(b.dir, "store"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, readErr := os.ReadFile(name)
			all, err = all+string(data), readErr
		}
		return err
	})
	if err != nil || strings.Contains(all, secret) {
		t.Errorf("the secret is there: %v\n%s", err, all)
	}
}
