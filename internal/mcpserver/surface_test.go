package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

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
	for i := range 170 {
		c.put(fmt.Sprintf("s%d", i), `description: "`+strings.Repeat(`\x01\"`, 9_000)+"\"\n"+strings.Repeat("é", 400)+": 1\n", "", nil)
	}
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.Catalog = c.scan() })
	cl := b.legacy(t, "{}")
	r := cl.tool(toolList, "{}")
	if r.IsError || cl.longest > 8<<20 || len(r.object(t)["skills"].([]any)) != 170 {
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

func TestFiles(t *testing.T) {
	b := newBench(t, func(_ *setup, c *shelf, _ *wall) {
		for p, text := range map[string]string{
			"bin": "\xff\x00", "nul.txt": "a\x00b", "bad.md": "a\xffb", "empty": "", "long.txt": strings.Repeat("x", catalog.MaxRead-1) + "éé",
			"exact.json": strings.Repeat("y", catalog.MaxRead), "dir.d/noext": "1",
		} {
			c.write("demo", p, text)
		}
	})
	c := b.legacy(t, "{}")
	r := c.tool(toolFile, `{"name":"demo","paths":["docs/a b.md","bin","nul.txt","bad.md","empty","../x","dir.d/noext","docs/a b.md"]}`)
	want := `{"skill":"demo","files":[` +
		`{"path":"docs/a b.md","size":1,"mediaType":"text/markdown","encoding":"utf-8","truncated":false,"content":"x"},` +
		`{"path":"bin","size":2,"mediaType":"application/octet-stream","encoding":"base64","truncated":false,"content":"/wA="},` +
		`{"path":"nul.txt","size":3,"mediaType":"text/plain","encoding":"base64","truncated":false,"content":"YQBi"},` +
		`{"path":"bad.md","size":3,"mediaType":"text/markdown","encoding":"base64","truncated":false,"content":"Yf9i"},` +
		`{"path":"empty","size":0,"mediaType":"application/octet-stream","encoding":"utf-8","truncated":false,"content":""},` +
		`{"path":"../x","error":"\"../x\" is not usable: it has a \"..\" segment"},` +
		`{"path":"dir.d/noext","size":1,"mediaType":"application/octet-stream","encoding":"utf-8","truncated":false,"content":"1"},` +
		`{"path":"docs/a b.md","size":1,"mediaType":"text/markdown","encoding":"utf-8","truncated":false,"content":"x"}]}`
	if r.text() != want {
		t.Errorf("got  %s\nwant %s", r.text(), want)
	}
	o := c.tool(toolFile, `{"name":"demo","paths":["long.txt","exact.json"]}`).object(t)["files"].([]any)
	long, exact := o[0].(map[string]any), o[1].(map[string]any)
	if long["encoding"] != "utf-8" || long["truncated"] != true || len(long["content"].(string)) != catalog.MaxRead-1 || exact["truncated"] != false {
		t.Error("the cut splits a character, or exactly 1 MiB is cut")
	}
	has(t, long["truncationNote"].(string), "1048576", "1048579")
	five := `{"name":"demo","paths":["exact.json","exact.json","exact.json","exact.json","exact.json"]}`
	if r := c.tool(toolFile, five); !r.IsError {
		t.Error("5 MiB were read")
	} else {
		has(t, r.text(), "5 paths", "5242880", "over this call's 4194304-byte limit", "Hint: ")
	}
	if r := c.tool(toolFile, `{"name":"demo","paths":["exact.json","exact.json","exact.json","exact.json"]}`); r.IsError {
		t.Error("exactly 4 MiB: " + r.text())
	}
}

func TestALegalBatchIsNeverRefusedForItsCharacters(t *testing.T) {
	for name, unit := range map[string]string{"control": "\x01", "quotes": `"`, "separators": "\u2028", "newlines": "\n", "markup": "<&>", "mixed": "\x01aé\"\\\u2029"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(_ *setup, c *shelf, _ *wall) {
				for i := range 4 {
					c.write("demo", fmt.Sprint(i), strings.Repeat(unit, catalog.MaxRead/len(unit)))
				}
			})
			c := b.legacy(t, "{}")
			r := c.tool(toolFile, `{"name":"demo","paths":["0","1","2","3"]}`)
			if r.IsError || c.longest > 8<<20 {
				t.Fatalf("%d bytes: %.200s", c.longest, r.text())
			}
			texts := 0
			for _, f := range r.object(t)["files"].([]any) {
				f := f.(map[string]any)
				got := f["content"].(string)
				if f["encoding"] == "base64" {
					raw, err := base64.StdEncoding.DecodeString(got)
					if err != nil {
						t.Fatal(err)
					}
					got = string(raw)
				} else {
					texts++
				}
				if got != strings.Repeat(unit, catalog.MaxRead/len(unit)) {
					t.Fatal("other bytes")
				}
			}
			t.Logf("%d of 4 as text, %d bytes", texts, c.longest)
		})
	}
}

func TestPathsOfAnyLengthFitAMessage(t *testing.T) {
	c := newBench(t, nil).legacy(t, "{}")
	long := strings.Repeat(`\"`, 400_000)
	r := c.tool(toolFile, `{"name":"demo","paths":["`+long+`","`+long+`","`+long+`","`+long+`","`+long+`"]}`)
	if r.IsError || c.longest > 1<<20 {
		t.Fatalf("%d: %.100s", c.longest, r.text())
	}
	if r := c.tool(toolLoad, `{"name":"`+long+`"}`); !r.IsError || len(r.text()) > 1000 {
		t.Fatalf("%d", len(r.text()))
	}
}

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

func TestRedaction(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"open /a: permission denied", "open /a: permission denied"},
		{"Authorization: Bearer abcdefghijk", "Authorization: [REDACTED]"},
		{"got Bearer abcdefghijkl", "got Bearer [REDACTED]"},
		{"x eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM y", "x [REDACTED] y"},
		{"key " + "sk-" + strings.Repeat("aB3", 8) + " end", "key [REDACTED] end"},
		{"ghp_abcdefghij1234567890", "[REDACTED]"},
		{"https://h/p?token=abc&x=1", "https://h/p?token=[REDACTED]&x=1"},
		{`{"password": "a\"b", "n": 1}`, `{"password": [REDACTED], "n": 1}`},
		{"https://user:pw@h/", "https://user:[REDACTED]@h/"},
		{"Cookie: a=b; c=d", "Cookie: [REDACTED]"},
	} {
		if got := redact(x.in); got != x.want {
			t.Errorf("%q: got %q, want %q", x.in, got, x.want)
		}
	}
}

func FuzzURI(f *testing.F) {
	for _, s := range []string{"skill://a/b", "skill://a", "skill://a/", "skill://a/%20", "skill://a/%2f", "skill:///", "x", "skill://a/é/%C3%A9", "skill://a/b%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		skill, path, ok := parseURI(uri)
		if !ok || path == "" || strings.Contains(path, "%") {
			return
		}
		s2, p2, ok := parseURI(fileURI(skill, path))
		if !ok || s2 != skill || p2 != path {
			t.Fatalf("%q is %q and %q, written again %q", uri, skill, path, fileURI(skill, path))
		}
	})
}

func FuzzTextCost(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\\n\x01\u2028é\x7f<>&\b\f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		inner, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textCost(s), wireLen(inner)-4; got != want {
			t.Fatalf("%q: counted %d, is %d", s, got, want)
		}
		got, err := spliced(`{"a":"\"b\":\"\"","b":"","c":1}`, []string{"b"}, []string{s})
		if err != nil || got != `{"a":"\"b\":\"\"","b":`+inner+`,"c":1}` || escapedLen(s) != len(inner)-2 {
			t.Fatalf("%q: %s %v", s, got, err)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{runB, `{}`, `null`, `[]`, `{"name":"a","script":"b","args":["\ud800"],"confirmToken":""}`, `{"name":"a","NAME":"b"}`, `{"name":"a","name":"b","script":"c"}`, `{"name"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var r mcp.CallToolRequest
		r.Params.RawArguments = json.RawMessage(raw)
		if !json.Valid(r.Params.RawArguments) { // the transport has refused it
			return
		}
		in, err := readRun(r)
		if err != nil {
			return
		}
		again, err := json.Marshal(map[string]any{"name": in.name, "script": in.script, "args": in.args, "confirmToken": in.token})
		if err != nil {
			t.Fatal(err)
		}
		r.Params.RawArguments = again
		if in2, err := readRun(r); err != nil || !reflect.DeepEqual(in, in2) {
			t.Fatalf("%q is %+v, written again %+v (%v)", raw, in, in2, err)
		}
	})
}
