package specialist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
)

// Preview is the answer to a look at a package. Report may be saved; the token
// may not.
type Preview struct {
	Report
	Token     string    `json:"candidateToken,omitempty"` // 64 hex digits; "" when nothing can be changed
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Report says what a package holds and what an install would do. It has no
// prompt, no content, no token and no path of this machine.
type Report struct {
	Installable bool         `json:"installable"`
	Summary     *Summary     `json:"summary,omitempty"`
	Overwrite   *Overwrite   `json:"overwrite,omitempty"`
	Archive     Metrics      `json:"archive"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Summary is what a package says of itself, and what becomes of its skills.
type Summary struct {
	ID          string         `json:"id"`
	Version     string         `json:"version"`
	Name        string         `json:"name"`
	DisplayName string         `json:"displayName,omitempty"`
	Description string         `json:"description"`
	Bundled     []string       `json:"bundled"`    // names of skills that the package brings
	Required    []string       `json:"required"`   // skills it refers to and does not bring
	BuiltIn     []string       `json:"builtIn"`    // skills it uses that are built in here
	Connectors  []string       `json:"connectors"` // connectors it refers to
	Skills      []SkillSummary `json:"skills"`
}

// SkillSummary is one bundled skill.
type SkillSummary struct {
	ID          string        `json:"id"`
	Version     string        `json:"version"`
	ContentHash string        `json:"contentHash"`
	Disposition Disposition   `json:"disposition"`
	Files       int           `json:"files"`
	Reason      string        `json:"reason"`
	Conflict    *ConflictInfo `json:"conflict,omitempty"`
}

// Overwrite is what is known of the specialist that has the package's id.
type Overwrite struct {
	ID                  string `json:"id"`
	CurrentVersion      string `json:"currentVersion"`
	IncomingVersion     string `json:"incomingVersion"`
	Revision            int    `json:"revision"`
	ModifiedSinceImport bool   `json:"modifiedSinceImport"`
	HasImportBaseline   bool   `json:"hasImportBaseline"`
}

// Metrics are the figures of the archive.
type Metrics struct {
	SHA256       string `json:"sha256,omitempty"`
	Compressed   int64  `json:"compressedBytes"`
	Uncompressed int64  `json:"uncompressedBytes"`
	Files        int    `json:"files"`
}

// Preview looks at a package, a zip or a folder. It installs nothing and runs
// nothing; what it keeps is the candidate. The error is a *pack.Refusal when
// there is no package to look at.
func (s *Shelf) Preview(ctx context.Context, unsafeSource string) (*Preview, error) {
	data, p, err := s.readSource(ctx, unsafeSource)
	if err != nil {
		return nil, err
	}
	c, err := s.catalog(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := s.plan(ctx, p, c)
	if err != nil {
		return nil, err
	}
	out := &Preview{Report: Report{Installable: !plan.blocked() && len(plan.open()) == 0, Summary: summaryOf(plan)}}
	out.Report.Archive = Metrics{Compressed: int64(len(data)), Uncompressed: p.bytes, Files: p.files}
	if len(data) > 0 && len(data) <= MaxPackageBytes {
		out.Report.Archive.SHA256 = hashBytes(data)
	}
	if o := plan.previous; o != nil {
		out.Report.Overwrite = &Overwrite{o.ID, o.Version, p.manifest.Version, o.Revision, plan.edited, o.Baseline != nil}
	}
	if err := s.keep(ctx, out, plan, data); err != nil {
		var r *pack.Refusal
		if !errors.As(err, &r) || r.Code != CodeRecoveryFailed {
			return nil, err
		}
		// Reading works, so the report is given; there is nothing to install with.
		out.Report.Installable = false
		p.f.addf(LevelError, "package.changes-blocked", "", "", "an earlier change could not be undone, so nothing can be installed")
	}
	out.Report.Diagnostics = p.f.all()
	return out, nil
}

func summaryOf(p *plan) *Summary {
	m, d := p.parsed.manifest, p.parsed.profile
	out := &Summary{ID: masked(m.ID), Version: masked(m.Version), Name: plain(d.Name), DisplayName: plain(d.DisplayName), Description: plain(d.Description)}
	out.Bundled, out.Required, out.BuiltIn, out.Connectors, out.Skills = []string{}, []string{}, []string{}, []string{}, []SkillSummary{}
	bundled := map[string]bool{}
	for i := range p.skills {
		k := &p.skills[i]
		bundled[k.name] = true
		out.Bundled = append(out.Bundled, masked(k.name))
		if k.disposition == ReuseBuiltIn {
			out.BuiltIn = append(out.BuiltIn, masked(k.name))
		}
		out.Skills = append(out.Skills, SkillSummary{masked(k.name), masked(k.version), k.hash, k.disposition, len(k.skill.Files()), k.reason, k.conflict})
	}
	for _, name := range d.SkillIDs {
		if !bundled[name] {
			out.Required = append(out.Required, quiet(name))
		}
	}
	for _, name := range d.ConnectorIDs {
		out.Connectors = append(out.Connectors, quiet(name))
	}
	if p.parsed.tree == nil {
		return nil
	}
	return out
}

// readSource gives the bytes of a package and what they hold. A folder becomes
// an archive, so that what is installed is what was previewed.
func (s *Shelf) readSource(ctx context.Context, unsafeSource string) ([]byte, *parsed, error) {
	// O_NONBLOCK: a FIFO in place of the package must not hang the command.
	f, err := os.OpenFile(unsafeSource, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, refuseErr(CodeSource, err, "open the package")
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, refuseErr(CodeSource, err, "open the package")
	case info.IsDir():
		return s.readFolder(ctx, unsafeSource)
	case !info.Mode().IsRegular():
		return nil, nil, refuse(CodeSource, "give a .zip file or a folder", "the package is neither a file nor a folder")
	}
	if info.Size() > MaxPackageBytes {
		return nil, tooLarge(info.Size()), nil
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxPackageBytes+1))
	if err != nil {
		return nil, nil, refuseErr(CodeSource, err, "read the package")
	}
	if len(data) > MaxPackageBytes {
		return nil, tooLarge(int64(len(data))), nil
	}
	p, err := parseBytes(ctx, data, s.Progress)
	return data, p, err
}

func tooLarge(size int64) *parsed {
	p := &parsed{f: &findings{}}
	p.f.add(Diagnostic{Level: LevelError, Code: "package.archive-compressed-size-exceeded", Message: "the archive is too large", Actual: size, Limit: MaxPackageBytes, Unit: "bytes"})
	return p
}

func (s *Shelf) readFolder(ctx context.Context, name string) ([]byte, *parsed, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, nil, refuseErr(CodeSource, err, "open the package")
	}
	defer root.Close()
	limits := readLimits()
	tree, err := archive.OpenFolder(root, limits, nil)
	if err != nil {
		p := &parsed{f: &findings{}}
		p.f.add(fromError(err, ""))
		return nil, p, nil
	}
	p, err := parseTree(ctx, tree, s.Progress)
	if err != nil || p.f.errors > 0 {
		return nil, p, err
	}
	files := []archive.File{}
	for i, e := range tree.Entries() {
		if !e.Folder {
			files = append(files, archive.File{Name: e.Name, Executable: e.Executable, Size: e.Size, Open: func() (io.ReadCloser, error) { return tree.Open(i) }})
		}
	}
	var out bytes.Buffer
	if err := archive.Write(&out, files); err != nil {
		return nil, nil, refuseErr(CodeSource, err, "read the package")
	}
	if out.Len() > MaxPackageBytes {
		return nil, tooLarge(int64(out.Len())), nil
	}
	p, err = parseBytes(ctx, out.Bytes(), s.Progress)
	return out.Bytes(), p, err
}

// Lines are the report for a person, safe to print.
func (r *Report) Lines() []string {
	lines := []string{}
	if s := r.Summary; s != nil && s.ID != "" {
		lines = append(lines, fmt.Sprintf("%s %s: %s", s.ID, s.Version, s.Name), "  "+s.Description)
		for _, k := range s.Skills {
			lines = append(lines, fmt.Sprintf("  skill %s %s: %s, %d files (%s)", k.ID, k.Version, k.Disposition, k.Files, k.Reason))
			if c := k.Conflict; c != nil {
				lines = append(lines, fmt.Sprintf("    installed: %s, version %s, used by %d specialists, used on its own: %t", c.LocalID, c.InstalledVersion, len(c.SpecialistIDs), c.MainEnabled))
			}
		}
		for _, name := range s.Required {
			lines = append(lines, "  needs skill "+name)
		}
		for _, name := range s.Connectors {
			lines = append(lines, "  needs connector "+name)
		}
	}
	if o := r.Overwrite; o != nil {
		lines = append(lines, fmt.Sprintf("  replaces %s, version %s, revision %d", o.ID, o.CurrentVersion, o.Revision))
	}
	for _, d := range r.Diagnostics {
		lines = append(lines, "  "+d.String())
	}
	return lines
}
