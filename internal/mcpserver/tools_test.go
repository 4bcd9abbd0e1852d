package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/name, which changes only with -update.
func golden(t *testing.T, b *bench, name string, got []byte) {
	t.Helper()
	got = bytes.ReplaceAll(got, []byte(b.shelf.root), []byte("/skills"))
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, pretty.Bytes()) {
		t.Errorf("%s differs; look at the change and run with -update:\n%s", path, pretty.Bytes())
	}
}

func TestGoldenSurfaces(t *testing.T) {
	b := newBench(t, nil)
	c := b.open(t)
	golden(t, b, "initialize.json", c.ok("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	golden(t, b, "tools_list.json", c.ok("tools/list", "{}"))
	golden(t, b, "prompts_list.json", c.ok("prompts/list", "{}"))
	golden(t, b, "resources_list.json", c.ok("resources/list", "{}"))
	golden(t, b, "templates_list.json", c.ok("resources/templates/list", "{}"))
	golden(t, b, "skills_list.json", c.ok("skills/list", "{}"))
	golden(t, b, "skill_list.json", []byte(c.tool(toolList, "{}").text()))
	m := b.stateless(t, "{}")
	golden(t, b, "discover.json", m.ok("server/discover", ""))
	golden(t, b, "skills_list_modern.json", m.ok("skills/list", ""))
}

func TestBudgets(t *testing.T) {
	if n := len(instructions); n >= 2048 {
		t.Errorf("the instructions have %d bytes", n)
	}
	for _, tool := range tools() {
		if n := len(tool.Description); n >= 2048 {
			t.Errorf("the description of %s has %d bytes", tool.Name, n)
		}
	}
	for _, c := range []*client{newBench(t, nil).legacy(t, "{}"), newBench(t, nil).stateless(t, "{}")} {
		if raw := c.ok("tools/list", "{}"); len(raw) >= 6<<10 {
			t.Errorf("tools/list has %d bytes", len(raw))
		}
	}
}

func TestWithoutSkillsOnlyToolsAreAdvertised(t *testing.T) {
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.Catalog = newShelf(t).scan() })
	var got struct{ Capabilities map[string]any }
	c := b.open(t)
	if err := json.Unmarshal(c.ok("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), &got); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"prompts", "resources", "extensions"} {
		if got.Capabilities[k] != nil {
			t.Errorf("%s is advertised", k)
		}
	}
	if got.Capabilities["tools"] == nil {
		t.Error("tools are not advertised")
	}
	r := c.tool(toolLoad, `{"name":"x"}`)
	if !r.IsError {
		t.Error("no error")
	}
	has(t, r.text(), `"x"`, "skill_list", "problems")
}

// The helper must not compete with the answer to initialize, and must not wait
// for the first call either.
func TestTheHelperBeginsWhenTheClientHasItsFirstAnswer(t *testing.T) {
	b := newBench(t, nil)
	c := b.legacy(t, "{}")
	if n := b.wall.asked.Load(); n != 0 {
		t.Errorf("begun %d times before the client had its answer", n)
	}
	c.receive(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for end := time.Now().Add(10 * time.Second); b.wall.asked.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // a timer is what is waited for
	}
	if n := b.wall.asked.Load(); n != 1 {
		t.Errorf("begun %d times, want 1", n)
	}
}
