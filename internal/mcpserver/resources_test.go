package mcpserver

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
)

func TestResources(t *testing.T) {
	b := newBench(t, func(_ *setup, c *shelf, _ *wall) {
		files := map[string]string{}
		for _, p := range []string{"two words.md", "# notes.ini", "q?.md", "説明.md", "tab\there.md", "new\nline.md", "a&b=c.md", "[x].xml", "~t", "bin"} {
			files[p] = p
		}
		files["bin"] = "\xff"
		files["long"] = strings.Repeat("é", catalog.MaxRead)
		c.put("odd", "description: Odd.\n", "", files)
	})
	c := b.legacy(t, "{}")
	var list struct {
		Resources []struct {
			URI, Name, Title, Description, MimeType string
			Size                                    int64
		}
	}
	if err := json.Unmarshal(c.ok("resources/list", "{}"), &list); err != nil {
		t.Fatal(err)
	}
	type contents struct {
		Contents []struct {
			URI, MimeType string
			Text          *string
			Blob          *string
			Meta          map[string]any `json:"_meta"`
		}
	}
	n := 0
	for _, r := range list.Resources {
		raw, err := url.PathUnescape(r.URI)
		if err != nil {
			t.Fatal(err)
		}
		path, ok := strings.CutPrefix(raw, "skill://odd/")
		if !ok {
			continue
		}
		n++
		if path == "SKILL.md" && (r.Name != "odd" || r.Description != "Odd." || r.MimeType != "text/markdown") {
			t.Errorf("%+v", r)
		}
		for _, u := range []string{r.URI, raw} {
			var got contents
			q, _ := json.Marshal(u)
			if err := json.Unmarshal(c.ok("resources/read", `{"uri":`+string(q)+`}`), &got); err != nil {
				t.Fatal(err)
			}
			one := got.Contents[0]
			content, err := os.ReadFile(filepath.Join(b.shelf.root, "odd", path))
			if err != nil {
				t.Fatal(err)
			}
			switch want := string(content); {
			case path == "bin":
				if one.Blob == nil || *one.Blob != "/w==" || one.Text != nil {
					t.Errorf("%+v", one)
				}
			case path == "long":
				if one.Meta["skill-mcp/truncated"] != true || one.Meta["skill-mcp/size"] != float64(len(want)) || len(*one.Text) != catalog.MaxRead {
					t.Errorf("%v", one.Meta)
				}
			case one.Text == nil || *one.Text != want || one.URI != u || one.Meta != nil:
				t.Errorf("%+v", one)
			}
		}
	}
	if n != 12 {
		t.Errorf("%d resources", n)
	}
}

func TestUnknownResourcesAreErrorsOfTheirEra(t *testing.T) {
	b := newBench(t, func(_ *setup, c *shelf, _ *wall) { c.put("odd", "", "", nil) })
	c := b.legacy(t, "{}")
	for _, bad := range []string{"skill://odd/none", "skill://odd/../demo/SKILL.md", "skill://odd/%2e%2e/demo/SKILL.md", "skill://odd", "skill://none/SKILL.md", "file:///etc/passwd",
		"skill://odd/a%2fb", "skill://odd/%zz", "skill:///SKILL.md", ""} {
		q, _ := json.Marshal(bad)
		if r := c.call("resources/read", `{"uri":`+string(q)+`}`); r.Error == nil || r.Error.Code != -32002 || r.Error.Data["uri"] != bad {
			t.Errorf("%q: %+v", bad, r.Error)
		}
		if r := b.stateless(t, "{}").call("resources/read", `{"uri":`+string(q)+`}`); r.Error == nil || r.Error.Code != -32602 || r.Error.Data["uri"] != bad {
			t.Errorf("%q: %+v", bad, r.Error)
		}
	}
	if r := c.call("resources/list", `{"cursor":"x"}`); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("%+v", r)
	}
}

func TestPrompts(t *testing.T) {
	b := newBench(t, func(_ *setup, c *shelf, _ *wall) { c.put("plain", "", strings.Repeat("Hello.\n", 40_000), nil) })
	c := b.legacy(t, "{}")
	want := `{"description":"Counts things. When counting.","messages":[{"role":"user","content":{"type":"text","text":"\n# Title\n"}}]}`
	if got := string(c.ok("prompts/get", `{"name":"demo"}`)); got != want {
		t.Errorf("got %s", got)
	}
	has(t, string(c.ok("prompts/get", `{"name":"plain"}`)), `"The plain skill."`, "Hello.", "262144")
	if r := c.call("prompts/get", `{"name":"nope"}`); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("%+v", r)
	}
	has(t, string(b.stateless(t, "{}").ok("prompts/list", "")), `"resultType":"complete"`, `"ttlMs":0`, `"cacheScope"`)
}

func TestCompletion(t *testing.T) {
	c := newBench(t, nil).legacy(t, "{}")
	ref := `"ref":{"type":"ref/resource","uri":"skill://{skill}/{+path}"}`
	has(t, string(c.ok("completion/complete", `{`+ref+`,"argument":{"name":"skill","value":"de"}}`)), `"values":["demo"]`)
	has(t, string(c.ok("completion/complete", `{`+ref+`,"argument":{"name":"path","value":"scripts/"},"context":{"arguments":{"skill":"demo"}}}`)),
		`"values":["scripts/a.js","scripts/b.js","scripts/c.py"]`)
	has(t, string(c.ok("completion/complete", `{"ref":{"type":"ref/resource","uri":"x://{y}"},"argument":{"name":"y","value":""}}`)), `"values":[]`)
}
