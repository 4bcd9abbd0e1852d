package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/mcpserver"
)

func TestWhatAPictureSays(t *testing.T) {
	runs := mcpserver.ScriptOverview{
		Path: "scripts/a.js", Interpreter: "node", TimeoutMs: 60_000, Asked: true, Network: "declared",
		Env: []string{"PATH", "KEY"}, Hosts: []string{"api.example"}, Reads: []string{"/etc/ssl"}, Writes: []string{"/data"},
	}
	none, proxied, open, refused := runs, runs, runs, runs
	none.Network, none.Hosts = "none", nil
	proxied.Network, proxied.Hosts = "proxy", nil
	open.Network, open.Hosts = "open", nil
	refused.Why, refused.Env, refused.Hosts = "not granted", []string{"KEY"}, []string{"api.example"}
	for _, c := range []struct {
		name string
		s    mcpserver.ScriptOverview
		desc string
	}{
		{"declared hosts", runs, "Reads: its own skill, node, system libraries, /etc/ssl. Writes: a scratch folder of its own, /data. Hosts: api.example. Variables: PATH, KEY."},
		{"no network", none, "Hosts: no network."},
		{"a proxy", proxied, "Hosts: the proxy of the environment."},
		{"an open network", open, "Hosts: every host: the network is open."},
		{"what does not run", refused, "Reads: nothing: it does not run. Writes: nothing: it does not run. Hosts: asks for api.example. Variables: asks for KEY."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := draw(1, "demo", c.s)
			if !strings.Contains(p.Desc, c.desc) {
				t.Errorf("got %q, want %q in it", p.Desc, c.desc)
			}
			for _, g := range p.Gates {
				if c.s.Why != "" && g.Open {
					t.Errorf("the gate %s is open", g.Label)
				}
			}
			if p.Title != "What scripts/a.js of demo may reach" {
				t.Errorf("the title is %q", p.Title)
			}
		})
	}
}

// TestManyThingsAreCounted: a card names six and says how many more there are,
// the words below have all.
func TestManyThingsAreCounted(t *testing.T) {
	s := mcpserver.ScriptOverview{Path: "a.js", Interpreter: "node", Asked: true, Network: "declared"}
	for i := range 40 {
		s.Hosts = append(s.Hosts, fmt.Sprintf("h%d.example", i))
	}
	p := draw(1, "demo", s)
	hosts := p.Gates[2]
	if len(hosts.Lines) != mostItems || hosts.Lines[5].Text != "and 35 more, listed below" || len(p.Words[2].Items) != 40 {
		t.Errorf("%d lines, the last %q; %d in words", len(hosts.Lines), hosts.Lines[len(hosts.Lines)-1].Text, len(p.Words[2].Items))
	}
}

// FuzzWrapPath: lines are never wider or more than asked for, and what fits is
// whole.
func FuzzWrapPath(f *testing.F) {
	for _, s := range []string{"", "scripts/fill.js", strings.Repeat("x", 500), strings.Repeat("é/", 50), "a b c d e f g h i j k l m n o p q", "…", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "\ufffd")
		}
		lines := wrapPath(s, nameWidth, 5)
		if len(lines) > 5 {
			t.Fatalf("%d lines of %q", len(lines), s)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > nameWidth {
				t.Fatalf("%q is too wide", l)
			}
		}
		if utf8.RuneCountInString(s) <= nameWidth && (len(lines) != 1 || lines[0] != s) {
			t.Fatalf("%q became %q", s, lines)
		}
	})
}

// TestNothingOfASkillIsMarkup: whatever an author writes is text on the page.
func TestNothingOfASkillIsMarkup(t *testing.T) {
	const evil = `</title></svg><script>alert(1)</script><img src=x onerror=alert(1)>"' \u202e` + "\u202e"
	o := mcpserver.Overview{
		Skills: []mcpserver.SkillOverview{{
			Name: evil, Description: evil, Dir: evil,
			Problems: []catalog.Problem{{Path: evil, Reason: evil, Detail: evil}},
			Scripts: []mcpserver.ScriptOverview{
				{Path: evil, Interpreter: evil, Asked: true, Reads: []string{evil}, Writes: []string{evil}, Hosts: []string{evil}, Env: []string{evil}, NotSet: []string{evil}, Home: evil},
				{Path: evil + "2", Asked: true, Why: evil, Env: []string{evil}, Hosts: []string{evil}},
			},
		}},
		Problems: []catalog.Problem{{Path: evil, Reason: evil, Detail: evil}},
	}
	h := handler(t, Source{})
	var b bytes.Buffer
	if err := h.write(&b, "top", newTop(Facts{Overview: o, Runs: []Run{{Skill: evil, Script: evil, Verdict: evil, Signal: evil}}, RunsFrom: evil}, h.t.style)); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "\u202e") {
		t.Error("the page has markup or a direction mark of a skill's author")
	}
}

func TestWordsOfNumbers(t *testing.T) {
	for got, want := range map[string]string{
		sizeText(1): "1 byte", sizeText(1023): "1023 bytes", sizeText(48211000): "46.0 MiB", sizeText(3 << 30): "3.0 GiB",
		memoryText(0): "not measured", secondsText(999): "999 ms", secondsText(60_234): "60.23 s", secondsText(300_000): "300 s",
		plural(0, "script"): "0 scripts", plural(1, "script"): "1 script",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
