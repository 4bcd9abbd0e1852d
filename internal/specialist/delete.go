package specialist

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

// Association says what else a skill of a specialist is needed for.
type Association string

// The associations. Only an exclusive skill can go with its specialist.
const (
	Exclusive   Association = "exclusive"
	MainEnabled Association = "main-enabled" // it is there in its own right too
	SharedOwner Association = "shared-owner" // another specialist brought it too
	Referenced  Association = "referenced"   // another specialist refers to it
)

// DeletePreview says what deleting a specialist could take along.
type DeletePreview struct {
	ID               string        `json:"id"`
	ExpectedRevision int           `json:"expectedRevision"`
	Skills           []DeleteSkill `json:"skills"` // built-in skills are not listed
}

// DeleteSkill is one skill that a specialist refers to or owns.
type DeleteSkill struct {
	ID        string         `json:"id"`
	Kind      Association    `json:"kind"`
	Deletable bool           `json:"deletable"`
	Reasons   []DeleteReason `json:"reasons"` // why it is not deletable
}

// DeleteReason is one thing that keeps a skill.
type DeleteReason struct {
	Kind          Association `json:"kind"`
	SpecialistIDs []string    `json:"specialistIds"`
}

// DeleteRequest asks for a delete. DeleteSkillIDs are local ids of skills that
// go along; all others stay and stand on their own from then on.
type DeleteRequest struct {
	ID               string
	ExpectedRevision int
	DeleteSkillIDs   []string
}

// Deleted is the answer to a delete.
type Deleted struct {
	ID            string   `json:"id"`
	DeletedSkills []string `json:"deletedSkills"`
	KeptSkills    []string `json:"keptSkills"`
}

// What was shown as deletable is kept as an object of this kind, one for each
// owner.
const deleteKind = "specialist-delete"

type deleteShown struct {
	Owner     string   `json:"owner"`
	ID        string   `json:"id"`
	Deletable []string `json:"deletable"`
}

// PreviewDelete says which skills could go with a specialist.
func (s *Shelf) PreviewDelete(ctx context.Context, unsafeID string) (*DeletePreview, error) {
	p, _, err := s.deletable(ctx, unsafeID)
	if err != nil {
		return nil, err
	}
	shown := deleteShown{Owner: s.Owner, ID: p.ID, Deletable: []string{}}
	for _, k := range p.Skills {
		if k.Deletable {
			shown.Deletable = append(shown.Deletable, k.ID)
		}
	}
	l, err := s.lock(ctx)
	var refusal *pack.Refusal
	if errors.As(err, &refusal) && refusal.Code == CodeRecoveryFailed {
		return p, nil // reading works; a delete will say why it does not
	}
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	return p, l.Put(deleteKind, ownerID(s.Owner), shown)
}

func (s *Shelf) deletable(ctx context.Context, unsafeID string) (*DeletePreview, *catalog, error) {
	if slices.Contains(s.BuiltInIDs, unsafeID) {
		return nil, nil, refuse(CodeProtectedTarget, "", "the specialist %s is built in", shown(unsafeID))
	}
	r, err := s.Get(unsafeID)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.catalog(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := &DeletePreview{ID: r.ID, ExpectedRevision: r.Revision, Skills: []DeleteSkill{}}
	ids := slices.Concat(r.SkillIDs, r.OwnedSkillIDs)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		l, err := c.byID(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if l != nil && !l.builtIn {
			p.Skills = append(p.Skills, associate(l, r, c))
		}
	}
	return p, c, nil
}

// associate says what else a skill is needed for.
func associate(l *local, r *Record, c *catalog) DeleteSkill {
	out := DeleteSkill{ID: l.id, Kind: Exclusive, Reasons: []DeleteReason{}}
	add := func(kind Association, ids []string) {
		out.Reasons = append(out.Reasons, DeleteReason{kind, ids})
		out.Kind = out.Reasons[0].Kind
	}
	others := func(ids []string) []string {
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == r.ID })
	}
	owners, users := others(l.owners), others(l.users)
	for _, other := range c.records {
		if other.ID != r.ID && slices.Contains(other.OwnedSkillIDs, l.id) && !slices.Contains(owners, other.ID) {
			owners = append(owners, other.ID)
		}
	}
	slices.Sort(owners)
	if len(owners) > 0 {
		add(SharedOwner, owners)
	}
	if referring := slices.DeleteFunc(users, func(id string) bool { return slices.Contains(owners, id) }); len(referring) > 0 {
		add(Referenced, referring)
	}
	if l.standalone || !slices.Contains(l.owners, r.ID) && len(out.Reasons) == 0 {
		add(MainEnabled, []string{})
	}
	out.Deletable = len(out.Reasons) == 0 && l.problem == ""
	return out
}

// Delete deletes a specialist and the chosen skills, all or nothing. Everything
// is checked again under the lock.
func (s *Shelf) Delete(ctx context.Context, r DeleteRequest) (*Deleted, error) {
	l, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	p, c, err := s.deletable(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if p.ExpectedRevision != r.ExpectedRevision {
		return nil, refuse(CodeRevisionConflict, "preview again", "the specialist %s has revision %d, not %d", shown(p.ID), p.ExpectedRevision, r.ExpectedRevision)
	}
	if err := s.admitDelete(l, p, r.DeleteSkillIDs); err != nil {
		return nil, err
	}
	tx, err := l.Begin("delete specialist " + p.ID)
	if err != nil {
		return nil, refuseErr(CodeCommitFailed, err, "delete the specialist")
	}
	out := &Deleted{ID: p.ID, DeletedSkills: []string{}, KeptSkills: []string{}}
	for _, k := range p.Skills {
		if slices.Contains(r.DeleteSkillIDs, k.ID) {
			err = tx.Remove(s.Into, k.ID)
			out.DeletedSkills = append(out.DeletedSkills, k.ID)
		} else {
			err = s.release(ctx, tx, c, k.ID, p.ID)
			out.KeptSkills = append(out.KeptSkills, k.ID)
		}
		if err != nil {
			return nil, commitError(errors.Join(fmt.Errorf("stage the skill %s: %w", k.ID, err), tx.Abort()))
		}
	}
	if err := tx.Delete(recordKind, p.ID); err != nil {
		return nil, commitError(errors.Join(err, tx.Abort()))
	}
	if err := tx.Commit(); err != nil {
		return nil, commitError(err)
	}
	// What was shown is of no use any more; when it stays, it names nothing.
	_ = l.Delete(deleteKind, ownerID(s.Owner))
	return out, nil
}

// admitDelete refuses skills that are needed elsewhere.
func (s *Shelf) admitDelete(l *store.Lock, p *DeletePreview, chosen []string) error {
	var before deleteShown
	if err := l.Get(deleteKind, ownerID(s.Owner), &before); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for n, id := range chosen {
		i := slices.IndexFunc(p.Skills, func(k DeleteSkill) bool { return k.ID == id })
		offered := before.Owner == s.Owner && before.ID == p.ID && slices.Contains(before.Deletable, id)
		switch {
		case slices.Contains(chosen[:n], id):
			return refuse(CodeProtectedSkill, "", "the skill %s is chosen twice", shown(id))
		case i >= 0 && p.Skills[i].Deletable:
		case offered:
			return refuse(CodeStalePreview, "preview again", "the skill %s is needed elsewhere since the preview", shown(id))
		default:
			return refuse(CodeProtectedSkill, "leave it out: it stays and stands on its own", "the skill %s is not one that goes with this specialist", shown(id))
		}
	}
	return nil
}

// release takes a specialist off the owners of a skill that stays. One that
// nobody owns any more stands on its own.
func (s *Shelf) release(ctx context.Context, tx *store.Tx, c *catalog, skillID, specialistID string) error {
	l, err := c.byID(ctx, skillID)
	if err != nil || l == nil || !slices.Contains(l.owners, specialistID) {
		return err
	}
	o := ownership{ID: l.name, Version: l.version, ContentHash: l.hash, Standalone: l.standalone}
	o.OwnerIDs = slices.DeleteFunc(slices.Clone(l.owners), func(id string) bool { return id == specialistID })
	o.Standalone = o.Standalone || len(o.OwnerIDs) == 0
	return restage(ctx, tx, s.Into, skillID, &o)
}
