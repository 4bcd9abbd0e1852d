package specialist

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/connector"
)

// Disposition is what becomes of one bundled skill.
type Disposition string

// The dispositions. A conflict has to be resolved into one of the last two.
const (
	Install         Disposition = "install"
	ReuseBuiltIn    Disposition = "reuse-builtin"
	ReuseStandalone Disposition = "reuse-standalone"
	ReuseOwned      Disposition = "reuse-owned"
	Conflict        Disposition = "conflict"
	ReuseExisting   Disposition = "reuse-existing"
	ReplaceExisting Disposition = "replace-existing"
)

// ConflictInfo is what is known of the installed skill that is in the way.
type ConflictInfo struct {
	LocalID          string   `json:"localId"`
	InstalledVersion string   `json:"installedVersion"`
	InstalledHash    string   `json:"installedHash"`
	MainEnabled      bool     `json:"mainEnabled"`   // it is there in its own right, not only for specialists
	SpecialistIDs    []string `json:"specialistIds"` // that use it
}

// planned is one bundled skill with what becomes of it.
type planned struct {
	bundled
	disposition Disposition
	localID     string // folder below Into after the install
	reason      string
	conflict    *ConflictInfo
	existing    *local
}

// plan is what an install would do, against one state of the catalog.
type plan struct {
	parsed     *parsed
	skills     []planned
	skillIDs   []string // local ids, resolved
	connectors []string // local ids, resolved
	previous   *Record  // the specialist that would be overwritten
	edited     bool     // previous is no longer what its import left
}

// blocked says whether the package can never be installed as it is.
func (p *plan) blocked() bool { return p.parsed.f.errors > 0 }

// open gives the conflicts that nobody has resolved.
func (p *plan) open() []string {
	ids := []string{}
	for i := range p.skills {
		if p.skills[i].disposition == Conflict {
			ids = append(ids, p.skills[i].name)
		}
	}
	return ids
}

// impact is the digest of every conflict and whom it touches.
func (p *plan) impact() string {
	parts := []any{}
	for i := range p.skills {
		if c := p.skills[i].conflict; c != nil {
			parts = append(parts, p.skills[i].name, c)
		}
	}
	return digest(parts...)
}

// plan compares a package with what is installed. Findings go to the package's
// own.
func (s *Shelf) plan(ctx context.Context, p *parsed, c *catalog) (*plan, error) {
	out := &plan{parsed: p}
	s.checkIdentity(p, c)
	for _, b := range p.skills {
		one, err := disposeOf(ctx, b, c, p.f)
		if err != nil {
			return nil, err
		}
		out.skills = append(out.skills, one)
	}
	if err := out.resolveSkills(ctx, c); err != nil {
		return nil, err
	}
	if err := out.resolveConnectors(s.connectors()); err != nil {
		return nil, err
	}
	for _, r := range c.records {
		if r.ID == p.manifest.ID {
			out.previous = r
		}
	}
	out.warnOverwrite(ctx, c)
	return out, nil
}

// checkIdentity holds id and name against those that are taken.
func (s *Shelf) checkIdentity(p *parsed, c *catalog) {
	d := &document{quiet(join(p.layout.root, profileName)), p.f}
	if slices.Contains(s.BuiltInIDs, p.manifest.ID) {
		d.f.addf(LevelError, "specialist.id-protected", quiet(join(p.layout.root, manifestName)), "id", "this id belongs to a built-in specialist")
	}
	if p.profile.Name == "" {
		return
	}
	key := archive.Key(p.profile.Name)
	for _, name := range s.BuiltInNames {
		if archive.Key(name) == key {
			d.errorf("specialist.name-protected", "name", "this name belongs to a built-in specialist")
		}
	}
	for _, r := range c.records {
		if r.ID != p.manifest.ID && archive.Key(r.Name) == key {
			d.errorf("specialist.name-duplicate", "name", "the specialist %s has this name", shown(r.ID))
		}
	}
}

// disposeOf decides what becomes of one bundled skill.
func disposeOf(ctx context.Context, b bundled, c *catalog, f *findings) (planned, error) {
	out := planned{bundled: b, localID: b.name, disposition: Install, reason: "no skill of this name is installed"}
	l, err := c.find(ctx, b.name)
	if err != nil || l == nil {
		return out, err
	}
	out.existing, out.localID = l, l.id
	place := quiet(join(skillsFolder, b.name))
	switch {
	case l.builtIn:
		out.disposition, out.reason = ReuseBuiltIn, "a skill of this name is built in or was made by hand; the package's copy is ignored"
	case l.problem != "":
		f.addf(LevelError, "skill.existing-conflict", place, "", "what is installed under this name cannot be read: put it right or remove it")
	case l.version == b.version && l.hash == b.hash && len(l.owners) > 0:
		out.disposition, out.reason = ReuseOwned, "the same skill is installed and came with a specialist"
	case l.version == b.version && l.hash == b.hash:
		out.disposition, out.reason = ReuseStandalone, "the same skill is installed"
	default:
		out.disposition, out.reason = Conflict, "another version or other content is installed"
		users := slices.Clone(l.users)
		for _, o := range l.owners {
			if !slices.Contains(users, o) {
				users = append(users, o)
			}
		}
		slices.Sort(users)
		out.conflict = &ConflictInfo{LocalID: l.id, InstalledVersion: l.version, InstalledHash: l.hash, MainEnabled: l.standalone, SpecialistIDs: users}
		f.addf(LevelWarning, "skill.existing-conflict", place, "", "another skill of this name is installed: choose use-installed or use-incoming")
	}
	return out, nil
}

// resolveSkills turns names into local ids. Bundled skills join even when the
// profile does not name them; what is not there is dropped with a warning.
func (p *plan) resolveSkills(ctx context.Context, c *catalog) error {
	p.skillIDs = []string{}
	add := func(id string) {
		if !slices.Contains(p.skillIDs, id) {
			p.skillIDs = append(p.skillIDs, id)
		}
	}
	place := quiet(join(p.parsed.layout.root, profileName))
	for n, name := range p.parsed.profile.SkillIDs {
		if i := slices.IndexFunc(p.skills, func(s planned) bool { return s.name == name }); i >= 0 {
			add(p.skills[i].localID)
			continue
		}
		l, err := c.find(ctx, name)
		if err != nil {
			return err
		}
		if l == nil || l.problem != "" {
			p.parsed.f.addf(LevelWarning, "specialist.skill-unavailable", place, fmt.Sprintf("skill_ids[%d]", n), "the skill %s is not installed; the reference is dropped", shown(name))
			continue
		}
		add(l.id)
	}
	for i := range p.skills {
		add(p.skills[i].localID)
	}
	return nil
}

// resolveConnectors turns portable names into local ids.
func (p *plan) resolveConnectors(shelf connector.Shelf) error {
	p.connectors = []string{}
	if len(p.parsed.profile.ConnectorIDs) == 0 {
		return nil
	}
	ids, err := connectorIDs(shelf)
	if err != nil {
		return err
	}
	place := quiet(join(p.parsed.layout.root, profileName))
	for n, name := range p.parsed.profile.ConnectorIDs {
		id, ok := ids[name]
		if !ok {
			for _, known := range ids {
				if known == name {
					id, ok = known, true // a local id
				}
			}
		}
		if !ok {
			p.parsed.f.addf(LevelWarning, "specialist.connector-unavailable", place, fmt.Sprintf("connector_ids[%d]", n), "the connector %s is not in the store; the reference is dropped", shown(name))
			continue
		}
		if !slices.Contains(p.connectors, id) {
			p.connectors = append(p.connectors, id)
		}
	}
	return nil
}

// connectorIDs gives the local id of each connector by its name. Built-in ones
// are known by name only.
func connectorIDs(shelf connector.Shelf) (map[string]string, error) {
	names, err := shelf.List()
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, name := range names {
		_, stored, err := shelf.Get(name)
		var notReady *connector.NotReadyError
		if errors.As(err, &notReady) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ids[name] = stored.ID
	}
	for _, name := range shelf.BuiltIn {
		ids[name] = name
	}
	return ids, nil
}

// warnOverwrite says what an overwrite would lose or hide.
func (p *plan) warnOverwrite(ctx context.Context, c *catalog) {
	if p.previous == nil || p.parsed.manifest.Version == "" {
		return
	}
	warn := func(code, message string) { p.parsed.f.addf(LevelWarning, code, "", "", "%s", message) }
	old, base := p.previous, p.previous.Baseline
	order := 1
	if validVersion(old.Version) {
		order = compareVersions(p.parsed.manifest.Version, old.Version)
	}
	switch {
	case order < 0:
		warn("specialist.downgrade", "an older version would replace a newer one")
	case order == 0:
		warn("specialist.same-version", "this version is installed already")
	}
	if base != nil && order == 0 && base.ContentSHA256 != p.parsed.content() {
		warn("specialist.changed-without-version", "the content is another one than was imported under this version")
	}
	p.edited = base != nil && old.state(c.hashOf(ctx)) != base.StateSHA256
	if p.edited {
		warn("specialist.local-edits", "changes made since the import will be lost")
	}
}
