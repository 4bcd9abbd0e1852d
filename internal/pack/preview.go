package pack

import (
	"context"
	"fmt"
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
	if err := im.identify(ctx, src); err != nil {
		return nil, err
	}
	out.ArchiveSHA256 = src.sha256
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
	out := &Preview{Source: src.info, Into: im.Into, Candidates: []Candidate{}, Skipped: []Skipped{}}
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
