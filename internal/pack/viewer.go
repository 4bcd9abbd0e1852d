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

	"skill-mcp/internal/archive"
)

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
		c.Diagnostics = append(c.Diagnostics, warnf(CodeDotfiles, "names that begin with a dot are left out (%d): %s", len(s.dotfiles), shownList(s.dotfiles)))
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
		c.add(warnf(CodeScripts, "carries scripts or programs (%d), importing runs none and grants nothing: %s", len(c.Scripts), shownList(c.Scripts)))
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
	return append(all[:few:few], warnf(CodeHiddenText, "more files with hidden text: %d", len(all)-few))
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
