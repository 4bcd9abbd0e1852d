package specialist

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skill-mcp/internal/connector"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/store"
)

// recordKind is the kind of object that a specialist is in the store.
const recordKind = "specialist"

// Record is a specialist as the store keeps it.
type Record struct {
	ID             string    `json:"id"`
	Version        string    `json:"version"` // of the package it came from
	Name           string    `json:"name"`
	DisplayName    string    `json:"displayName,omitempty"`
	Description    string    `json:"description"`
	SystemPrompt   string    `json:"systemPrompt"`
	Enabled        bool      `json:"enabled"`        // false until its setup is saved
	CapabilityMode string    `json:"capabilityMode"` // "selected"
	SkillIDs       []string  `json:"skillIds"`       // local ids it may use
	ConnectorIDs   []string  `json:"connectorIds"`   // local ids it may use
	OwnedSkillIDs  []string  `json:"ownedSkillIds"`  // local ids of skills that came with it
	Revision       int       `json:"revision"`       // 1, then one more with each change
	Baseline       *Baseline `json:"importBaseline,omitempty"`
}

// Baseline says what an import left, so that later edits show.
type Baseline struct {
	ImportedAt    time.Time `json:"importedAt"`
	Version       string    `json:"version"`
	ArchiveSHA256 string    `json:"archiveSha256"`
	ContentSHA256 string    `json:"contentSha256"` // of the package's content
	StateSHA256   string    `json:"stateSha256"`   // of record and owned skills after the import
}

// Shelf is the specialists of one store and what they are compared with.
type Shelf struct {
	Store *store.Store
	Into  string // absolute folder of skills
	Owner string // who asks; candidates and previews are bound to it
	App   string // version of this program; one that is no Semantic Version counts as 0.0.0-devel

	BuiltInIDs    []string // ids of specialists that nobody may take
	BuiltInNames  []string // names of specialists that nobody may take
	BuiltInSkills []string // skills that come with the product, beside those in Into that were not imported
	Connectors    []string // names of connectors that nobody may take

	Now      func() time.Time // the clock; time.Now when nil
	Progress func(pack.Step)  // called often; nil for none
}

func (s *Shelf) now() time.Time {
	if s.Now != nil {
		return s.Now().UTC()
	}
	return time.Now().UTC()
}

func (s *Shelf) app() string {
	if validVersion(s.App) {
		return s.App
	}
	return "0.0.0-devel"
}

func (s *Shelf) connectors() connector.Shelf {
	return connector.Shelf{Store: s.Store, BuiltIn: s.Connectors}
}

// lockWait is how long another process may hold the store.
const lockWait = 30 * time.Second

// lock takes the store's lock. A change that cannot be undone blocks every
// further one.
func (s *Shelf) lock(ctx context.Context) (*store.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	l, err := s.Store.Lock(ctx)
	var blocked *store.BlockedError
	if errors.As(err, &blocked) {
		return nil, &pack.Refusal{Code: CodeRecoveryFailed, Message: err.Error(), Hint: "put right or remove that journal by hand", Err: err}
	}
	return l, err
}

// List gives the ids of all specialists, sorted. It needs no lock.
func (s *Shelf) List() ([]string, error) { return s.Store.List(recordKind) }

// Get gives one specialist. It needs no lock.
func (s *Shelf) Get(unsafeID string) (*Record, error) {
	if !idRule().MatchString(unsafeID) {
		return nil, refuse(CodeUnknownSpecialist, "skill-mcp specialist list", "%s is not the id of a specialist", shown(unsafeID))
	}
	return get(s.Store, unsafeID)
}

func get(s *store.Store, id string) (*Record, error) {
	var r Record
	err := s.Get(recordKind, id, &r)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(CodeUnknownSpecialist, "skill-mcp specialist list", "there is no specialist %s", shown(id))
	}
	if err != nil {
		return nil, refuseErr(CodeRecordUnreadable, err, "read the specialist %s", shown(id))
	}
	if r.ID != id || r.Revision < 1 {
		return nil, refuse(CodeRecordUnreadable, "", "the record of the specialist %s is not one that this program wrote", shown(id))
	}
	return &r, nil
}

// records gives every specialist.
func records(s *store.Store) ([]*Record, error) {
	ids, err := s.List(recordKind)
	if err != nil {
		return nil, fmt.Errorf("list the specialists: %w", err)
	}
	all := []*Record{}
	for _, id := range ids {
		r, err := get(s, id)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// uses says whether a specialist refers to a skill or brought it.
func (r *Record) uses(skillID string) bool {
	return slices.Contains(r.SkillIDs, skillID) || slices.Contains(r.OwnedSkillIDs, skillID)
}

// Users gives the specialists that refer to a skill or own it. What it gives
// protects skills from being uninstalled.
func Users(s *store.Store) pack.Users {
	return func(skillID string) ([]string, error) {
		all, err := records(s)
		if err != nil {
			return nil, err
		}
		users := []string{}
		for _, r := range all {
			if r.uses(skillID) {
				users = append(users, r.ID)
			}
		}
		return users, nil
	}
}

// state is the digest of what a specialist is now: its record without revision,
// switch and baseline, and the content of the skills it owns.
func (r *Record) state(hashOf func(skillID string) string) string {
	owned := []string{}
	for _, id := range r.OwnedSkillIDs {
		owned = append(owned, id+" "+hashOf(id))
	}
	slices.Sort(owned)
	return digest(r.ID, r.Version, r.Name, r.DisplayName, r.Description, r.SystemPrompt, r.CapabilityMode, r.SkillIDs, r.ConnectorIDs, owned)
}

// content is the digest of what a package brings, its version left out.
func (p *parsed) content() string {
	skills := []string{}
	for _, b := range p.skills {
		skills = append(skills, b.name+" "+b.hash)
	}
	slices.Sort(skills)
	d := p.profile
	return digest(d.Name, d.DisplayName, d.Description, d.SystemPrompt, d.SkillIDs, d.ConnectorIDs, skills)
}

func digest(parts ...any) string {
	// Strings and lists of strings always encode.
	data, _ := json.Marshal(parts)
	return hashBytes(data)
}

func hashBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hashText(s string) string { return hashBytes([]byte(s)) }

// ownerID makes an object id of an owner.
func ownerID(owner string) string { return hashText(owner)[:32] }

func listed(ids []string) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = shown(id)
	}
	return strings.Join(out, ", ")
}
