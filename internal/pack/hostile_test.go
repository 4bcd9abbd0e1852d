package pack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"skill-mcp/internal/archive/ziptest"
)

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

func TestManyFaultsAreCounted(t *testing.T) {
	entries := skillAt("bad", "bad")
	for i := range 3000 {
		entries = append(entries, e{Name: fmt.Sprintf("bad/%d", i), Mode: 0o120777}, e{Name: fmt.Sprintf("other%d/f", i)})
	}
	p := newBench(t).preview(entries...)
	if n := len(p.at("bad").Diagnostics); n != mostFaults+1 || len(p.Skipped) != mostSkipped+1 {
		t.Errorf("%d diagnostics, %d skipped", n, len(p.Skipped))
	}
}
