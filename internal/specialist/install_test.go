package specialist

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/connector"
	"skill-mcp/internal/pack"
)

func (p *Preview) skill(name string) SkillSummary {
	for _, k := range p.Report.Summary.Skills {
		if k.ID == name {
			return k
		}
	}
	return SkillSummary{}
}

func TestC15UnknownReferencesAreDropped(t *testing.T) {
	b := newBench(t)
	data := good().p("skill_ids", []any{"unknown"}, "connector_ids", []any{"unknown"}).zip()
	p := b.preview(data)
	if !p.Report.Installable || strings.Join(p.codes(LevelWarning), " ") != "specialist.connector-unavailable specialist.skill-unavailable" {
		t.Errorf("%+v", p.Report)
	}
	b.install(data)
	if r := b.record("rev"); len(r.SkillIDs)+len(r.ConnectorIDs) != 0 {
		t.Errorf("%+v", r)
	}
}

// addConnector gives the local id of a new connector.
func (b *bench) addConnector(name string) string {
	b.t.Helper()
	text, _ := json.Marshal(map[string]any{"schema_version": 1, "kind": "open-science.connector", "name": name, "display_name": "X", "transport": "stdio", "command": "npx"})
	tpl, report := connector.Parse(text, connector.Names{})
	if !report.Ready() {
		b.t.Fatal(report)
	}
	if err := b.connectors().Add(context.Background(), tpl); err != nil {
		b.t.Fatal(err)
	}
	_, stored, err := b.connectors().Get(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return stored.ID
}

func TestC16ConnectorsByNameInPackagesByIDInMemory(t *testing.T) {
	b := newBench(t)
	id := b.addConnector("papers")
	b.install(good().p("connector_ids", []any{"papers"}).zip())
	if r := b.record("rev"); !slices.Equal(r.ConnectorIDs, []string{id}) || id == "papers" {
		t.Errorf("%+v", r)
	}
	out := b.export("rev", nil)
	if p := parse(t, out.Data); !slices.Equal(p.profile.ConnectorIDs, []string{"papers"}) {
		t.Errorf("%+v", p.profile)
	}
	b.install(good().m("id", "two").p("name", "Two", "connector_ids", []any{id}).zip())
	if r := b.record("two"); !slices.Equal(r.ConnectorIDs, []string{id}) {
		t.Errorf("a local id: %+v", r)
	}
}

func TestC17AndC18DispositionsOfNewAndBuiltIn(t *testing.T) {
	b := newBench(t)
	data := good(append(skill("new", "x"), skill("mine", "package")...)...).zip()
	b.byHand("mine", "by hand")
	before := b.body("mine")
	p := b.preview(data)
	if p.skill("new").Disposition != Install || p.skill("mine").Disposition != ReuseBuiltIn || !p.Report.Installable {
		t.Errorf("%+v", p.Report.Summary)
	}
	b.install(data)
	if b.body("mine") != before || b.body("new") == "-" {
		t.Error("the built-in skill was touched")
	}
	if r := b.record("rev"); !slices.Equal(r.OwnedSkillIDs, []string{"new"}) || !slices.Equal(r.SkillIDs, []string{"mine", "new"}) || r.Enabled || r.Revision != 1 || r.CapabilityMode != "selected" {
		t.Errorf("%+v", r)
	}
	b.BuiltInSkills = []string{"shipped"}
	if p := b.preview(good(skill("shipped", "x")...).m("id", "three").p("name", "Three").zip()); p.skill("shipped").Disposition != ReuseBuiltIn {
		t.Errorf("%+v", p.Report.Summary)
	}
}

func TestC19IdenticalLocalSkills(t *testing.T) {
	b := newBench(t)
	b.imported("alone", "x")
	data := good(append(skill("alone", "x"), skill("owned", "x")...)...).zip()
	b.install(data)
	second := good(append(skill("alone", "x"), skill("owned", "x")...)...).m("id", "two").p("name", "Two").zip()
	p := b.preview(second)
	if p.skill("alone").Disposition != ReuseStandalone || p.skill("owned").Disposition != ReuseOwned {
		t.Fatalf("%+v", p.Report.Summary)
	}
	b.install(second)
	if r := b.record("two"); !slices.Equal(r.OwnedSkillIDs, []string{"owned"}) {
		t.Errorf("%+v", r)
	}
	if o := b.owners("owned"); !slices.Equal(o.OwnerIDs, []string{"rev", "two"}) || o.Standalone {
		t.Errorf("%+v", o)
	}
	if found, err := pack.Verify(context.Background(), b.Into, []string{"owned"}); err != nil || found[0].Condition != pack.ConditionIntact {
		t.Error(found, err)
	}
}

func (b *bench) owners(id string) ownership {
	b.t.Helper()
	root, err := openFolder(b.Into, id)
	if err != nil {
		b.t.Fatal(err)
	}
	defer root.Close()
	o, err := readOwnership(root)
	if err != nil {
		b.t.Fatal(err)
	}
	if o == nil {
		return ownership{}
	}
	return *o
}

func TestC20AndC21Conflicts(t *testing.T) {
	data := good(skill("lint", "incoming")...).zip()
	for _, c := range []struct {
		name    string
		choices []Resolution
		want    string // code
		body    string // of the skill afterwards
	}{
		{"none", nil, CodeResolutionRequired, "local"},
		{"use-installed", []Resolution{{"lint", UseInstalled}}, "", "local"},
		{"use-incoming", []Resolution{{"lint", UseIncoming}}, "", "incoming"},
		{"another skill", []Resolution{{"other", UseIncoming}}, CodeCandidateInvalid, "local"},
		{"twice", []Resolution{{"lint", UseIncoming}, {"lint", UseIncoming}}, CodeCandidateInvalid, "local"},
		{"an unknown word", []Resolution{{"lint", "replace"}}, CodeCandidateInvalid, "local"},
	} {
		b := newBench(t)
		b.imported("lint", "local")
		p := b.preview(data)
		k := p.skill("lint")
		if k.Disposition != Conflict || k.Conflict == nil || k.Conflict.LocalID != "lint" || k.Conflict.InstalledVersion != "0.1.0" ||
			len(k.Conflict.InstalledHash) != 64 || !k.Conflict.MainEnabled || len(k.Conflict.SpecialistIDs) != 0 || p.Report.Installable {
			t.Fatalf("%+v", k)
		}
		if got := b.request(Request{Token: p.Token, Resolutions: c.choices}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if !strings.Contains(b.body("lint"), c.body) {
			t.Errorf("%s: %s", c.name, b.body("lint"))
		}
		if c.want != "" { // the token is alive
			if got := b.request(Request{Token: p.Token, Resolutions: []Resolution{{"lint", UseInstalled}}}); got != "" {
				t.Errorf("%s, then resolved: %s", c.name, got)
			}
			continue
		}
		owned := b.record("rev").OwnedSkillIDs
		if replaced := c.body == "incoming"; replaced != slices.Contains(owned, "lint") || replaced && !b.owners("lint").Standalone {
			t.Errorf("%s: owned %v, %+v", c.name, owned, b.owners("lint"))
		}
	}
}

func TestC22TheLocalSkillChangesAfterThePreview(t *testing.T) {
	for name, change := range map[string]func(*bench){
		"content": func(b *bench) { b.byHandEdit("lint") },
		"gone":    func(b *bench) { os.RemoveAll(filepath.Join(b.Into, "lint")) },
		"a user":  func(b *bench) { b.put(&Record{ID: "other", Name: "Other", SkillIDs: []string{"lint"}, Revision: 1}) },
	} {
		b := newBench(t)
		b.imported("lint", "local")
		p := b.preview(good(skill("lint", "incoming")...).zip())
		change(b)
		before := b.tree()
		if got := b.request(Request{Token: p.Token, Resolutions: []Resolution{{"lint", UseIncoming}}}); got != CodeStaleCandidate || b.tree() != before {
			t.Errorf("%s: %s", name, got)
		}
	}
	b := newBench(t) // free at the preview, taken at the install
	p := b.preview(good(skill("lint", "incoming")...).zip())
	b.imported("lint", "local")
	if got := b.request(Request{Token: p.Token}); got != CodeStaleCandidate {
		t.Error(got)
	}
}

func (b *bench) byHandEdit(id string) {
	b.t.Helper()
	name := filepath.Join(b.Into, id, "SKILL.md")
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(data, "edited\n"...), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// put writes a record as a later version of this program may.
func (b *bench) put(r *Record) {
	b.t.Helper()
	l, err := b.Store.Lock(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	defer l.Unlock()
	for _, list := range []*[]string{&r.SkillIDs, &r.ConnectorIDs, &r.OwnedSkillIDs} {
		if *list == nil {
			*list = []string{}
		}
	}
	if err := l.Put(recordKind, r.ID, r); err != nil {
		b.t.Fatal(err)
	}
}

func TestC24Overwrite(t *testing.T) {
	b := newBench(t)
	b.install(good(skill("lint", "x")...).zip())
	r := b.record("rev")
	r.Enabled = true
	b.put(r)
	p := b.preview(good().m("version", "1.1.0").p("description", "Newer.").zip())
	if o := p.Report.Overwrite; o == nil || o.ID != "rev" || o.CurrentVersion != "1.0.0" || o.IncomingVersion != "1.1.0" || !o.HasImportBaseline || o.ModifiedSinceImport {
		t.Errorf("%+v", o)
	}
	for _, confirm := range []string{`"true"`, `false`, `null`, `1`} {
		if _, err := ParseRequest([]byte(`{"candidateToken":"` + p.Token + `","confirmOverwrite":` + confirm + `}`)); codeOf(err) != CodeCandidateInvalid {
			t.Errorf("%s: %v", confirm, err)
		}
	}
	if got := b.request(Request{Token: p.Token}); got != CodeConfirmationRequired {
		t.Error(got)
	}
	req, err := ParseRequest([]byte(`{"candidateToken":"` + p.Token + `","confirmOverwrite":true,"skillConflictResolutions":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.request(req); got != "" {
		t.Error(got)
	}
	r = b.record("rev")
	if r.Revision != 2 || !r.Enabled || r.Description != "Newer." || !slices.Equal(r.OwnedSkillIDs, []string{"lint"}) {
		t.Errorf("%+v", r)
	}
}

func TestOverwriteWarnings(t *testing.T) {
	b := newBench(t)
	b.install(good(skill("lint", "x")...).m("version", "1.0.0").zip())
	b.byHandEdit("lint")
	p := b.preview(good().m("version", "0.9.0").zip())
	if p.find("specialist.downgrade") == nil || p.find("specialist.local-edits") == nil || !p.Report.Overwrite.ModifiedSinceImport {
		t.Errorf("%v", p.Report.Diagnostics)
	}
	p = b.preview(good().p("description", "Other.").zip())
	if p.find("specialist.same-version") == nil || p.find("specialist.changed-without-version") == nil {
		t.Errorf("%v", p.Report.Diagnostics)
	}
}

func TestC25TheSpecialistChangesAfterThePreview(t *testing.T) {
	b := newBench(t)
	b.install(good().zip())
	p := b.preview(good().m("version", "2.0.0").zip())
	r := b.record("rev")
	r.Description, r.Revision = "Edited.", 2
	b.put(r)
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeRevisionConflict || b.record("rev").Description != "Edited." {
		t.Error(got)
	}
	p = b.preview(good().m("version", "2.0.0").zip())
	r.Description = "Edited again, without a new revision."
	b.put(r)
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeRevisionConflict {
		t.Error(got)
	}
}

func TestC38AnUnreadableJournal(t *testing.T) {
	b := newBench(t)
	b.install(good(skill("lint", "x")...).zip())
	p := b.preview(good().m("version", "2.0.0").zip())
	name := filepath.Join(b.Store.Dir(), "journal", strings.Repeat("0", 32)+".json")
	if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := b.tree()
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != CodeRecoveryFailed {
		t.Error("install:", got)
	}
	if _, err := b.Delete(context.Background(), DeleteRequest{ID: "rev", ExpectedRevision: 1}); codeOf(err) != CodeRecoveryFailed {
		t.Error("delete:", err)
	}
	if err := pack.Uninstall(context.Background(), b.Store, b.Into, "lint", Users(b.Store)); err == nil {
		t.Error("a skill was uninstalled")
	}
	if b.tree() != before {
		t.Error("something changed")
	}
	q := b.preview(good().m("version", "3.0.0").zip())
	if q.Report.Installable || q.Token != "" || q.find("package.changes-blocked") == nil || q.Report.Summary.Version != "3.0.0" {
		t.Errorf("%+v", q)
	}
	if ids, err := b.List(); err != nil || len(ids) != 1 {
		t.Error(ids, err)
	}
	if out := b.export("rev", nil); len(out.Skills) != 1 {
		t.Error(out)
	}
	if d, err := b.PreviewDelete(context.Background(), "rev"); err != nil || len(d.Skills) != 1 {
		t.Error(d, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := b.request(Request{Token: p.Token, ConfirmOverwrite: true}); got != "" {
		t.Error("after the journal is gone:", got)
	}
}

func TestC45OwnedAndReferencedSkillsStay(t *testing.T) {
	b := newBench(t)
	b.imported("alone", "x")
	b.install(good(skill("lint", "x")...).p("skill_ids", []any{"alone"}).zip())
	for _, id := range []string{"alone", "lint"} {
		err := pack.Uninstall(context.Background(), b.Store, b.Into, id, Users(b.Store))
		if codeOf(err) != pack.CodeProtected || b.body(id) == "-" {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := b.Delete(context.Background(), DeleteRequest{ID: "rev", ExpectedRevision: 1}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"alone", "lint"} {
		if err := pack.Uninstall(context.Background(), b.Store, b.Into, id, Users(b.Store)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A record that cannot be read protects every skill.
func TestAnUnreadableRecordProtects(t *testing.T) {
	b := newBench(t)
	b.imported("alone", "x")
	if err := os.MkdirAll(filepath.Join(b.Store.Dir(), recordKind), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.Store.Dir(), recordKind, "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := pack.Uninstall(context.Background(), b.Store, b.Into, "alone", Users(b.Store))
	if err == nil || errors.Is(err, os.ErrNotExist) || b.body("alone") == "-" {
		t.Error(err)
	}
}
