package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
)

func TestSkillsExtension(t *testing.T) {
	b := newBench(t, func(_ *setup, c *shelf, _ *wall) {
		c.put("large", "description: d\n", "", map[string]string{"big": strings.Repeat("é", catalog.MaxRead)})
		many := map[string]string{}
		for i := range 512 {
			many[fmt.Sprint("f", i)] = ""
		}
		c.put("many", "description: d\n", "", many)
	})
	c := b.legacy(t, "{}")
	has(t, string(c.ok("skills/list", "{}")), `{"uri":"skill://large/big","digest":"sha256:`+hash(strings.Repeat("é", catalog.MaxRead/2))+`","size":1048576}`,
		`"uri":"skill://many/SKILL.md","frontmatter":{"name":"many","description":"d"},"resources":"dynamic"`)
	if strings.Contains(string(c.ok("skills/list", "{}")), "plain") {
		t.Error("a skill that is not portable is listed")
	}
	has(t, string(c.ok("skills/get", `{"uri":"skill://demo/SKILL.md"}`)), `{"skill":{"uri":"skill://demo/SKILL.md"`, `"digest":"sha256:`)
	for _, bad := range []string{"skill://demo", "skill://demo/docs/a%20b.md", "skill://plain/SKILL.md", "skill://x/SKILL.md", "x"} {
		if r := c.call("skills/get", fmt.Sprintf(`{"uri":%q}`, bad)); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: %+v", bad, r)
		}
	}
	size := fmt.Sprint(len("---\nname: demo\n" + demoFront + "---\n\n# Title\n"))
	want := `{"resources":[{"uri":"skill://demo/SKILL.md","name":"demo","title":"demo: SKILL.md","description":"Counts things.","mimeType":"text/markdown","size":` + size + `},` +
		`{"uri":"skill://demo/docs","name":"docs","mimeType":"inode/directory"},{"uri":"skill://demo/scripts","name":"scripts","mimeType":"inode/directory"}]}`
	if got := string(c.ok("resources/directory/read", `{"uri":"skill://demo"}`)); got != want {
		t.Errorf("got %s", got)
	}
	has(t, string(c.ok("resources/directory/read", `{"uri":"skill://demo/docs"}`)), `"uri":"skill://demo/docs/a%20b.md","name":"a b.md"`)
	for _, bad := range []string{"skill://demo/SKILL.md", "skill://demo/none", "skill://demo/", "skill://x", "skill://demo/docs/a%20b.md"} {
		if r := c.call("resources/directory/read", fmt.Sprintf(`{"uri":%q}`, bad)); r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%s: %+v", bad, r)
		}
	}
	var p struct {
		Resources  []struct{ URI string }
		NextCursor string
	}
	seen := map[string]bool{}
	for {
		at := p.NextCursor
		p.Resources, p.NextCursor = nil, ""
		if err := json.Unmarshal(c.ok("resources/directory/read", fmt.Sprintf(`{"uri":"skill://many","cursor":%q}`, at)), &p); err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Resources {
			if seen[r.URI] {
				t.Errorf("%s twice", r.URI)
			}
			seen[r.URI] = true
		}
		if p.NextCursor == "" {
			break
		}
	}
	if len(seen) != 513 {
		t.Errorf("%d entries", len(seen))
	}
}

func TestPagesOfSkills(t *testing.T) {
	c := newShelf(t)
	for i := range 250 {
		c.put(fmt.Sprintf("s%03d", i), "description: d\nmetadata: {more: "+strings.Repeat("d", 1+i*200)+"}\n", "", nil)
	}
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.Catalog = c.scan() })
	cl := b.legacy(t, "{}")
	at, n, pages := "", 0, 0
	for {
		var p struct {
			Skills     []entry
			NextCursor string
		}
		if err := json.Unmarshal(cl.ok("skills/list", fmt.Sprintf(`{"cursor":%q}`, at)), &p); err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Skills {
			if e.URI != fmt.Sprintf("skill://s%03d/SKILL.md", n) {
				t.Fatalf("%s is number %d", e.URI, n)
			}
			n++
		}
		pages++
		if p.NextCursor == "" {
			break
		}
		at = p.NextCursor
	}
	if n != 250 || pages < 4 || cl.longest > 2<<20 {
		t.Errorf("%d skills on %d pages of at most %d bytes", n, pages, cl.longest)
	}
}
