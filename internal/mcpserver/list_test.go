package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/wire"
)

func TestListSaysWhereGrantsComeFrom(t *testing.T) {
	for _, x := range []struct {
		name   string
		grants grant.Grants
		want   []string
		lacks  []string
	}{
		{"declaration", grant.Grants{From: grant.FromDeclaration}, []string{`"grantFrom":"declaration"`}, []string{"grantNote", "grantError", "ungrantedScripts"}},
		{"hosted", grant.Grants{From: grant.FromHosted}, []string{`"grantFrom":"hosted-default"`, `"grantNote":"`, "MCP_SKILL_RUN", `"ungrantedScripts":[{`, `"executable":false`}, []string{"grantError"}},
		{"broken rows", grant.Grants{From: grant.FromVariable, Error: "MCP_SKILL_RUN: bad"}, []string{`"grantError":"MCP_SKILL_RUN: bad`, "othing is granted", `"scripts":[]`}, []string{"grantNote"}},
		{"rows that mean nothing", grant.Grants{From: grant.FromVariable, Notes: []string{"row 0: unknown key"}, Rows: []grant.Row{
			{Skill: "demo", Script: "scripts/a.js", Env: []string{"A_KEY", "OTHER"}}, {Skill: "demo", Script: "scripts/z.js"}, {Skill: "gone", Script: "q.js"},
		}}, []string{`"scripts":[{"script":"scripts/a.js","interpreter":"node","timeoutMs":60000,"env":["A_KEY"]}]`, "scripts/z.js", "q.js", "OTHER", "unknown key",
			`"reason":"grant"`, `"path":"MCP_SKILL_RUN"`, `"ungrantedScripts":[{"script":"scripts/b.js"`}, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.front.Grants = x.grants })
			text := b.legacy(t, "{}").tool(toolList, "{}").text()
			has(t, text, x.want...)
			for _, l := range x.lacks {
				if strings.Contains(text, l) {
					t.Errorf("%s in %s", l, text)
				}
			}
		})
	}
}

func TestListReportsTheRest(t *testing.T) {
	b := newBench(t, func(s *setup, c *shelf, w *wall) {
		s.front.Hosted, s.view.Disabled = true, []string{"demo"}
		w.ready.Scrub = wire.Scrub{State: "failed", Reason: "EPERM"}
		c.write("x", "a.md", "")
	})
	text := b.legacy(t, "{}").tool(toolList, "{}").text()
	has(t, text, `"disabled":true`, `"problems":[{"path":"`+b.shelf.root+`/x"`, `"notPortable":[{"path":"`+b.shelf.root+`/plain","reason":"not-portable"`,
		`{"path":"/proc/self/environ","reason":"environ-unscrubbed","detail":"`, "MCP_SKILL_ALLOW_UNSCRUBBED=1")
	var got struct {
		Problems []catalog.Problem
		Skills   []struct {
			Name       string
			Scripts    []any
			Executable bool
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if last := got.Problems[len(got.Problems)-1]; last.Reason != "environ-unscrubbed" {
		t.Errorf("last is %s", last.Reason)
	}
	if got.Skills[0].Executable || len(got.Skills[0].Scripts) != 0 {
		t.Error("a disabled skill has scripts")
	}
}

func TestAListOfAnyLengthFitsAMessage(t *testing.T) {
	c := newShelf(t)
	for i := range 100 {
		c.put(fmt.Sprintf("s%d", i), `description: "`+strings.Repeat(`\x01\"`, 9_000)+"\"\n"+strings.Repeat("é", 400)+": 1\n", "", nil)
	}
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.Catalog = c.scan() })
	cl := b.legacy(t, "{}")
	r := cl.tool(toolList, "{}")
	if r.IsError || cl.longest > 8<<20 || len(r.object(t)["skills"].([]any)) != 100 {
		t.Fatalf("%v %d", r.IsError, cl.longest)
	}
	has(t, r.object(t)["note"].(string), "are cut")
}

func TestLoad(t *testing.T) {
	b := newBench(t, func(s *setup, c *shelf, _ *wall) {
		c.put("plain", "", strings.Repeat("Hello.\n", 40_000), nil)
		s.front.Grants = grant.Grants{From: grant.FromVariable, Rows: []grant.Row{{Skill: "demo", Script: "scripts/a.js"}, {Skill: "demo", Script: "scripts/c.py"}}}
	})
	c := b.legacy(t, "{}")
	want := `{"name":"demo","description":"Counts things.","whenToUse":"When counting.","source":"` + b.shelf.root + `","body":"\n# Title\n","truncated":false,` +
		`"files":[{"path":"SKILL.md","size":` + fmt.Sprint(len("---\nname: demo\n"+demoFront+"---\n\n# Title\n")) + `},{"path":"docs/a b.md","size":1},{"path":"scripts/a.js","size":1},{"path":"scripts/b.js","size":1},{"path":"scripts/c.py","size":1}],` +
		`"scripts":[{"script":"scripts/a.js","interpreter":"node","runnableHere":true},{"script":"scripts/c.py","interpreter":"python3","runnableHere":false}]}`
	if r := c.tool(toolLoad, `{"name":"demo"}`); r.text() != want {
		t.Errorf("got  %s\nwant %s", r.text(), want)
	}
	has(t, c.tool(toolLoad, `{"name":"plain"}`).text(), `"truncated":true,"truncationNote":"`, "262144")
	r := c.tool(toolLoad, `{"name":"<no>"}`)
	has(t, r.text(), `no skill named "<no>"`, "\n\nHint: ", "demo, plain")
}

func TestAManifestOfAnyLengthFitsAMessage(t *testing.T) {
	c := newShelf(t)
	files := map[string]string{}
	part := strings.Repeat("\x01", 240)
	for i := range 1999 {
		files[part+"/"+part+"/"+part+"/"+fmt.Sprintf("%04d%s", i, part)] = ""
	}
	c.put("long", "", "b", files)
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.Catalog = c.scan() })
	cl := b.legacy(t, "{}")
	r := cl.tool(toolLoad, `{"name":"long"}`)
	if r.IsError || cl.longest > 8<<20 {
		t.Fatalf("%v %d", r.IsError, cl.longest)
	}
	has(t, r.text(), `"filesNote":"only the first`)
	at, n := "", 0
	for {
		var p struct {
			Resources  []struct{ URI string }
			NextCursor string
		}
		if err := json.Unmarshal(cl.ok("resources/list", fmt.Sprintf(`{"cursor":%q}`, at)), &p); err != nil {
			t.Fatal(err)
		}
		if n += len(p.Resources); p.NextCursor == "" {
			break
		}
		at = p.NextCursor
	}
	if n != maxListed {
		t.Errorf("%d resources", n)
	}
}
