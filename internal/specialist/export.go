package specialist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
)

// SkillKind says how a specialist has a skill.
type SkillKind string

// The kinds.
const (
	KindBuiltIn    SkillKind = "builtin"
	KindOwned      SkillKind = "owned"
	KindReferenced SkillKind = "referenced"
)

// ExportPreview says what an export would hold.
type ExportPreview struct {
	SpecialistID     string        `json:"specialistId"`
	ExpectedRevision int           `json:"expectedRevision"`
	FileName         string        `json:"fileName"`
	Skills           []ExportSkill `json:"skills"`
	Diagnostics      []Diagnostic  `json:"diagnostics"`
}

// ExportSkill is one skill of a specialist.
type ExportSkill struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Version    string    `json:"version"`
	Kind       SkillKind `json:"kind"`
	Selected   bool      `json:"selected"`
	Selectable bool      `json:"selectable"`
	hash       string
}

// ExportRequest asks for an export. IncludedSkillIDs are local ids; nil stands
// for the selection of the preview.
type ExportRequest struct {
	SpecialistID     string
	ExpectedRevision int
	IncludedSkillIDs []string
}

// Exported is an archive that may leave.
type Exported struct {
	FileName      string       `json:"fileName"`
	ContentSHA256 string       `json:"contentSha256"`
	SHA256        string       `json:"sha256"`
	Skills        []string     `json:"skills"` // names of those included
	Diagnostics   []Diagnostic `json:"diagnostics"`
	Data          []byte       `json:"-"`
}

// exporting is one export: the record and what it refers to at one moment.
type exporting struct {
	shelf   *Shelf
	record  *Record
	catalog *catalog
	f       *findings
	skills  []ExportSkill
	locals  map[string]*local
}

func (s *Shelf) exporting(ctx context.Context, unsafeID string) (*exporting, error) {
	if slices.Contains(s.BuiltInIDs, unsafeID) {
		return nil, refuse(CodeProtectedTarget, "", "the specialist %s is built in", shown(unsafeID))
	}
	r, err := s.Get(unsafeID)
	if err != nil {
		return nil, err
	}
	c, err := s.catalog(ctx)
	if err != nil {
		return nil, err
	}
	e := &exporting{shelf: s, record: r, catalog: c, f: &findings{}, skills: []ExportSkill{}, locals: map[string]*local{}}
	return e, e.collect(ctx)
}

func (e *exporting) collect(ctx context.Context) error {
	names := map[string]string{}
	for _, id := range e.record.SkillIDs {
		l, err := e.catalog.byID(ctx, id)
		if err != nil {
			return err
		}
		if l == nil {
			e.f.addf(LevelWarning, "specialist.skill-unavailable", "", "skill_ids", "the skill %s is no longer installed; the reference is left out", shown(id))
			continue
		}
		if other, twice := names[l.name]; twice {
			e.f.addf(LevelError, "specialist.skillIds-duplicate", "", "skill_ids", "the skills %s and %s have one name", shown(other), shown(id))
		}
		names[l.name] = id
		k := ExportSkill{ID: id, Name: plain(l.name), Version: l.version, Kind: KindReferenced, Selectable: !l.builtIn && l.problem == "", hash: l.hash}
		switch {
		case l.builtIn:
			k.Kind = KindBuiltIn
		case slices.Contains(e.record.OwnedSkillIDs, id):
			k.Kind, k.Selected = KindOwned, k.Selectable
		}
		if l.problem != "" {
			e.f.addf(LevelWarning, "specialist.skill-unavailable", "", "skill_ids", "the skill %s cannot be read", shown(id))
		}
		e.locals[id] = l
		e.skills = append(e.skills, k)
	}
	base := e.record.Baseline
	if base != nil && base.Version == e.record.Version && base.StateSHA256 != e.record.state(e.catalog.hashOf(ctx)) {
		e.f.addf(LevelWarning, "specialist.changed-without-version", "", "", "the content changed since version %s was imported", masked(e.record.Version))
	}
	return nil
}

// fileName is what the archive should be called.
func (e *exporting) fileName() string {
	slug := strings.TrimSuffix(pack.FileName(e.record.Name, e.record.ID), ".zip")
	return "open-science-specialist-" + slug + "-v" + e.record.Version + ".zip"
}

// PreviewExport says what an export of a specialist would hold. It needs no
// lock and writes nothing.
func (s *Shelf) PreviewExport(ctx context.Context, unsafeID string) (*ExportPreview, error) {
	e, err := s.exporting(ctx, unsafeID)
	if err != nil {
		return nil, err
	}
	return &ExportPreview{e.record.ID, e.record.Revision, e.fileName(), e.skills, e.f.all()}, nil
}

// Export makes the archive of a specialist. It is proved before it leaves: its
// own import validation accepts it, and neither record nor skills changed
// meanwhile. It needs no lock and writes nothing.
func (s *Shelf) Export(ctx context.Context, r ExportRequest) (*Exported, error) {
	e, err := s.exporting(ctx, r.SpecialistID)
	if err != nil {
		return nil, err
	}
	if e.record.Revision != r.ExpectedRevision {
		return nil, refuse(CodeRevisionConflict, "preview again", "the specialist %s has revision %d, not %d", shown(e.record.ID), e.record.Revision, r.ExpectedRevision)
	}
	chosen, err := e.choose(r.IncludedSkillIDs)
	if err != nil {
		return nil, err
	}
	if e.f.errors > 0 {
		return nil, refuse(CodeExportInvalid, "", "%s", e.f.list[0].Message)
	}
	data, err := e.archive(chosen)
	if err != nil {
		return nil, err
	}
	p, err := parseBytes(ctx, data, s.Progress)
	if err != nil {
		return nil, err
	}
	for _, d := range p.f.list {
		if d.Level == LevelError {
			return nil, refuse(CodeExportInvalid, "", "the archive could not be imported again: %s", d)
		}
	}
	if err := s.unchanged(ctx, e, p, chosen); err != nil {
		return nil, err
	}
	out := &Exported{FileName: e.fileName(), ContentSHA256: p.content(), SHA256: hashBytes(data), Skills: []string{}, Data: data}
	for _, k := range chosen {
		out.Skills = append(out.Skills, k.Name)
	}
	for _, d := range p.f.list {
		e.f.add(d)
	}
	out.Diagnostics = e.f.all()
	return out, nil
}

// choose turns a selection into skills.
func (e *exporting) choose(ids []string) ([]ExportSkill, error) {
	chosen := []ExportSkill{}
	if ids == nil {
		for _, k := range e.skills {
			if k.Selected {
				chosen = append(chosen, k)
			}
		}
		return chosen, nil
	}
	for n, id := range ids {
		i := slices.IndexFunc(e.skills, func(k ExportSkill) bool { return k.ID == id })
		switch {
		case slices.Contains(ids[:n], id):
			return nil, refuse(CodeExportInvalid, "", "the skill %s is chosen twice", shown(id))
		case i < 0:
			return nil, refuse(CodeExportInvalid, "choose of those that the preview lists", "the specialist does not refer to a skill %s", shown(id))
		case e.skills[i].Kind == KindBuiltIn:
			return nil, refuse(CodeExportInvalid, "", "the skill %s is built in and stays where it is", shown(id))
		case !e.skills[i].Selectable:
			return nil, refuse(CodeExportInvalid, "", "the skill %s cannot be read", shown(id))
		}
		chosen = append(chosen, e.skills[i])
	}
	return chosen, nil
}

// unchanged proves that what was read is still what is there, and that it is
// what the archive holds.
func (s *Shelf) unchanged(ctx context.Context, e *exporting, p *parsed, chosen []ExportSkill) error {
	now, err := s.exporting(ctx, e.record.ID)
	if err != nil {
		return err
	}
	same := recordDigest(now.record) == recordDigest(e.record) && slices.Equal(now.skills, e.skills) && len(p.skills) == len(chosen)
	for _, k := range chosen {
		same = same && slices.ContainsFunc(p.skills, func(b bundled) bool { return b.name == e.locals[k.ID].name && b.hash == k.hash })
	}
	if !same {
		return refuse(CodePreviewAgain, "preview the export again", "the specialist or its skills changed while they were read")
	}
	return nil
}

// archive writes the package.
func (e *exporting) archive(chosen []ExportSkill) ([]byte, error) {
	documents, err := e.documents()
	if err != nil {
		return nil, err
	}
	files := documents
	for _, k := range chosen {
		more, done, err := e.skillFiles(k)
		if err != nil {
			return nil, refuseErr(CodeExportInvalid, err, "read the skill %s", shown(k.ID))
		}
		defer done()
		files = append(files, more...)
	}
	var out bytes.Buffer
	if err := archive.Write(&out, files); err != nil {
		return nil, refuseErr(CodePreviewAgain, err, "write the archive")
	}
	return out.Bytes(), nil
}

// documents gives the two JSON documents. References go back to names.
func (e *exporting) documents() ([]archive.File, error) {
	ids, err := connectorIDs(e.shelf.connectors())
	if err != nil {
		return nil, err
	}
	r := e.record
	profile := profileFile{Name: r.Name, DisplayName: r.DisplayName, Description: r.Description, SystemPrompt: r.SystemPrompt, SkillIDs: []string{}, ConnectorIDs: []string{}}
	for _, k := range e.skills {
		profile.SkillIDs = append(profile.SkillIDs, e.locals[k.ID].name)
	}
	for _, id := range r.ConnectorIDs {
		name, known := "", false
		for n, have := range ids {
			if have == id {
				name, known = n, true
			}
		}
		if !known {
			e.f.addf(LevelWarning, "specialist.connector-unavailable", "", "connector_ids", "a connector is no longer in the store; the reference is left out")
			continue
		}
		profile.ConnectorIDs = append(profile.ConnectorIDs, name)
	}
	manifest, err := jsonFile(manifestName, manifestFile{1, r.ID, r.Version, e.shelf.app()})
	if err != nil {
		return nil, err
	}
	described, err := jsonFile(profileName, profile)
	return []archive.File{manifest, described}, err
}

func jsonFile(name string, value any) (archive.File, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return archive.File{}, err
	}
	data := out.Bytes()
	return archive.File{Name: name, Size: int64(len(data)), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, nil
}

// skillFiles gives the files of an installed skill below skills/<name>/. The
// caller calls done when they are written.
func (e *exporting) skillFiles(k ExportSkill) (files []archive.File, done func(), err error) {
	root, err := openFolder(e.catalog.into, k.ID)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			root.Close()
		}
	}()
	skill, err := openLocal(root)
	if err != nil {
		return nil, nil, err
	}
	if err := noHardLinks(root); err != nil {
		return nil, nil, err
	}
	open := map[string]func() (io.ReadCloser, error){}
	for _, f := range skill.Files() {
		open[f.Path] = func() (io.ReadCloser, error) { return openRegular(root, f) }
		files = append(files, archive.File{
			Name: skillsFolder + "/" + e.locals[k.ID].name + "/" + f.Path, Executable: f.Executable, Size: f.Size, Open: open[f.Path],
		})
	}
	return files, func() { root.Close() }, nil
}

// noHardLinks: a file with another name on the disk may be somebody else's
// secret, linked into the skill.
func noHardLinks(root *os.Root) error {
	tree, err := archive.OpenFolder(root, localLimits(), nil)
	if err != nil {
		return err
	}
	for _, e := range tree.Entries() {
		if e.Linked {
			return refuse("skill.hard-link", "copy the file to give it an own place on the disk", "%s has more than one name on the disk", shown(e.Name))
		}
	}
	return nil
}

func openRegular(root *os.Root, f pack.FileInfo) (io.ReadCloser, error) {
	if info, err := root.Lstat(f.Path); err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
		return nil, errors.Join(err, errors.New("the file changed while it was read"))
	}
	return root.Open(f.Path)
}
