package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"skill-mcp/internal/archive/ziptest"
	"skill-mcp/internal/catalog"
)

// exportOf writes the archive of a skill folder and gives its bytes.
func exportOf(t *testing.T, dir string) ([]byte, *Exported, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	x, err := PrepareExport(context.Background(), root, filepath.Base(dir))
	if err != nil {
		return nil, nil, err
	}
	out := filepath.Join(t.TempDir(), "out.zip")
	if err := x.ExportTo(context.Background(), out); err != nil {
		return nil, nil, err
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data, x, nil
}

// roundTrip exports a folder, imports the archive, exports what was installed
// and wants the same bytes and hash.
func roundTrip(t *testing.T, dir string) {
	t.Helper()
	first, x, err := exportOf(t, dir)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	b := newBench(t)
	p := b.previewOf(b.file(first))
	if c := p.Candidates[0]; c.ContentHash != x.ContentHash || !c.Importable || c.InstallName != x.Name {
		t.Fatalf("%s: previewed as %s %s %+v, exported as %s", dir, c.InstallName, c.ContentHash, c.Diagnostics, x.ContentHash)
	}
	res := b.apply(p)
	if res[0].Status != StatusImported || res[0].Hash != x.ContentHash {
		t.Fatalf("%s: %+v", dir, res)
	}
	second, y, err := exportOf(t, filepath.Join(b.Into, res[0].ID))
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if !bytes.Equal(first, second) || x.ContentHash != y.ContentHash {
		t.Fatalf("%s: the second export differs", dir)
	}
}

func TestB44ExportImportExport(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "x", e{Name: "scripts/run.sh", Data: []byte("#!/bin/sh\n"), Mode: 0o755}, e{Name: "é.txt", Data: []byte("é")}, e{Name: "deep/a/b/c/d/e/f/g.md"})...)
	dir := filepath.Join(b.Into, "x")
	roundTrip(t, dir)
	one, _, err1 := exportOf(t, dir)
	two, _, err2 := exportOf(t, dir)
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("two exports differ (%v, %v)", err1, err2)
	}
	found, err := Verify(context.Background(), b.Into, nil)
	if err != nil || len(found) != 1 || found[0].Condition != ConditionIntact {
		t.Errorf("%+v %v", found, err)
	}
}

func TestBundledSkillsComeBackTheSame(t *testing.T) {
	dirs, err := filepath.Glob("../../skills/*/SKILL.md")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no bundled skill found")
	}
	for _, d := range dirs {
		roundTrip(t, filepath.Dir(d))
	}
}

// TestRealSkillsComeBackTheSame takes skills that others published as npm
// packages, which the gate installs.
func TestRealSkillsComeBackTheSame(t *testing.T) {
	const wanted = 50
	dirs := []string{}
	err := filepath.WalkDir("../../test/node/node_modules", func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == documentName && len(dirs) < 4*wanted {
			dirs = append(dirs, filepath.Dir(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, documentName))
		if err != nil || done >= wanted {
			continue
		}
		// Packages carry templates too, whose names are place holders; a skill
		// that cannot be imported cannot come back.
		if d := ParseDocument(data); d.Problem != "" || !ValidName(d.Name) || !ValidName(filepath.Base(dir)) {
			t.Logf("left out: %s: name %q %s", dir, d.Name, d.Problem)
			continue
		}
		roundTrip(t, plainCopy(t, dir))
		done++
	}
	t.Logf("%d of %d skills", done, len(dirs))
	if done < wanted {
		if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
			t.Fatalf("only %d skills found in test/node/node_modules", done)
		}
		t.Logf("npm packages are not installed: run npm ci in test/node")
	}
}

// plainCopy copies a folder without links: package managers make hard links.
func plainCopy(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestB45ExportRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		code string
	}{
		"a link":           {func(dir string) error { return os.Symlink("SKILL.md", filepath.Join(dir, "l")) }, CodeFileUnusable},
		"a hard link":      {func(dir string) error { return os.Link(filepath.Join(dir, "SKILL.md"), filepath.Join(dir, "l")) }, CodeHardLink},
		"a FIFO":           {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "p"), 0o644) }, CodeFileUnusable},
		"a file of 51 MiB": {func(dir string) error { return sparse(filepath.Join(dir, "f"), 51<<20) }, CodeFileUnusable},
		"a device's name":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, "NUL.txt"), nil, 0o644) }, CodeFileUnusable},
		"too many bytes in all": {func(dir string) error {
			return errors.Join(sparse(dir+"/1", 50<<20), sparse(dir+"/2", 50<<20), sparse(dir+"/3", 50<<20))
		}, CodeSkillSize},
		"too deep": {func(dir string) error { return os.MkdirAll(dir+"/1/2/3/4/5/6/7/8/9", 0o755) }, ""},
		"a file too deep": {func(dir string) error {
			return errors.Join(os.MkdirAll(dir+"/1/2/3/4/5/6/7/8/9", 0o755), os.WriteFile(dir+"/1/2/3/4/5/6/7/8/9/f", nil, 0o644))
		}, CodeFileUnusable},
		"no document":           {func(dir string) error { return os.Remove(filepath.Join(dir, "SKILL.md")) }, CodeNoDocument},
		"two names of one file": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "skill.md"), nil, 0o644) }, CodeFileUnusable},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x")
			if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "SKILL.md"), md("x"), 0o644), c.make(dir)); err != nil {
				t.Fatal(err)
			}
			_, _, err := exportOf(t, dir)
			if c.code == "" && err == nil {
				return
			}
			if codeOf(err) != c.code {
				t.Errorf("%v, want %s", err, c.code)
			}
		})
	}
}

func sparse(name string, size int64) error {
	return errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, size))
}

func TestExportSetsTheNameAndDropsTheDisplayName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stable-name")
	text := "---\r\nName: Other Name # why\r\ndisplayName: >\r\n  Shown\r\n  here\r\ndescription: 'kept: as it is'\r\n---\r\nBody\r\n"
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644), os.WriteFile(filepath.Join(dir, ".env"), []byte("secret"), 0o644)); err != nil {
		t.Fatal(err)
	}
	data, x, err := exportOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Renamed || fmt.Sprint(x.LeftOut) != `[".env"]` {
		t.Errorf("%+v", x)
	}
	b := newBench(t)
	b.apply(b.previewOf(b.file(data)))
	if want := "---\r\nname: stable-name\r\ndescription: 'kept: as it is'\r\n---\r\nBody\r\n"; b.read("stable-name/SKILL.md") != want {
		t.Errorf("%q", b.read("stable-name/SKILL.md"))
	}
	roundTrip(t, dir)
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{"pdf": "pdf.zip", "My Skill!": "my-skill.zip", "ﬁle": "file.zip", "con": "skill-con.zip", "--": "skill.zip", "Ünïcode": "ünïcode.zip", strings.Repeat("n", 99): strings.Repeat("n", 80) + ".zip"} {
		if got := FileName(name, ""); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := FileName("!!", "Fall Back"); got != "fall-back.zip" {
		t.Error(got)
	}
}

func TestVerifyListsEdits(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "x", e{Name: "a", Data: []byte("1")}, e{Name: "b"}, e{Name: "run"})...)
	dir := filepath.Join(b.Into, "x")
	err := errors.Join(os.WriteFile(dir+"/a", []byte("2"), 0o644), os.Remove(dir+"/b"), os.WriteFile(dir+"/c", nil, 0o644),
		os.Chmod(dir+"/run", 0o755), os.WriteFile(dir+"/.DS_Store", nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.Into, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := Verify(context.Background(), b.Into, nil)
	if err != nil || len(found) != 1 || found[0].Condition != ConditionEdited || fmt.Sprint(*found[0].Edits) != "{[c] [a run] [b]}" {
		t.Fatalf("%+v %v", found, err)
	}
	found, err = Verify(context.Background(), b.Into, []string{"mine", "none", "../x", "x"})
	if err != nil || len(found) != 4 || found[0].Condition != ConditionNotImported || found[1].Condition != ConditionUnreadable || found[2].Condition != ConditionUnreadable {
		t.Errorf("%+v %v", found, err)
	}
	p := b.preview(skillAt("", "x", e{Name: "other"})...)
	if c := p.Candidates[0]; !c.has(CodeLocalEdits) || c.ReplaceableID != "x" {
		t.Errorf("the preview does not warn of local edits: %+v", c.Diagnostics)
	}
}

func TestUninstall(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "x", e{Name: "sub/f"})...)
	if err := os.MkdirAll(filepath.Join(b.Into, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	uninstall := func(id string, users Users) string {
		return codeOf(Uninstall(context.Background(), b.Store, b.Into, id, users))
	}
	used := func(string) ([]string, error) { return []string{"some-specialist"}, nil }
	for id, want := range map[string]string{"mine": CodeNotImported, "none": CodeUnknown, "../store": CodeUnknown, "": CodeUnknown, ".": CodeUnknown} {
		if got := uninstall(id, nil); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	if got := uninstall("x", used); got != CodeProtected {
		t.Error(got)
	}
	owner := filepath.Join(b.Into, "x", ownerFile)
	if err := os.WriteFile(owner, []byte(`{"ownerIds":["owner"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := uninstall("x", nil); got != CodeProtected {
		t.Error(got)
	}
	if err := os.Remove(owner); err != nil {
		t.Fatal(err)
	}
	if got := uninstall("x", nil); got != "<nil>" || b.tree() != "mine" || b.leftovers() != "" {
		t.Errorf("%s %s %s", got, b.tree(), b.leftovers())
	}
}

// TestTheServerSeesWhatWasImported: on the next scan the skill is served, with
// its scripts undeclared until somebody declares and grants them.
func TestTheServerSeesWhatWasImported(t *testing.T) {
	b := newBench(t)
	b.install(skillAt("", "pdf", e{Name: "scripts/run.sh", Data: []byte("#!/bin/sh\n"), Mode: 0o755})...)
	cat := catalog.Scan(context.Background(), catalog.Options{Roots: []string{b.Into}})
	if len(cat.Skills) != 1 || cat.Skills[0].Name != "pdf" || len(cat.Problems) != 0 {
		t.Fatalf("%+v %+v", cat.Skills, cat.Problems)
	}
}

func TestFolderSource(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.MkdirAll(dir+"/a/sub", 0o755), os.WriteFile(dir+"/a/SKILL.md", md("a"), 0o644), os.WriteFile(dir+"/a/sub/run.sh", []byte("#!/bin/sh\n"), 0o755),
		os.MkdirAll(dir+"/.git/x/y", 0o755), os.MkdirAll(dir+"/b", 0o755), os.WriteFile(dir+"/b/SKILL.md", md("b"), 0o644), os.Symlink("/etc/passwd", dir+"/b/l"),
		os.WriteFile(dir+"/n.zip", ziptest.Zip(skillAt("", "n")...), 0o644), os.Symlink(dir+"/a", dir+"/c"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	p := b.previewOf(dir)
	if paths(p) != "a b n.zip" || !p.at("a").Importable || p.at("b").codes() != CodeFileUnusable || !p.at("n.zip").Importable {
		t.Fatalf("%s %+v", paths(p), p.Skipped)
	}
	if err := os.WriteFile(dir+"/a/sub/run.sh", []byte("#!/bin/sh\nevil\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	res := b.apply(p, Choice{Path: "a"}, Choice{Path: "n.zip"})
	if res[0].Code != CodeSourceChanged || res[1].Status != StatusImported || strings.Contains(b.tree(), "a/") {
		t.Errorf("%+v %s", res, b.tree())
	}
	p = b.previewOf(dir)
	if res := b.apply(p, Choice{Path: "a"}); res[0].Status != StatusImported {
		t.Errorf("%+v", res)
	}
	if info, err := os.Stat(filepath.Join(b.Into, "a/sub/run.sh")); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
}
