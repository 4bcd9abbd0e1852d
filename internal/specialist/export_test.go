package specialist

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, data []byte) *parsed {
	t.Helper()
	p, err := parseBytes(context.Background(), data, nil)
	if err != nil || p.f.errors > 0 {
		t.Fatal(err, p.f.list)
	}
	return p
}

func (b *bench) export(id string, include []string) *Exported {
	b.t.Helper()
	out, err := b.Export(context.Background(), ExportRequest{id, b.record(id).Revision, include})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestC39ExportsThatAreRefused(t *testing.T) {
	b := newBench(t)
	b.byHand("mine", "x")
	b.imported("alone", "x")
	b.imported("unrelated", "x")
	b.install(good(skill("lint", "x")...).p("skill_ids", []any{"mine", "alone"}).zip())
	p, err := b.PreviewExport(context.Background(), "rev")
	if err != nil || p.ExpectedRevision != 1 || p.FileName != "open-science-specialist-reviewer-v1.0.0.zip" {
		t.Fatalf("%+v %v", p, err)
	}
	for _, k := range p.Skills {
		want := map[string]ExportSkill{
			"mine": {Kind: KindBuiltIn}, "alone": {Kind: KindReferenced, Selectable: true}, "lint": {Kind: KindOwned, Selected: true, Selectable: true},
		}[k.ID]
		if k.Kind != want.Kind || k.Selected != want.Selected || k.Selectable != want.Selectable {
			t.Errorf("%+v", k)
		}
	}
	for _, c := range []struct {
		name     string
		id       string
		revision int
		include  []string
		want     string
	}{
		{"wrong revision", "rev", 2, nil, CodeRevisionConflict},
		{"unknown skill", "rev", 1, []string{"nope"}, CodeExportInvalid},
		{"built-in", "rev", 1, []string{"mine"}, CodeExportInvalid},
		{"twice", "rev", 1, []string{"lint", "lint"}, CodeExportInvalid},
		{"not referenced", "rev", 1, []string{"unrelated"}, CodeExportInvalid},
		{"unknown specialist", "nope", 1, nil, CodeUnknownSpecialist},
		{"a path", "../rev", 1, nil, CodeUnknownSpecialist},
	} {
		if _, err := b.Export(context.Background(), ExportRequest{c.id, c.revision, c.include}); codeOf(err) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if out := b.export("rev", []string{"lint", "alone"}); !slices.Equal(out.Skills, []string{"lint", "alone"}) {
		t.Errorf("%v", out.Skills)
	}
	if out := b.export("rev", []string{}); len(out.Skills) != 0 || len(parse(t, out.Data).skills) != 0 {
		t.Errorf("%v", out.Skills)
	}
	b.BuiltInIDs = []string{"rev"}
	if _, err := b.PreviewExport(context.Background(), "rev"); codeOf(err) != CodeProtectedTarget {
		t.Error(err)
	}
}

func TestC40RoundTrip(t *testing.T) {
	b := newBench(t)
	data := good(append(skill("lint", "x", e{Name: "scripts/run.sh", Data: []byte("#!/bin/sh\n"), Mode: 0o100755}), skill("AGENTS", "")[:0]...)...).
		p("display_name", "The <Reviewer> & co", "skill_ids", []any{"lint"}).zip()
	b.install(data)
	first := b.export("rev", nil)
	if again := b.export("rev", nil); !bytes.Equal(first.Data, again.Data) {
		t.Error("two exports differ")
	}
	clean := newBench(t)
	clean.install(first.Data)
	second := clean.export("rev", nil)
	if !bytes.Equal(first.Data, second.Data) || first.ContentSHA256 != second.ContentSHA256 {
		t.Error("the export of an import differs")
	}
	if got, want := parse(t, first.Data).skills[0].hash, parse(t, data).skills[0].hash; got != want {
		t.Error("the skill's content hash differs")
	}
	b.byHandEdit("lint")
	if out := b.export("rev", nil); len(out.Diagnostics) == 0 || out.Diagnostics[0].Code != "specialist.changed-without-version" {
		t.Errorf("%v", out.Diagnostics)
	}
}

func TestWhatCannotBeExported(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"a symbolic link": func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "link")) },
		"a hard link": func(dir string) error {
			return os.Link(filepath.Join(dir, "SKILL.md"), filepath.Join(dir, "again.md"))
		},
		"a name of a device": func(dir string) error { return os.WriteFile(filepath.Join(dir, "NUL.txt"), nil, 0o644) },
		"another name in the document": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("no front matter"), 0o644)
		},
	} {
		b := newBench(t)
		b.install(good(skill("lint", "x")...).zip())
		if err := spoil(filepath.Join(b.Into, "lint")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Export(context.Background(), ExportRequest{"rev", 1, []string{"lint"}}); codeOf(err) != CodeExportInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (p *DeletePreview) line(id string) string {
	for _, k := range p.Skills {
		if k.ID == id {
			out := string(k.Kind)
			for _, r := range k.Reasons {
				out += " " + strings.Join(r.SpecialistIDs, ",")
			}
			if k.Deletable {
				out += " deletable"
			}
			return out
		}
	}
	return "-"
}

func TestC42OnlyExclusiveSkillsCanGo(t *testing.T) {
	b := newBench(t)
	b.byHand("mine", "x")
	b.imported("main", "x")
	ctx := context.Background()
	bundled := slices.Concat(skill("exclusive", "x"), skill("shared", "x"), skill("referenced", "x"))
	b.install(good(bundled...).p("skill_ids", []any{"mine", "main"}).zip())
	b.install(good(skill("shared", "x")...).m("id", "two").p("name", "Two", "skill_ids", []any{"referenced"}).zip())
	p, err := b.PreviewDelete(ctx, "rev")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"exclusive": "exclusive deletable", "shared": "shared-owner two", "referenced": "referenced two", "main": "main-enabled ", "mine": "-",
	} {
		if p.line(id) != want {
			t.Errorf("%s: %q, want %q", id, p.line(id), want)
		}
	}
	for _, id := range []string{"shared", "referenced", "main", "mine", "nope", "../x"} {
		if _, err := b.Delete(ctx, DeleteRequest{"rev", 1, []string{id}}); codeOf(err) != CodeProtectedSkill {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := b.Delete(ctx, DeleteRequest{"rev", 2, nil}); codeOf(err) != CodeRevisionConflict {
		t.Error(err)
	}
	before := b.tree()
	b.put(&Record{ID: "three", Name: "Three", SkillIDs: []string{"exclusive"}, Revision: 1})
	if _, err := b.Delete(ctx, DeleteRequest{"rev", 1, []string{"exclusive"}}); codeOf(err) != CodeStalePreview {
		t.Error(err)
	}
	if _, err := b.Delete(ctx, DeleteRequest{"three", 1, nil}); err != nil || b.tree() != before {
		t.Error(err)
	}
	out, err := b.Delete(ctx, DeleteRequest{"rev", 1, []string{"exclusive"}})
	if err != nil || !slices.Equal(out.DeletedSkills, []string{"exclusive"}) || b.body("exclusive") != "-" || b.body("shared") == "-" {
		t.Errorf("%+v %v", out, err)
	}
	if o := b.owners("shared"); !slices.Equal(o.OwnerIDs, []string{"two"}) || o.Standalone {
		t.Errorf("%+v", o)
	}
	b.BuiltInIDs = []string{"two"}
	if _, err := b.Delete(ctx, DeleteRequest{"two", 1, nil}); codeOf(err) != CodeProtectedTarget {
		t.Error(err)
	}
}

func TestC44DeleteLeavesAllSkills(t *testing.T) {
	b := newBench(t)
	b.install(good(append(skill("a", "x"), skill("b", "x")...)...).zip())
	before := b.body("a") + b.body("b")
	if err := os.Symlink("/etc/hostname", filepath.Join(b.Into, "a", "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Delete(context.Background(), DeleteRequest{"rev", 1, nil}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := b.List(); len(ids) != 0 || b.body("a")+b.body("b") != before {
		t.Error(ids)
	}
	if target, err := os.Readlink(filepath.Join(b.Into, "a", "link")); err != nil || target != "/etc/hostname" {
		t.Errorf("what the owner put there is not the same: %q %v", target, err)
	}
	for _, id := range []string{"a", "b"} {
		if o := b.owners(id); len(o.OwnerIDs) != 0 || !o.Standalone {
			t.Errorf("%+v", o)
		}
	}
	if p := b.preview(good(skill("b", "x")...).zip()); p.skill("b").Disposition != ReuseStandalone {
		t.Errorf("%+v", p.Report.Summary)
	}
}
