package pack

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

func TestB1SkillAtTheRoot(t *testing.T) {
	p := newBench(t).preview(skillAt("", "one", e{Name: "references/x.md", Data: []byte("x")})...)
	if len(p.Candidates) != 1 || p.Candidates[0].Path != "" || !p.Candidates[0].Importable || len(p.Candidates[0].Files) != 2 {
		t.Fatalf("%+v", p.Candidates)
	}
	if c := p.Candidates[0]; c.Description != "does one" || c.Body != "Body of one.\n" || c.Action != ActionInstall {
		t.Errorf("%+v", c)
	}
}

func TestB2SkillTwoFoldersDown(t *testing.T) {
	b := newBench(t)
	if p := b.preview(skillAt("wrapper/skill-a", "a")...); paths(p) != "wrapper/skill-a" {
		t.Error(paths(p))
	}
	if code := b.refused(ziptest.Zip(skillAt("1/2/3", "a")...)); code != CodeNoSkill {
		t.Error(code)
	}
}

func TestB3DeeperDocumentsBelongToTheShallowest(t *testing.T) {
	p := newBench(t).preview(append(skillAt("a", "a"), skillAt("a/examples/b", "b")...)...)
	if paths(p) != "a" || len(p.Candidates[0].Files) != 2 || p.Candidates[0].Files[1].Path != "examples/b/SKILL.md" {
		t.Fatalf("%+v", p.Candidates)
	}
}

func TestB4TwoSkillsHaveToBeChosen(t *testing.T) {
	b := newBench(t)
	p := b.preview(append(skillAt("a", "a"), skillAt("b", "b")...)...)
	if _, err := b.Apply(context.Background(), p.Token, nil, false); codeOf(err) != CodeChoose {
		t.Fatal(err)
	}
	if b.tree() != "" {
		t.Error(b.tree())
	}
	if res := b.apply(p, Choice{Path: "b"}); res[0].Status != StatusImported { // the token is still good
		t.Errorf("%+v", res)
	}
}

func TestB5ZipOfZips(t *testing.T) {
	for _, deflate := range []bool{false, true} {
		p := newBench(t).preview(
			e{Name: "good.zip", Data: ziptest.Zip(skillAt("s", "s")...), Deflate: deflate},
			e{Name: "text.zip", Data: []byte("no archive"), Deflate: deflate},
			e{Name: "other.skill", Data: ziptest.Zip(e{Name: "README"}), Deflate: deflate})
		if paths(p) != "good.zip/s" || len(p.Skipped) != 2 || !p.Candidates[0].Importable {
			t.Fatalf("%s, %+v", paths(p), p.Skipped)
		}
		for _, s := range p.Skipped {
			if s.Reason == "" {
				t.Errorf("%+v", s)
			}
		}
	}
}

func TestB6InnermostArchiveIsNotOpened(t *testing.T) {
	inner := ziptest.Zip(skillAt("", "inner")...)
	b := newBench(t)
	p := b.preview(append(skillAt("a", "a"), e{Name: "middle.zip", Data: ziptest.Zip(e{Name: "inner.zip", Data: inner})})...)
	if paths(p) != "a" || len(p.Skipped) != 2 {
		t.Fatalf("%s %+v", paths(p), p.Skipped)
	}
}

func TestB8ArchiveInsideASkillIsAFile(t *testing.T) {
	b := newBench(t)
	inner := ziptest.Zip(skillAt("", "inner")...)
	b.install(skillAt("a", "a", e{Name: "data.zip", Data: inner, Deflate: true})...)
	if b.read("a/data.zip") != string(inner) {
		t.Error("bytes differ")
	}
}

func TestB9SixteenThousandFiles(t *testing.T) {
	many := func(folder string, n int) []e {
		out := skillAt(folder, folder)
		for i := 1; i < n; i++ {
			out = append(out, e{Name: fmt.Sprintf("%s/%d", folder, i)})
		}
		return out
	}
	b := newBench(t)
	if p := b.preview(many("a", MaxFiles)...); !p.Candidates[0].Importable {
		t.Errorf("%+v", p.Candidates[0].Diagnostics)
	}
	p := b.preview(append(many("a", MaxFiles+1), skillAt("b", "b")...)...)
	if p.at("a").codes() != CodeFileCount || !p.at("b").Importable {
		t.Errorf("%s", p.at("a").codes())
	}
}

func TestB11FileAndSkillSize(t *testing.T) {
	zeros := make([]byte, MaxFileBytes+1)
	packed := map[int][]byte{}
	file := func(folder, name string, n int) e {
		if packed[n] == nil {
			packed[n] = ziptest.Pack(zeros[:n])
		}
		return e{Name: folder + "/" + name, Data: zeros[:n], Packed: packed[n]}
	}
	b := newBench(t)
	p := b.preview(append(append(skillAt("a", "a"), file("a", "f", MaxFileBytes)), append(skillAt("b", "b"), file("b", "f", MaxFileBytes+1))...)...)
	if !p.at("a").Importable || p.at("b").codes() != CodeFileSize {
		t.Errorf("a: %s, b: %s", p.at("a").codes(), p.at("b").codes())
	}
	rest := MaxSkillBytes - 2*MaxFileBytes - len(md("a"))
	whole := append(skillAt("a", "a"), file("a", "1", MaxFileBytes), file("a", "2", MaxFileBytes), file("a", "3", rest))
	if p := b.preview(whole...); !p.at("a").Importable || p.at("a").Bytes != MaxSkillBytes {
		t.Errorf("128 MiB: %s", p.at("a").codes())
	}
	whole[3] = file("a", "3", rest+1)
	if p := b.preview(append(whole, skillAt("b", "b")...)...); p.at("a").codes() != CodeSkillSize || !p.at("b").Importable {
		t.Errorf("128 MiB and one: %s", p.at("a").codes())
	}
}

func TestB12Depth(t *testing.T) {
	p := newBench(t).preview(append(skillAt("a", "a", e{Name: "2/3/4/5/6/7/8/f"}), skillAt("b", "b", e{Name: "2/3/4/5/6/7/8/9/f"})...)...)
	if !p.at("a").Importable || p.at("b").codes() != CodeFileUnusable {
		t.Errorf("a: %s, b: %s", p.at("a").codes(), p.at("b").codes())
	}
}

func TestB13Entries(t *testing.T) {
	b := newBench(t)
	entries := skillAt("a", "a")
	for i := len(entries); i < MaxEntries; i++ {
		entries = append(entries, e{Name: fmt.Sprintf("other/%d/", i)})
	}
	if p := b.preview(entries...); !p.at("a").Importable {
		t.Error(p.at("a").codes())
	}
	if code := b.refused(ziptest.Zip(append(entries, e{Name: "more"})...)); code != "archive.file-count-exceeded" {
		t.Error(code)
	}
}

func TestB15NestedArchiveSize(t *testing.T) {
	bundle := func(size int) []e {
		inner := skillAt("", "inner", e{Name: "pad", Data: make([]byte, 32<<20)}, e{Name: "more"})
		pad := size - len(ziptest.Zip(inner...))
		inner[2].Data = make([]byte, pad)
		return append(skillAt("a", "a"), e{Name: "n.zip", Data: ziptest.Zip(inner...)})
	}
	b := newBench(t)
	if p := b.preview(bundle(MaxNestedBytes)...); paths(p) != "a n.zip" || !p.at("n.zip").Importable {
		t.Errorf("64 MiB: %s %+v", paths(p), p.Skipped)
	}
	p := b.preview(bundle(MaxNestedBytes + 1)...)
	if paths(p) != "a" || len(p.Skipped) != 1 || !p.at("a").Importable {
		t.Errorf("64 MiB and one: %s %+v", paths(p), p.Skipped)
	}
}

func TestB16Skills(t *testing.T) {
	b := newBench(t)
	entries := []e{}
	for i := range MaxSkills {
		entries = append(entries, skillAt(fmt.Sprintf("s%03d", i), fmt.Sprintf("s%03d", i))...)
	}
	if p := b.preview(entries...); len(p.Candidates) != MaxSkills || len(p.Skipped) != 0 {
		t.Errorf("256: %d, %+v", len(p.Candidates), p.Skipped)
	}
	p := b.preview(append(entries, skillAt("t", "t")...)...)
	if len(p.Candidates) != MaxSkills || len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Reason, CodeSkillCount) {
		t.Errorf("257: %d, %+v", len(p.Candidates), p.Skipped)
	}
}

func TestB17PreviewText(t *testing.T) {
	long := func(name string, n int) e {
		text := append(md(name), bytes.Repeat([]byte("x"), n-len(md(name)))...)
		return e{Name: name + "/SKILL.md", Data: text, Deflate: true}
	}
	b := newBench(t)
	p := b.preview(long("a", 2<<20), long("b", 2<<20), long("c", 2<<20))
	if p.at("a").PreviewError != "" || p.at("b").PreviewError != "" || p.at("c").PreviewError == "" || !p.at("c").Importable || p.at("c").Body != "" || p.at("c").Description != "" {
		t.Errorf("%q %q %q", p.at("a").PreviewError, p.at("b").PreviewError, p.at("c").PreviewError)
	}
	p = b.preview(long("a", 2<<20), long("b", 3<<20), long("c", 1<<20))
	if p.at("b").PreviewError == "" || p.at("c").PreviewError != "" || p.at("c").Body == "" {
		t.Error("a later small one does not fit")
	}
	if res := b.apply(p, Choice{Path: "b"}); res[0].Status != StatusImported || res[0].ID != "b" {
		t.Errorf("%+v", res)
	}
}

func TestB19Names(t *testing.T) {
	for _, c := range []struct{ name, text, install, code string }{
		{"no front matter", "# Hello\n", "", CodeNoFrontMatter},
		{"front matter without a name", "---\ndescription: x\n---\n", "", CodeNoName},
		{"an empty name", "---\nname: ''\n---\n", "", CodeNoName},
		{"broken YAML", "---\nname: a: b\n---\n", "", CodeFrontMatter},
		{"never closed", "---\nname: a\n", "", CodeNoFrontMatter},
		{"a list", "---\n- name\n---\n", "", CodeFrontMatter},
		{"os-", "---\nname: os-x\n---\n", "os-x", CodeNameReserved},
		{"mcp-", "---\nname: MCP_x\n---\n", "mcp-x", CodeNameReserved},
		{"only signs", "---\nname: '!!'\n---\n", "", CodeNoName},
		{"capitals and a blank", "---\nname: A B\n---\nx\n", "a-b", ""},
		{"65 characters", "---\nname: " + strings.Repeat("n", 65) + "\n---\n", strings.Repeat("n", 64), ""},
		{"64 characters", "---\nname: " + strings.Repeat("n", 64) + "\n---\n", strings.Repeat("n", 64), ""},
		{"a hyphen first", "---\nname: -x\n---\n", "x", ""},
		{"two hyphens", "---\nname: x--y\n---\n", "x-y", ""},
		{"a number", "---\nname: 1.10\n---\n", "1-10", ""},
		{"a word that is a boolean", "---\nname: true\n---\n", "true", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			p := b.preview(e{Name: "d/SKILL.md", Data: []byte(c.text)})
			got := p.Candidates[0]
			if got.codes() != c.code || got.InstallName != c.install {
				t.Fatalf("%s %q", got.codes(), got.InstallName)
			}
			if c.code != "" {
				return
			}
			if changed := got.DeclaredName != c.install; got.has(CodeNameChanged) != changed {
				t.Errorf("warning: %+v", got.Diagnostics)
			}
			if res := b.apply(p); res[0].Status != StatusImported || ParseDocument([]byte(b.read(c.install+"/SKILL.md"))).Name != c.install {
				t.Errorf("%+v: %q", res, b.read(c.install+"/SKILL.md"))
			}
			if v, err := Verify(context.Background(), b.Into, nil); err != nil || v[0].Condition != ConditionIntact {
				t.Errorf("%+v %v", v, err)
			}
		})
	}
}

func TestB20LineEnds(t *testing.T) {
	b := newBench(t)
	for i, text := range []string{"---\r\nname: x\r\ndescription: d\r\n---\r\n\r\nBody\r\n", "---\rname: x\rdescription: d\r---\r\rBody\r"} {
		p := b.preview(e{Name: "SKILL.md", Data: []byte(text)})
		if c := p.Candidates[0]; c.InstallName != "x" || c.Description != "d" || c.Body != "Body\n" {
			t.Fatalf("%+v", c)
		}
		res := b.apply(p, Choice{Path: "", ReplaceID: []string{"", "x"}[i]})
		if res[0].Status == StatusError || b.read("x/SKILL.md") != text {
			t.Errorf("%+v", res)
		}
	}
}

func TestB21ScalarsStayText(t *testing.T) {
	text := "---\nname: x\nversion: 1.10\nflag: yes\nwhen: 2026-01-01\nHex: 0x1F\nlist: [a, 1.0, no]\nmap:\n  k: v\nnothing:\n---\n"
	c := newBench(t).preview(e{Name: "SKILL.md", Data: []byte(text)}).Candidates[0]
	want := map[string]string{"version": "1.10", "flag": "yes", "when": "2026-01-01", "hex": "0x1F", "list": "a, 1.0, no", "nothing": ""}
	if fmt.Sprint(c.Metadata) != fmt.Sprint(want) {
		t.Errorf("%v", c.Metadata)
	}
}

func TestB22SameArchiveAgain(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "x")...)
	p := b.preview(skillAt("", "x")...)
	if c := p.Candidates[0]; c.AlreadyImported != "x" || c.Action != ActionUnchanged || c.ReplaceableID != "" {
		t.Fatalf("%+v", c)
	}
	if res := b.apply(p); res[0].Status != StatusUnchanged {
		t.Errorf("%+v", res)
	}
}

func TestB23SameNameOtherContent(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "x", e{Name: "old"}, e{Name: "kept", Data: []byte("1")})...)
	next := skillAt("", "x", e{Name: "new"}, e{Name: "kept", Data: []byte("2")})
	p := b.preview(next...)
	c := p.Candidates[0]
	if c.ReplaceableID != "x" || c.Action != ActionUpdate || fmt.Sprint(*c.Changes) != "{[new] [kept] [old]}" {
		t.Fatalf("%+v", c)
	}
	if res := b.apply(p); res[0].Status != StatusError || res[0].Code != CodeNameTaken || b.read("x/kept") != "1" {
		t.Fatalf("%+v", res)
	}
	p = b.preview(next...)
	if res := b.apply(p, Choice{Path: "", ReplaceID: "y"}); res[0].Code != CodeReplaceID || b.read("x/kept") != "1" {
		t.Fatalf("%+v", res)
	}
	p = b.preview(next...)
	if res := b.apply(p, Choice{Path: "", ReplaceID: "x"}); res[0].Status != StatusUpdated {
		t.Fatalf("%+v", res)
	}
	if b.tree() != "x x/.source.json x/SKILL.md x/kept x/new" || b.read("x/kept") != "2" {
		t.Error(b.tree())
	}
}
