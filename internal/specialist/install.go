package specialist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

// Installed is the answer to an install.
type Installed struct {
	ID          string           `json:"id"`
	Version     string           `json:"version"`
	Revision    int              `json:"revision"`
	Enabled     bool             `json:"enabled"`
	Skills      []InstalledSkill `json:"skills"` // those the package brings
	Diagnostics []Diagnostic     `json:"diagnostics"`
}

// InstalledSkill is what became of one bundled skill.
type InstalledSkill struct {
	ID          string      `json:"id"` // folder of the skill
	Disposition Disposition `json:"disposition"`
}

// Install installs a candidate: skills and record together, or nothing. The
// error is a *pack.Refusal with the code of the first check that failed. Until
// all of the request has been answered the token stays; from then on it is
// used, whatever happens.
func (s *Shelf) Install(ctx context.Context, r Request) (*Installed, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	l, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	c, chosen, err := s.admit(l, &r)
	if err != nil {
		return nil, err
	}
	data, readErr := s.candidateBytes(c)
	if err := forget(l, ownerID(s.Owner)); err != nil {
		return nil, refuseErr(CodeCommitFailed, err, "install the specialist")
	}
	if readErr != nil {
		return nil, refuseErr(CodeStaleCandidate, readErr, "read the candidate again")
	}
	p, live, err := s.again(ctx, c, data, chosen)
	if err != nil {
		return nil, err
	}
	return s.carryOut(ctx, l, p, live, hashBytes(data))
}

// admit does the checks that leave the token alive.
func (s *Shelf) admit(l *store.Lock, r *Request) (*candidate, map[string]string, error) {
	c, err := s.recall(l, r.Token)
	if err != nil {
		return nil, nil, err
	}
	if !c.HasPlan {
		return nil, nil, refuse(CodeNotInstallable, "put right what the preview reported", "the package has errors")
	}
	chosen, err := r.resolve(c)
	if err != nil {
		return nil, nil, err
	}
	_, err = get(s.Store, c.ID)
	var refusal *pack.Refusal
	exists := err == nil || !errors.As(err, &refusal) || refusal.Code != CodeUnknownSpecialist
	if exists && !r.ConfirmOverwrite {
		return nil, nil, refuse(CodeConfirmationRequired, "confirm the overwrite", "the specialist %s is installed already", shown(c.ID))
	}
	return c, chosen, nil
}

// again validates the bytes against what is installed now. Anything that the
// owner did not see in the preview stops the install.
func (s *Shelf) again(ctx context.Context, c *candidate, data []byte, chosen map[string]string) (*plan, *catalog, error) {
	if slices.Contains(s.BuiltInIDs, c.ID) {
		return nil, nil, refuse(CodeProtectedTarget, "", "the specialist %s is built in", shown(c.ID))
	}
	parsed, err := parseBytes(ctx, data, s.Progress)
	if err != nil {
		return nil, nil, err
	}
	live, err := s.catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.plan(ctx, parsed, live)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case p.impact() != c.Impact:
		return nil, nil, refuse(CodeStaleCandidate, "preview again", "the installed skills changed since the preview")
	case revisionOf(p.previous) != c.Revision, p.previous != nil && recordDigest(p.previous) != c.State:
		return nil, nil, refuse(CodeRevisionConflict, "preview again", "the specialist %s changed since the preview", shown(c.ID))
	case p.blocked():
		return nil, nil, refuse(CodeStaleCandidate, "preview again", "the package can no longer be installed: %s", firstError(parsed.f))
	}
	for i := range p.skills {
		k := &p.skills[i]
		switch {
		case k.disposition == Conflict && chosen[k.name] == UseInstalled:
			k.disposition = ReuseExisting
		case k.disposition == Conflict:
			k.disposition = ReplaceExisting
		}
	}
	return p, live, nil
}

func revisionOf(r *Record) int {
	if r == nil {
		return 0
	}
	return r.Revision
}

func firstError(f *findings) string {
	for _, d := range f.list {
		if d.Level == LevelError {
			return d.Code
		}
	}
	return ""
}

// carryOut stages skills and record and puts them in place as one change.
func (s *Shelf) carryOut(ctx context.Context, l *store.Lock, p *plan, live *catalog, archiveHash string) (*Installed, error) {
	if err := os.MkdirAll(s.Into, 0o755); err != nil {
		return nil, refuseErr(CodeCommitFailed, err, "make the folder of skills")
	}
	r := s.recordOf(p)
	tx, err := l.Begin("install specialist " + r.ID)
	if err != nil {
		return nil, refuseErr(CodeCommitFailed, err, "install the specialist")
	}
	st := &stager{shelf: s, tx: tx, record: r, archive: archiveHash}
	hashes := map[string]string{}
	for i := range p.skills {
		k := &p.skills[i]
		hashes[k.localID] = k.hash
		if err := st.skill(ctx, k); err != nil {
			return nil, commitError(errors.Join(fmt.Errorf("stage the skill %s: %w", k.localID, err), tx.Abort()))
		}
	}
	now := live.hashOf(ctx)
	state := r.state(func(id string) string {
		if h, staged := hashes[id]; staged {
			return h
		}
		return now(id)
	})
	r.Baseline = &Baseline{ImportedAt: s.now(), Version: r.Version, ArchiveSHA256: archiveHash, ContentSHA256: p.parsed.content(), StateSHA256: state}
	if err := tx.Put(recordKind, r.ID, r); err != nil {
		return nil, commitError(errors.Join(err, tx.Abort()))
	}
	if err := tx.Commit(); err != nil {
		return nil, commitError(err)
	}
	out := &Installed{ID: r.ID, Version: r.Version, Revision: r.Revision, Enabled: r.Enabled, Skills: []InstalledSkill{}, Diagnostics: p.parsed.f.all()}
	for i := range p.skills {
		out.Skills = append(out.Skills, InstalledSkill{p.skills[i].localID, p.skills[i].disposition})
	}
	return out, nil
}

// commitError says whether a change that failed was undone.
func commitError(err error) error {
	var c *store.CommitError
	if errors.As(err, &c) && c.Rollback != nil {
		return refuseErr(CodeRollbackFailed, err, "the change failed and was not undone; the next command tries again")
	}
	return refuseErr(CodeCommitFailed, err, "nothing was changed")
}

// recordOf is the record of a plan. A new specialist is off until its setup is
// saved; an overwrite leaves the switch as it is.
func (s *Shelf) recordOf(p *plan) *Record {
	m, d := p.parsed.manifest, p.parsed.profile
	r := &Record{
		ID: m.ID, Version: m.Version, Name: d.Name, DisplayName: d.DisplayName, Description: d.Description, SystemPrompt: d.SystemPrompt,
		CapabilityMode: "selected", SkillIDs: p.skillIDs, ConnectorIDs: p.connectors, OwnedSkillIDs: []string{}, Revision: revisionOf(p.previous) + 1,
	}
	own := func(id string) {
		if !slices.Contains(r.OwnedSkillIDs, id) {
			r.OwnedSkillIDs = append(r.OwnedSkillIDs, id)
		}
	}
	for i := range p.skills {
		switch p.skills[i].disposition {
		case Install, ReuseOwned, ReplaceExisting:
			own(p.skills[i].localID)
		}
	}
	if p.previous != nil {
		r.Enabled = p.previous.Enabled
		for _, id := range p.previous.OwnedSkillIDs {
			own(id)
		}
	}
	slices.Sort(r.OwnedSkillIDs)
	return r
}
