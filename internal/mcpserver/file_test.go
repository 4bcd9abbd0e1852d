package mcpserver

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
)

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
	for name, unit := range map[string]string{"control": "\x01", "markup": "<&>", "mixed": "\x01aé\"\\\u2029"} {
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
