package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/store"
)

// Action is what applying a candidate would do.
type Action string

// The actions. A conflict needs the id of the skill to replace, or cannot be
// resolved when there is none.
const (
	ActionInstall   Action = "install"
	ActionUnchanged Action = "unchanged"
	ActionUpdate    Action = "update"
	ActionConflict  Action = "conflict"
	ActionRefused   Action = "refused"
)

// Candidate is one skill found in a bundle and what is known of it.
type Candidate struct {
	Path            string            `json:"path"` // how it is selected
	DeclaredName    string            `json:"declaredName"`
	InstallName     string            `json:"installName"`
	Description     string            `json:"description"`
	Metadata        map[string]string `json:"metadata"`
	Body            string            `json:"body"`
	PreviewError    string            `json:"previewError,omitempty"` // why description and body are missing
	Files           []FileInfo        `json:"files"`
	Bytes           int64             `json:"bytes"` // of all files
	Scripts         []string          `json:"scripts"`
	ContentHash     string            `json:"contentHash"`
	Action          Action            `json:"action"`
	AlreadyImported string            `json:"alreadyImported,omitempty"` // id of an imported skill with this content
	ReplaceableID   string            `json:"replaceableId,omitempty"`   // id of the one imported skill of this name with other content
	Changes         *Changes          `json:"changes,omitempty"`         // against ReplaceableID
	Diagnostics     []Diagnostic      `json:"diagnostics"`
	Importable      bool              `json:"importable"`

	part, root string
}

// Preview is the answer to a look at a bundle.
type Preview struct {
	Source        SourceInfo  `json:"source"`
	Into          string      `json:"into"`
	Candidates    []Candidate `json:"candidates"` // sorted by path
	Skipped       []Skipped   `json:"skipped"`
	ArchiveSHA256 string      `json:"archiveSha256,omitempty"` // of a zip's bytes
	Token         string      `json:"token"`
	ExpiresAt     time.Time   `json:"expiresAt"`
}

// Step is how far a command is; totals are 0 when they are not known.
type Step struct {
	What                  string
	Bytes, TotalBytes     int64
	Entries, TotalEntries int
}

// Importer previews and applies bundles. All fields but Store and Into may be
// zero.
type Importer struct {
	Store    *store.Store
	Into     string // absolute folder of skills
	Owner    string // who asks; a token is bound to it
	Version  string // of this program, for provenance
	GitHub   GitHub
	Now      func() time.Time // the clock; time.Now when nil
	Progress func(Step)       // called often; nil for none
}

func (im *Importer) now() time.Time {
	if im.Now != nil {
		return im.Now().UTC()
	}
	return time.Now().UTC()
}

func (im *Importer) progress(s Step) {
	if im.Progress != nil {
		im.Progress(s)
	}
}

// Preview looks at a bundle and says what an import would do. It installs
// nothing and runs nothing; what it remembers is the token, in the store. The
// error is a *Refusal when the bundle as a whole cannot be used.
func (im *Importer) Preview(ctx context.Context, unsafeSource string) (*Preview, error) {
	src, err := im.openSource(ctx, unsafeSource)
	if err != nil {
		return nil, err
	}
	defer src.close()
	installed, err := listInstalled(ctx, im.Into)
	if err != nil {
		return nil, err
	}
	out, err := im.look(ctx, src, installed)
	if err != nil {
		return nil, err
	}
	if len(out.Candidates) == 0 {
		return nil, noSkill(out.Skipped)
	}
	return out, im.remember(ctx, src, out, revisionOf(installed))
}

func noSkill(skipped []Skipped) error {
	r := refuse(CodeNoSkill, "a skill is a folder with a SKILL.md, at the root or at most two folders down", "the bundle holds no skill")
	for i, s := range skipped {
		if i == 5 {
			r.Message += fmt.Sprintf("; and %d more", len(skipped)-i)
			break
		}
		r.Message += fmt.Sprintf("; %s: %s", s.Source, s.Reason)
	}
	return r
}

// look evaluates every candidate of a source.
func (im *Importer) look(ctx context.Context, src *source, installed []Installed) (*Preview, error) {
	b, err := newBundle(src.tree, im.Store)
	if err != nil {
		return nil, err
	}
	out := &Preview{Source: src.info, Into: im.Into, ArchiveSHA256: src.sha256, Candidates: []Candidate{}, Skipped: []Skipped{}}
	v := &viewer{im: im, installed: installed, text: MaxPreviewText, taken: map[string]bool{}}
	var beyond []Skipped
	err = b.parts(ctx, nil, func(p *part) error {
		for _, root := range p.layout.roots {
			if len(out.Candidates) >= MaxSkills {
				beyond = append(beyond, Skipped{archive.Shown(joinPath(p.name, root)),
					fmt.Sprintf("%s: more than %d skills in one bundle", CodeSkillCount, MaxSkills)})
				continue
			}
			c, err := v.candidate(ctx, p, root)
			if err != nil {
				return err
			}
			out.Candidates = append(out.Candidates, *c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Skipped = append(append(out.Skipped, b.skipped...), beyond...)
	slices.SortStableFunc(out.Candidates, func(a, b Candidate) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// viewer evaluates candidates one after the other and holds what they share.
type viewer struct {
	im        *Importer
	installed []Installed
	text      int64 // bytes of SKILL.md text that the answer still has room for
	taken     map[string]bool
	watch     watch
	entries   int
	bytes     int64
}

// candidate evaluates one skill. Only a cancelled context is an error; all else
// is a diagnostic of the candidate.
func (v *viewer) candidate(ctx context.Context, p *part, root string) (*Candidate, error) {
	s := gather(p.tree, &p.layout, root)
	c := &Candidate{
		Path: v.unique(joinPath(p.name, root)), Files: s.files, Scripts: []string{}, Metadata: map[string]string{},
		Diagnostics: s.faults, Action: ActionRefused, part: p.name, root: root,
	}
	if c.Diagnostics == nil {
		c.Diagnostics = []Diagnostic{}
	}
	if c.Files == nil {
		c.Files = []FileInfo{}
	}
	for _, f := range c.Files {
		c.Bytes += f.Size
	}
	if s.document >= 0 {
		v.describe(c, s)
	}
	if len(s.dotfiles) > 0 {
		c.Diagnostics = append(c.Diagnostics, warnf(CodeDotfiles, "%d names that begin with a dot are left out: %s", len(s.dotfiles), shownList(s.dotfiles)))
	}
	if !c.hasErrors() {
		if err := v.read(ctx, c, s); err != nil {
			return nil, err
		}
	}
	c.Importable = !c.hasErrors()
	return c, nil
}

// unique gives a second candidate of one path the ending #2.
func (v *viewer) unique(p string) string {
	name := p
	for n := 2; v.taken[name]; n++ {
		name = fmt.Sprintf("%s#%d", p, n)
	}
	v.taken[name] = true
	return name
}

func (c *Candidate) hasErrors() bool {
	return slices.ContainsFunc(c.Diagnostics, func(d Diagnostic) bool { return d.Level == LevelError })
}

func (c *Candidate) add(d ...Diagnostic) { c.Diagnostics = append(c.Diagnostics, d...) }

// maxRewritten bounds a SKILL.md whose name has to be changed: it is held in
// memory for that.
const maxRewritten = 1 << 20

// describe reads SKILL.md, as far as the answer has room for its text.
func (v *viewer) describe(c *Candidate, s *skill) {
	size := s.files[s.document].Size
	fits := size <= v.text
	limit := size
	if !fits {
		limit = min(size, 128<<10) // front matter is at most 64 KiB
		c.PreviewError = fmt.Sprintf("the SKILL.md has %d bytes and this preview has room for %d more; the text is not shown", size, v.text)
	}
	head, err := s.head(limit)
	if err != nil {
		// A skill that is refused anyway was not downloaded; that is no fault.
		if !c.hasErrors() {
			c.add(fromProblem(err, documentName))
		}
		return
	}
	d := ParseDocument(head)
	c.DeclaredName = d.Name
	if fits {
		v.text -= size
		c.Description, c.Body, c.Metadata = d.Description, d.Body, d.Metadata
	}
	v.judgeName(c, s, &d)
	if d.Description == "" && d.Problem == "" && d.HasFrontMatter {
		c.add(warnf(CodeNoDescription, "SKILL.md has no description: a model cannot tell when to use the skill"))
	}
}

func (v *viewer) judgeName(c *Candidate, s *skill, d *Document) {
	switch {
	case !d.HasFrontMatter:
		c.add(errorf(CodeNoFrontMatter, "SKILL.md has no name (it does not begin with a block between two lines ---)"))
		return
	case d.Problem != "":
		c.add(errorf(CodeFrontMatter, "SKILL.md has no name (its front matter is not valid YAML: %s)", d.Problem))
		return
	case d.Name == "":
		c.add(errorf(CodeNoName, "SKILL.md has no name"))
		return
	}
	c.InstallName = NormaliseName(d.Name)
	switch {
	case c.InstallName == "":
		c.add(errorf(CodeNoName, "the name %s has no letter or digit that can be used", archive.Shown(d.Name)))
		return
	case reservedName(c.InstallName):
		c.add(errorf(CodeNameReserved, "the name %s is reserved (os- and mcp- belong to the product)", archive.Shown(c.InstallName)))
		return
	}
	if c.InstallName != d.Name {
		c.add(warnf(CodeNameChanged, "the name %s becomes %s", archive.Shown(d.Name), archive.Shown(c.InstallName)))
		v.rename(c, s)
	}
}

// rename puts the normalised name into the SKILL.md that is installed, so that
// folder and file agree.
func (v *viewer) rename(c *Candidate, s *skill) {
	if err := s.rename(c.InstallName); err != nil {
		c.add(errorf(CodeDocument, "SKILL.md cannot be given the name %s: %v", archive.Shown(c.InstallName), err))
		return
	}
	c.Files = s.files
}

// rename sets the name in the skill's own document. Precondition: the skill has
// one.
func (s *skill) rename(name string) error {
	if s.files[s.document].Size > maxRewritten {
		return fmt.Errorf("it is larger than %d bytes; correct its name by hand", maxRewritten)
	}
	data, err := s.head(maxRewritten)
	if err != nil {
		return err
	}
	out, err := setFields(data, name)
	if err != nil {
		return err
	}
	s.rewrite = out
	s.files = slices.Clone(s.files)
	s.files[s.document].Size = int64(len(out))
	return nil
}

// read goes through all bytes of a skill once: hash, scripts, hidden text.
func (v *viewer) read(ctx context.Context, c *Candidate, s *skill) error {
	total, one := newContentHash(), sha256.New()
	var records []FileRecord
	var hidden []Diagnostic
	known := v.known(c.InstallName)
	err := s.each(ctx, func(i int) (io.Writer, error) {
		v.watch.begin(s.files[i])
		if !known { // a hash of each file is only needed to compare
			return io.MultiWriter(total.file(s.files[i].Path), &v.watch), nil
		}
		one.Reset()
		return io.MultiWriter(total.file(s.files[i].Path), one, &v.watch), nil
	}, func(i int) error {
		total.end()
		f := s.files[i]
		if known {
			records = append(records, FileRecord{f.Path, f.Size, hex.EncodeToString(one.Sum(nil)), f.Executable})
		}
		if isScript(f, v.watch.start) {
			c.Scripts = append(c.Scripts, f.Path)
		}
		if isText(f.Path) {
			hidden = append(hidden, hiddenText(f.Path, v.watch.start)...)
		}
		v.entries, v.bytes = v.entries+1, v.bytes+f.Size
		v.im.progress(Step{What: "read", Bytes: v.bytes, Entries: v.entries})
		return nil
	})
	var broken *fileError
	if errors.As(err, &broken) {
		c.add(fromProblem(broken.err, broken.path))
		return nil
	}
	if err != nil {
		return err
	}
	c.ContentHash = total.sum()
	c.add(firstFew(hidden)...)
	if len(c.Scripts) > 0 {
		c.add(warnf(CodeScripts, "carries %d scripts or programs; importing runs none of them and grants nothing: %s", len(c.Scripts), shownList(c.Scripts)))
	}
	return v.relate(ctx, c, records)
}

// known says whether an imported skill has this name, so that an update may be
// compared file by file.
func (v *viewer) known(name string) bool {
	return slices.ContainsFunc(v.installed, func(s Installed) bool { return s.sameName(name) })
}

// firstFew keeps a bundle of thousands of odd files from hiding the rest.
func firstFew(all []Diagnostic) []Diagnostic {
	const few = 20
	if len(all) <= few {
		return all
	}
	return append(all[:few:few], warnf(CodeHiddenText, "%d more files hold hidden text", len(all)-few))
}

func shownList(names []string) string {
	const few = 10
	out := make([]string, 0, few)
	for _, n := range names[:min(few, len(names))] {
		out = append(out, archive.Shown(n))
	}
	if len(names) > few {
		out = append(out, fmt.Sprintf("and %d more", len(names)-few))
	}
	return strings.Join(out, ", ")
}
