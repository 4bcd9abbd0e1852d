package specialist

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

func errorsOf(p *Preview) string { return strings.Join(p.codes(LevelError), " ") }

func TestC1MinimalPackageIsInstallable(t *testing.T) {
	b := newBench(t)
	p := b.preview(good().zip())
	if !p.Report.Installable || len(p.Report.Diagnostics) != 0 {
		t.Errorf("%+v", p.Report)
	}
}

func TestC2WrapperAndNoise(t *testing.T) {
	b := newBench(t)
	g := good(skill("lint", "x")...)
	g.prefix = "wrapper/"
	entries := append(g.entries(), e{Name: "__MACOSX/wrapper/._x", Data: []byte("x")}, e{Name: "wrapper/.DS_Store"}, e{Name: ".DS_Store"})
	p := b.preview(ziptest.Zip(entries...))
	if !p.Report.Installable || len(p.codes(LevelInfo)) != 3 || p.find("package.metadata-noise-ignored") == nil {
		t.Errorf("%+v", p.Report)
	}
	if len(p.Report.Summary.Skills) != 1 || p.Report.Summary.Skills[0].Disposition != Install {
		t.Errorf("the wrapped skill is not seen: %+v", p.Report.Summary)
	}
}

func TestC3LayoutsThatAreNone(t *testing.T) {
	a, two := good(), good()
	a.prefix, two.prefix = "a/", "b/"
	for name, data := range map[string][]byte{
		"two wrappers":            ziptest.Zip(append(a.entries(), two.entries()...)...),
		"root file and wrapper":   ziptest.Zip(append(a.entries(), e{Name: "README.txt"})...),
		"package at root and one": ziptest.Zip(append(good().entries(), a.entries()...)...),
		"two folders":             ziptest.Zip(e{Name: "x/a"}, e{Name: "y/b"}),
		"only noise":              ziptest.Zip(e{Name: ".DS_Store"}),
	} {
		b := newBench(t)
		if p := b.preview(data); errorsOf(p) != "package.archive-layout-invalid" {
			t.Errorf("%s: %v", name, p.Report.Diagnostics)
		}
	}
}

func TestC4TopLevelContent(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"README.md", "run.sh", ".env", "docs/x.txt", "Manifest.JSON"} {
		p := b.preview(good(e{Name: name, Data: []byte("x")}).zip())
		if p.find("package.top-level-content-forbidden") == nil || p.Report.Installable {
			if name != "Manifest.JSON" { // a clash with manifest.json already
				t.Errorf("%s: %v", name, p.Report.Diagnostics)
			}
		}
	}
	if p := b.preview(good(e{Name: "README.txt", Data: []byte("x")}, e{Name: "LICENSE", Data: []byte("x")}).zip()); !p.Report.Installable {
		t.Errorf("%v", p.Report.Diagnostics)
	}
}

func TestC5DocumentsMissingOrBroken(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name    string
		entries []e
		want    string
	}{
		{"no manifest", good().entries()[1:], "package.required-file-missing"},
		{"no profile", good().entries()[:1], "package.required-file-missing"},
		{"both missing", []e{{Name: "skills/x/y", Data: []byte("x")}}, "package.required-file-missing package.required-file-missing skill.document-missing"},
		{"not JSON", []e{{Name: "manifest.json", Data: []byte("{")}, {Name: "specialist.json", Data: []byte("nope")}}, "package.json-invalid package.json-invalid"},
		{"arrays", []e{{Name: "manifest.json", Data: []byte("[]")}, {Name: "specialist.json", Data: []byte("[]")}}, "manifest.object-required specialist.object-required"},
		{"a duplicate key", []e{{Name: "manifest.json", Data: []byte(`{"id":"a","id":"b"}`)}, good().entries()[1]}, "package.json-invalid"},
		{"a byte order mark", []e{{Name: "manifest.json", Data: []byte("\xef\xbb\xbf{}")}, good().entries()[1]}, "package.json-invalid"},
	} {
		if p := b.preview(ziptest.Zip(c.entries...)); errorsOf(p) != c.want {
			t.Errorf("%s: %s, want %s", c.name, errorsOf(p), c.want)
		}
	}
}

func TestC7IDs(t *testing.T) {
	b := newBench(t)
	for _, id := range []any{"os-x", "mcp-x", "A", "a_b", "", "-a", strings.Repeat("a", 129), 7, true, nil} {
		if p := b.preview(good().m("id", id).zip()); errorsOf(p) != "manifest.id-invalid" {
			t.Errorf("%v: %s", id, errorsOf(p))
		}
	}
	if p := b.preview(good().m("id", strings.Repeat("a", 128)).zip()); !p.Report.Installable {
		t.Errorf("128 characters: %v", p.Report.Diagnostics)
	}
}

func TestC8Versions(t *testing.T) {
	b := newBench(t)
	for _, v := range []any{"1.0", "01.0.0", "v1.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", 1, nil} {
		if p := b.preview(good().m("version", v).zip()); errorsOf(p) != "manifest.version-invalid" {
			t.Errorf("%v: %s", v, errorsOf(p))
		}
		if p := b.preview(good().m("exported_with_app_version", v).zip()); errorsOf(p) != "manifest.exported-app-version-invalid" {
			t.Errorf("app %v: %s", v, errorsOf(p))
		}
	}
	if p := b.preview(good().m("version", "1.0.0-rc.1+b").zip()); !p.Report.Installable {
		t.Errorf("%v", p.Report.Diagnostics)
	}
	for _, v := range []any{2, "1", 1.5, nil} {
		if p := b.preview(good().m("schema_version", v).zip()); errorsOf(p) != "manifest.schema-version-unsupported" {
			t.Errorf("schema %v: %s", v, errorsOf(p))
		}
	}
	raw := []byte(`{"schema_version":1.0,"id":"rev","version":"1.0.0","exported_with_app_version":"0.9.0"}`)
	if p := b.preview(ziptest.Zip(e{Name: "manifest.json", Data: raw}, good().entries()[1])); errorsOf(p) != "manifest.schema-version-unsupported" {
		t.Errorf("1.0: %s", errorsOf(p))
	}
}

func TestVersionsAreOrderedAsTheGrammarSays(t *testing.T) {
	order := []string{"1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "2.0.0", "10.0.0"}
	for i := range order {
		for j := range order {
			if got := compareVersions(order[i], order[j]+"+x"); got != sign(i-j) {
				t.Errorf("%s, %s: %d", order[i], order[j], got)
			}
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestC9AndC10FieldsThatMayNotBeThere(t *testing.T) {
	b := newBench(t)
	if p := b.preview(good().m("dependencies", []any{}).zip()); errorsOf(p) != "manifest.field-forbidden" {
		t.Error(errorsOf(p))
	}
	p := b.preview(good().p("id", "x", "version", "1", "icon_key", "x", "capability_mode", "x", "enabled", true, "foo", 1, "systemPrompt", "x").zip())
	want := "specialist.capability-field-forbidden specialist.enabled-field-forbidden specialist.field-forbidden specialist.field-forbidden " +
		"specialist.identity-field-forbidden specialist.identity-field-forbidden specialist.presentation-field-forbidden"
	if errorsOf(p) != want {
		t.Errorf("%s", errorsOf(p))
	}
}

func TestC11ReferenceLists(t *testing.T) {
	b := newBench(t)
	for _, key := range []string{"skill", "connector"} {
		field, word := key+"_ids", "specialist."+key+"Ids"
		for _, c := range []struct {
			value any
			want  string
		}{
			{nil, word + "-invalid"}, {"x", word + "-invalid"}, {map[string]any{}, word + "-invalid"},
			{[]any{""}, word + "-entry-invalid"}, {[]any{" "}, word + "-entry-invalid"}, {[]any{1}, word + "-entry-invalid"},
			{[]any{"a", "a"}, word + "-duplicate"}, {[]any{}, ""},
		} {
			if p := b.preview(good().p(field, c.value).zip()); errorsOf(p) != c.want {
				t.Errorf("%s %v: %q, want %q", field, c.value, errorsOf(p), c.want)
			}
		}
		null := bytes.Replace(good().entries()[1].Data, []byte(`"`+field+`":[]`), []byte(`"`+field+`":null`), 1)
		if p := b.preview(ziptest.Zip(good().entries()[0], e{Name: "specialist.json", Data: null})); errorsOf(p) != word+"-invalid" {
			t.Errorf("%s null: %q", field, errorsOf(p))
		}
	}
}

func TestC13TextsAndNames(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		field string
		value any
		want  string
	}{
		{"description", strings.Repeat("é", 1000), ""}, {"description", strings.Repeat("é", 1001), "specialist.description-invalid"},
		{"description", " ", "specialist.description-invalid"}, {"description", nil, "specialist.description-invalid"},
		{"system_prompt", strings.Repeat("x", 32768), ""}, {"system_prompt", strings.Repeat("x", 32769), "specialist.system-prompt-invalid"},
		{"system_prompt", " \n ", "specialist.system-prompt-invalid"}, {"system_prompt", 1, "specialist.system-prompt-invalid"},
		{"name", "  ab  ", ""}, {"name", " a ", "specialist.name-invalid"}, {"name", strings.Repeat("a", 80), ""},
		{"name", strings.Repeat("a", 81), "specialist.name-invalid"}, {"name", "a/b", "specialist.name-invalid"}, {"name", "Prüfer_1 - Ж 漢字", ""},
		{"name", "a\u202eb", "specialist.name-invalid"}, {"name", "a😀", "specialist.name-invalid"},
		{"display_name", "", "specialist.display-name-invalid"}, {"display_name", strings.Repeat("a", 80), ""},
		{"display_name", strings.Repeat("a", 81), "specialist.display-name-invalid"}, {"display_name", 1, "specialist.display-name-invalid"},
	} {
		if p := b.preview(good().p(c.field, c.value).zip()); errorsOf(p) != c.want {
			t.Errorf("%s %.20v: %q, want %q", c.field, c.value, errorsOf(p), c.want)
		}
	}
}

func TestNamesAndIDsThatAreTaken(t *testing.T) {
	b := newBench(t)
	b.BuiltInIDs, b.BuiltInNames = []string{"rev"}, []string{"Écrivain"}
	if p := b.preview(good().zip()); errorsOf(p) != "specialist.id-protected" {
		t.Error(errorsOf(p))
	}
	b.BuiltInIDs = nil
	if p := b.preview(good().p("name", "e\u0301CRIVAIN").zip()); errorsOf(p) != "specialist.name-protected" {
		t.Error(errorsOf(p))
	}
	b.install(good().zip())
	if p := b.preview(good().m("id", "other").p("name", "REVIEWER").zip()); errorsOf(p) != "specialist.name-duplicate" {
		t.Error(errorsOf(p))
	}
}

func TestC29SkillsThatBlockThePackage(t *testing.T) {
	doc := func(text string) []byte { return []byte(text) }
	for _, c := range []struct {
		name string
		more []e
		want string
	}{
		{"another name", []e{{Name: "skills/a/SKILL.md", Data: doc("---\nname: b\n---\n")}}, "skill.name-mismatch"},
		{"no document", []e{{Name: "skills/a/x.md", Data: doc("x")}}, "skill.document-missing"},
		{"not UTF-8", []e{{Name: "skills/a/SKILL.md", Data: doc("---\nname: a\n---\n\xff")}}, "skill.document-invalid"},
		{"no front matter", []e{{Name: "skills/a/SKILL.md", Data: doc("x")}}, "skill.document-invalid"},
		{"broken front matter", []e{{Name: "skills/a/SKILL.md", Data: doc("---\nname: [\n---\n")}}, "skill.document-invalid"},
		{"no name", []e{{Name: "skills/a/SKILL.md", Data: doc("---\ndescription: x\n---\n")}}, "skill.document-invalid"},
		{"bad folder", []e{{Name: "skills/Bad_Name/SKILL.md", Data: doc("---\nname: Bad_Name\n---\n")}}, "skill.id-invalid"},
		{"reserved folder", []e{{Name: "skills/os-a/SKILL.md", Data: doc("---\nname: os-a\n---\n")}}, "skill.id-invalid"},
		{"file in skills", []e{{Name: "skills/x.md", Data: doc("x")}}, "skill.path-noncanonical"},
		{"another spelling", []e{{Name: "skills/a/skill.md", Data: doc("---\nname: a\n---\n")}}, "skill.document-missing skill.path-noncanonical"},
		{"forged provenance", skill("a", "x", e{Name: ".source.json", Data: doc("{}")}), "skill.app-owned-file"},
		{"forged owner", skill("a", "x", e{Name: ".Specialist-Package.json", Data: doc("{}")}), "skill.app-owned-file"},
	} {
		for _, prefix := range []string{"", "wrapper/"} {
			b := newBench(t)
			g := good(c.more...)
			g.prefix = prefix
			p := b.preview(g.zip())
			if errorsOf(p) != c.want {
				t.Errorf("%s%s: %q, want %q", prefix, c.name, errorsOf(p), c.want)
			}
			if got := b.request(Request{Token: p.Token}); got != CodeNotInstallable || b.tree() != "" {
				t.Errorf("%s: %s", c.name, got)
			}
		}
	}
}

func TestC30VersionsOfSkills(t *testing.T) {
	b := newBench(t)
	doc := func(version string) []e {
		return []e{{Name: "skills/a/SKILL.md", Data: []byte("---\nname: a\n" + version + "---\n")}}
	}
	if p := b.preview(good(doc("version: 1.2\n")...).zip()); errorsOf(p) != "skill.version-invalid" {
		t.Error(errorsOf(p))
	}
	for line, want := range map[string]string{"": "0.1.0", "version: 2.0.0\n": "2.0.0"} {
		p := b.preview(good(doc(line)...).zip())
		if !p.Report.Installable || p.Report.Summary.Skills[0].Version != want {
			t.Errorf("%q: %+v", line, p.Report)
		}
	}
}

func TestC31ScriptsAreAWarning(t *testing.T) {
	b := newBench(t)
	data := good(skill("a", "x", e{Name: "scripts/run.sh", Data: []byte("#!/bin/sh\ntouch ran\n"), Mode: 0o100755})...).zip()
	p := b.preview(data)
	if !p.Report.Installable || strings.Join(p.codes(LevelWarning), " ") != "package.executable-content-present skill.executable-content-present" {
		t.Errorf("%+v", p.Report)
	}
	b.install(data)
	info, err := os.Stat(filepath.Join(b.Into, "a/scripts/run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info, err)
	}
}

func TestC35HostileArchives(t *testing.T) {
	u := ziptest.U32
	secret := "ghp_" + strings.Repeat("aB3", 12)
	for _, c := range []struct {
		name string
		more []e
		want string
	}{
		{"zip slip", []e{{Name: "../evil\x1b"}}, "package.archive-path-traversal"},
		{"slip from a skill", []e{{Name: "skills/a/../../../evil"}}, "package.archive-path-traversal"},
		{"absolute", []e{{Name: "/etc/evil"}}, "package.archive-path-absolute"},
		{"backslash", []e{{Name: `skills\evil`}}, "package.archive-path-backslash"},
		{"drive", []e{{Name: "C:/evil"}}, "package.archive-path-drive"},
		{"link", []e{{Name: "skills/a/evil", Mode: 0o120777, Data: []byte("/etc/passwd")}}, "package.archive-link-unsupported"},
		{"device", []e{{Name: "skills/a/evil", Mode: 0o020644}}, "package.archive-link-unsupported"},
		{"twice", []e{{Name: "skills/a/evil"}, {Name: "skills/a/EVIL"}}, "package.archive-path-duplicate"},
		{"normalisation", []e{{Name: "skills/a/caf\u00e9"}, {Name: "skills/a/cafe\u0301"}}, "package.archive-path-duplicate"},
		{"file and folder", []e{{Name: "skills/a/evil"}, {Name: "skills/a/evil/x"}}, "package.archive-path-duplicate"},
		{"encrypted", []e{{Name: "skills/a/evil", Flags: 1}}, "package.archive-encryption-unsupported"},
		{"bzip2", []e{{Name: "skills/a/evil", Method: 12, Data: []byte("x")}}, "package.archive-compression-unsupported"},
		{"device name", []e{{Name: "skills/a/CON.evil"}}, "package.archive-invalid"},
		{"checksum", []e{{Name: "skills/a/evil", Data: []byte("x"), CRC: u(1)}}, "package.archive-invalid"},
		{"other local name", []e{{Name: "skills/a/evil", LocalName: "skills/a/evi1"}}, "package.archive-invalid"},
		{"hidden", []e{{Name: "skills/a/evil", Hidden: true}}, "package.archive-invalid"},
		{"a secret as a name", []e{{Name: "../" + secret}}, "package.archive-path-traversal"},
	} {
		b := newBench(t)
		p := b.preview(good(append(skill("a", "x"), c.more...)...).zip())
		if p.find(c.want) == nil || p.Report.Installable {
			t.Errorf("%s: %v, want %s", c.name, p.Report.Diagnostics, c.want)
		}
		if got := b.request(Request{Token: p.Token}); got != CodeNotInstallable || b.tree() != "" {
			t.Errorf("%s: %s %s", c.name, got, b.tree())
		}
		said := strings.Join(p.Report.Lines(), "\n")
		if strings.Contains(said, "../") || strings.Contains(said, "/etc") || strings.Contains(said, secret) {
			t.Errorf("%s: not masked: %s", c.name, said)
		}
	}
	for name, end := range map[string]ziptest.End{"prefix": {Prefix: []byte("#!")}, "suffix": {Suffix: []byte("MCPB")}, "zip64": {Zip64: true}, "comment": {Comment: []byte("PK\x05\x06")}} {
		b := newBench(t)
		if p := b.preview(ziptest.Make(end, good().entries()...)); errorsOf(p) != "package.archive-invalid" {
			t.Errorf("%s: %v", name, p.Report.Diagnostics)
		}
	}
}

func TestC36EverythingIsReportedAtOnce(t *testing.T) {
	b := newBench(t)
	g := good(e{Name: "run.sh"}, e{Name: "README.md"}, e{Name: "../evil"}, e{Name: "/abs"}, e{Name: "skills/x.md"}, e{Name: "skills/Bad/SKILL.md"},
		e{Name: "skills/a/SKILL.md", Data: []byte("---\nname: b\nversion: x\n---\n")}, e{Name: "skills/e/f", Flags: 1})
	g = g.m("id", "A", "version", "1", "exported_with_app_version", "", "schema_version", 2, "extra", 1)
	g = g.p("id", "x", "enabled", true, "name", "/", "description", "", "skill_ids", []any{1, "a", "a"}, "connector_ids", nil, "system_prompt", prompt+strings.Repeat("x", 40000))
	p := b.preview(g.zip())
	want := []string{"manifest.exported-app-version-invalid", "manifest.field-forbidden", "manifest.id-invalid", "manifest.schema-version-unsupported",
		"manifest.version-invalid", "package.archive-encryption-unsupported", "package.archive-path-absolute", "package.archive-path-traversal",
		"package.top-level-content-forbidden", "skill.document-missing", "skill.id-invalid", "skill.name-mismatch", "skill.path-noncanonical", "skill.version-invalid",
		"specialist.connectorIds-invalid", "specialist.description-invalid", "specialist.enabled-field-forbidden", "specialist.identity-field-forbidden",
		"specialist.name-invalid", "specialist.skillIds-duplicate", "specialist.skillIds-entry-invalid", "specialist.system-prompt-invalid"}
	got := p.codes(LevelError)
	for _, code := range want {
		if !slices.Contains(got, code) {
			t.Errorf("%s is not reported: %v", code, got)
		}
	}
	if len(got) < 20 {
		t.Errorf("%d errors", len(got))
	}
}

func TestAFolderIsAPackageToo(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "folder")
	for _, one := range good(skill("a", "x")...).entries() {
		name := filepath.Join(dir, one.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, one.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if p := b.previewOf(dir); !p.Report.Installable || b.request(Request{Token: p.Token}) != "" || b.body("a") == "-" {
		t.Errorf("%v", p.Report.Diagnostics)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "skills/a/link")); err != nil {
		t.Fatal(err)
	}
	if p := b.previewOf(dir); p.find("package.symbolic-link-forbidden") == nil || p.Report.Installable {
		t.Errorf("%v", p.Report.Diagnostics)
	}
}
