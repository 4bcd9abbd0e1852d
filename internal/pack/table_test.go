package pack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	file := func(folder, name string, n int) e {
		return e{Name: folder + "/" + name, Data: zeros[:n], Deflate: true}
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

func TestB24Tokens(t *testing.T) {
	fresh := func(t *testing.T) (*bench, *Preview, string) {
		b := newBench(t)
		file := b.file(ziptest.Zip(skillAt("", "x")...))
		return b, b.previewOf(file), file
	}
	refused := func(t *testing.T, b *bench, token, code string) {
		t.Helper()
		before := b.tree()
		if _, err := b.Apply(context.Background(), token, nil, true); codeOf(err) != code {
			t.Errorf("got %v, want %s", err, code)
		}
		if b.tree() != before {
			t.Errorf("changed: %s", b.tree())
		}
	}
	t.Run("used twice", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.apply(p)
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("after ten minutes", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.clock = b.clock.Add(10 * time.Minute)
		refused(t, b, p.Token, CodeTokenExpired)
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("just before ten minutes", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.clock = b.clock.Add(10*time.Minute - time.Second)
		b.apply(p)
	})
	t.Run("by another owner", func(t *testing.T) {
		b, p, _ := fresh(t)
		b.Owner = "somebody"
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("after a new preview", func(t *testing.T) {
		b, p, file := fresh(t)
		b.previewOf(file)
		refused(t, b, p.Token, CodeTokenUnknown)
	})
	t.Run("a random one", func(t *testing.T) {
		b, _, _ := fresh(t)
		refused(t, b, strings.Repeat("0", 64), CodeTokenUnknown)
	})
	t.Run("the file changed", func(t *testing.T) {
		b, p, file := fresh(t)
		if err := os.WriteFile(file, ziptest.Zip(skillAt("", "x", e{Name: "more"})...), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, b, p.Token, CodeSourceChanged)
	})
	t.Run("the file is gone", func(t *testing.T) {
		b, p, file := fresh(t)
		os.Remove(file)
		refused(t, b, p.Token, CodeSourceChanged)
	})
	t.Run("the catalog changed", func(t *testing.T) {
		b, p, _ := fresh(t)
		if err := os.MkdirAll(filepath.Join(b.Into, "other"), 0o755); err != nil {
			t.Fatal(err)
		}
		refused(t, b, p.Token, CodeCatalogChanged)
	})
}

func TestB28Batch(t *testing.T) {
	b := newBench(t)
	p := b.preview(append(skillAt("good", "good"), skillAt("bad", "os-bad")...)...)
	res := b.apply(p, Choice{Path: "good"}, Choice{Path: "missing"}, Choice{Path: "bad"}, Choice{Path: "good"})
	got := []string{}
	for _, r := range res {
		got = append(got, r.Path, string(r.Status), r.Code)
	}
	if want := "good imported  missing error apply.unknown-item bad error apply.not-importable good error apply.chosen-twice"; strings.Join(got, " ") != want {
		t.Errorf("%q", strings.Join(got, " "))
	}
	if b.read("good/SKILL.md") != string(md("good")) {
		t.Error("the good one is missing")
	}
}

func TestB29And30And34UnsafeNames(t *testing.T) {
	names := []string{"../evil", "a/../../b", "./c", "d//e", "..", "/etc/x", "C:/x", "D:x", `\\srv\x`, `a\b`, "//srv/x",
		"CON", "nul.txt", "COM1.tar.gz", "aux .md", "COM\u00b9", "x.", "x ", "x:y", "a\nb", "a\x1b[2Jb", "a\u202eb", "a\x00b", "a\xffb"}
	for _, name := range names {
		b := newBench(t)
		if code := b.refused(ziptest.Zip(append(skillAt("good", "good"), e{Name: name})...)); !strings.HasPrefix(code, "archive.path-") {
			t.Errorf("%q at the root: %s", name, code)
		}
		p := b.preview(append(append(skillAt("good", "good"), skillAt("bad", "bad")...), e{Name: "bad/" + name})...)
		c := p.at("bad")
		if c.Importable || c.codes() != CodeFileUnusable || !p.at("good").Importable {
			t.Errorf("%q in a skill: %s", name, c.codes())
		}
		for _, d := range c.Diagnostics {
			if strings.ContainsAny(d.Message+d.Path, "\x00\n\x1b\u202e") || !utf8.ValidString(d.Message+d.Path) {
				t.Errorf("%q is shown as %q", name, d.Path)
			}
		}
		if b.tree() != "" {
			t.Error(b.tree())
		}
	}
}

func TestB31LinksAndSpecialFiles(t *testing.T) {
	for name, extra := range map[string][]e{
		"a link":                         {{Name: "bad/l", Data: []byte("/etc/passwd"), Mode: 0o120777}},
		"a link and a file through it":   {{Name: "bad/d", Data: []byte("/tmp"), Mode: 0o120777}, {Name: "bad/d/x"}},
		"a FIFO":                         {{Name: "bad/f", Mode: 0o010644}},
		"a device":                       {{Name: "bad/f", Mode: 0o020644}},
		"an encrypted file":              {{Name: "bad/f", Flags: 1}},
		"a file packed with bzip2":       {{Name: "bad/f", Method: 12}},
		"a wrong checksum":               {{Name: "bad/f", Data: []byte("x"), CRC: ziptest.U32(1)}},
		"a file and a folder":            {{Name: "bad/f"}, {Name: "bad/f/x"}},
		"two files that differ in case":  {{Name: "bad/f"}, {Name: "bad/F"}},
		"two documents":                  {{Name: "bad/skill.md", Data: md("bad")}},
		"a folder that differs in case":  {{Name: "Bad/x"}},
		"a size that lies":               {{Name: "bad/f", Data: []byte("xyz"), Deflate: true, Size: ziptest.U32(1)}},
		"a file of the app":              {{Name: "bad/.source.json", Data: []byte(`{"url":"https://trusted"}`)}},
		"a file of the app in capitals":  {{Name: "bad/.SOURCE.json"}},
		"an owner's file":                {{Name: "bad/.specialist-package.json"}},
		"a folder with the app's name":   {{Name: "bad/.source.json/"}},
		"a path deeper than any is made": {{Name: "bad/" + strings.Repeat("x/", 200) + "f"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			p := b.preview(append(append(skillAt("good", "good"), skillAt("bad", "bad")...), extra...)...)
			if c := p.at("bad"); c.Importable || c.codes() == "" || !p.at("good").Importable {
				t.Fatalf("%+v", c.Diagnostics)
			}
			res := b.apply(p, Choice{Path: "bad"}, Choice{Path: "good"})
			if res[0].Status != StatusError || res[1].Status != StatusImported || strings.Contains(b.tree(), "bad") {
				t.Errorf("%+v %s", res, b.tree())
			}
		})
	}
	p := newBench(t).preview(append(skillAt("good", "good"), e{Name: "bad/SKILL.md", Data: []byte("x"), Mode: 0o120777})...)
	if c := p.at("bad"); c.Importable || c.codes() != CodeFileUnusable {
		t.Errorf("a document that is a link: %+v", c)
	}
}

func TestB33AppOwnedFiles(t *testing.T) {
	b := newBench(t)
	p := b.preview(skillAt("", "x", e{Name: ".source.json", Data: []byte("{}")})...)
	if p.Candidates[0].codes() != CodeAppOwned {
		t.Errorf("%+v", p.Candidates[0].Diagnostics)
	}
	b.install(skillAt("", "x", e{Name: "sub/.source.json", Data: []byte("plain")}, e{Name: "sub/.env", Data: []byte("left out")})...)
	if b.read("x/sub/.source.json") != "plain" || b.read("x/sub/.env") != "-" {
		t.Error(b.tree())
	}
}

func TestB35And37And41ContainerFaults(t *testing.T) {
	b := newBench(t)
	one := skillAt("", "x")
	for _, c := range []struct {
		name, code string
		data       []byte
	}{
		{"two records on one body", "archive.overlap", ziptest.Zip(append(one, e{Name: "g", Data: md("x"), Ghost: true, Offset: ziptest.U32(0)})...)},
		{"text", "archive.not-a-zip", []byte("just text")},
		{"tar.gz", "archive.not-a-zip", []byte("\x1f\x8b\x08\x00")},
		{"nothing", "archive.not-a-zip", nil},
		{"an empty archive", CodeNoSkill, ziptest.Zip()},
		{"zip64", "archive.zip64-unsupported", ziptest.Make(ziptest.End{Zip64: true}, one...)},
		{"a descriptor that disagrees", "archive.inconsistent", ziptest.Zip(e{Name: "SKILL.md", Data: md("x"), Deflate: true, Descriptor: true, DescriptorSize: ziptest.U32(1)})},
	} {
		if code := b.refused(c.data); code != c.code {
			t.Errorf("%s: %s, want %s", c.name, code, c.code)
		}
	}
	p := b.preview(e{Name: "SKILL.md", Data: md("x"), Deflate: true, Descriptor: true}, e{Name: "empty", Deflate: true, Descriptor: true})
	if !p.Candidates[0].Importable {
		t.Errorf("data descriptors: %+v", p.Candidates[0].Diagnostics)
	}
}

func TestB43Rights(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "x", e{Name: "bin/setuid", Mode: 0o104755}, e{Name: "open", Mode: 0o100777}, e{Name: "plain", Mode: 0o100666}, e{Name: "group", Mode: 0o102655})...)
	for name, want := range map[string]os.FileMode{"x/bin/setuid": 0o755, "x/open": 0o755, "x/plain": 0o644, "x/group": 0o644, "x/bin": 0o755 | os.ModeDir, "x": 0o755 | os.ModeDir} {
		if info, err := os.Lstat(filepath.Join(b.Into, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

func TestB48ScriptsAreNamed(t *testing.T) {
	c := newBench(t).preview(skillAt("", "x", e{Name: "scripts/a.sh"}, e{Name: "run", Data: []byte("#!/bin/sh\n")}, e{Name: "bits", Mode: 0o755}, e{Name: "text.txt"})...).Candidates[0]
	if !c.has(CodeScripts) || strings.Join(c.Scripts, " ") != "bits run scripts/a.sh" || !c.Importable {
		t.Errorf("%v %+v", c.Scripts, c.Diagnostics)
	}
}

func TestNoiseIsLeftOutAndDoesNotHideTheRoot(t *testing.T) {
	b := newBench(t)
	b.install(append(skillAt("w/a", "a", e{Name: ".DS_Store"}, e{Name: ".env", Data: []byte("secret")}, e{Name: "sub/Thumbs.db"}, e{Name: ".git/config"}), e{Name: "__MACOSX/w/a/._SKILL.md", Data: md("x")}, e{Name: ".hidden/SKILL.md", Data: md("h")})...)
	if b.tree() != "a a/.source.json a/SKILL.md" {
		t.Error(b.tree())
	}
}

func TestNothingInTheWayIsReplaced(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o755) },
		"a file":   func(p string) error { return os.WriteFile(p, []byte("mine"), 0o644) },
		"a link":   func(p string) error { return os.Symlink("/nowhere", p) },
	} {
		b := newBench(t)
		if err := os.MkdirAll(b.Into, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(b.Into, "x")); err != nil {
			t.Fatal(err)
		}
		p := b.preview(skillAt("", "x")...)
		if p.Candidates[0].Action != ActionConflict {
			t.Errorf("%s: %s", name, p.Candidates[0].Action)
		}
		if res := b.apply(p); res[0].Code != CodeNameTaken {
			t.Errorf("%s: %+v", name, res)
		}
		p = b.preview(skillAt("", "x")...)
		if res := b.apply(p, Choice{Path: "", ReplaceID: "x"}); res[0].Code != CodeReplaceID {
			t.Errorf("%s: %+v", name, res)
		}
		if b.tree() != "x" || b.leftovers() != "" {
			t.Errorf("%s: %s", name, b.tree())
		}
	}
}
