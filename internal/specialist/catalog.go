package specialist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/strictjson"
)

// The two files that this program keeps at the root of a skill.
const (
	sourceFile = ".source.json"
	ownerFile  = ".specialist-package.json"
)

// ownership is what .specialist-package.json says of an installed skill.
type ownership struct {
	ID          string   `json:"id"`
	Version     string   `json:"version"`
	ContentHash string   `json:"contentHash"`
	Standalone  bool     `json:"standalone"` // it is there in its own right too
	OwnerIDs    []string `json:"ownerIds"`   // specialists that brought it
}

// local is one skill that is installed or built in.
type local struct {
	id         string // folder below Into; the name of a built-in one without a folder
	name       string
	version    string
	hash       string
	builtIn    bool
	standalone bool
	owners     []string
	users      []string // specialists that refer to it or own it, sorted
	problem    string   // why it cannot be used
}

// catalog is what is installed at one moment.
type catalog struct {
	into    string
	skills  []pack.Installed
	builtIn []string
	records []*Record
	looked  map[string]*local
}

func (s *Shelf) catalog(ctx context.Context) (*catalog, error) {
	skills, err := pack.List(ctx, s.Into)
	if err != nil {
		return nil, err
	}
	all, err := records(s.Store)
	if err != nil {
		return nil, err
	}
	return &catalog{into: s.Into, skills: skills, builtIn: s.BuiltInSkills, records: all, looked: map[string]*local{}}, nil
}

// find gives the skill that goes by a name, or nil. Names of built-in skills
// come first, then folders, then what a document declares.
func (c *catalog) find(ctx context.Context, name string) (*local, error) {
	for _, match := range []func(*pack.Installed) bool{
		func(s *pack.Installed) bool { return s.ID == name },
		func(s *pack.Installed) bool { return archive.Key(s.ID) == archive.Key(name) },
		func(s *pack.Installed) bool { return s.Name == name },
	} {
		if i := slices.IndexFunc(c.skills, func(s pack.Installed) bool { return match(&s) }); i >= 0 {
			return c.look(ctx, &c.skills[i])
		}
	}
	if slices.Contains(c.builtIn, name) {
		return &local{id: name, name: name, version: defaultVersion, builtIn: true, users: c.users(name)}, nil
	}
	return nil, nil
}

// byID gives the skill in a folder, or nil.
func (c *catalog) byID(ctx context.Context, id string) (*local, error) {
	if i := slices.IndexFunc(c.skills, func(s pack.Installed) bool { return s.ID == id }); i >= 0 {
		return c.look(ctx, &c.skills[i])
	}
	if slices.Contains(c.builtIn, id) {
		return &local{id: id, name: id, version: defaultVersion, builtIn: true, users: c.users(id)}, nil
	}
	return nil, nil
}

func (c *catalog) users(id string) []string {
	users := []string{}
	for _, r := range c.records {
		if r.uses(id) {
			users = append(users, r.ID)
		}
	}
	return users
}

// look reads one installed skill: version, content and who owns it.
func (c *catalog) look(ctx context.Context, s *pack.Installed) (*local, error) {
	if l := c.looked[s.ID]; l != nil {
		return l, nil
	}
	l := &local{id: s.ID, name: s.Name, version: defaultVersion, users: c.users(s.ID), problem: s.Problem}
	l.builtIn = !s.Imported() && s.Problem == "" || slices.Contains(c.builtIn, s.ID)
	if l.name == "" {
		l.name = s.ID
	}
	if s.Imported() || l.builtIn {
		err := c.readLocal(ctx, l)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.problem = ""
		if err != nil && !l.builtIn {
			l.problem = err.Error()
		}
	}
	c.looked[s.ID] = l
	return l, nil
}

func (c *catalog) readLocal(ctx context.Context, l *local) error {
	root, err := openFolder(c.into, l.id)
	if err != nil {
		return err
	}
	defer root.Close()
	own, err := readOwnership(root)
	if err != nil {
		return err
	}
	l.standalone = own == nil || own.Standalone
	if own != nil {
		l.owners = own.OwnerIDs
	}
	skill, err := openLocal(root)
	if err != nil {
		return err
	}
	text, err := skill.Document(MaxFileBytes)
	if err != nil {
		return err
	}
	if v, ok := versionOf(pack.ParseDocument(text)); ok {
		l.version = v
	}
	l.hash, err = hashSkill(ctx, skill, text)
	return err
}

// hashOf gives the content hash of an installed skill, "" when it is gone.
func (c *catalog) hashOf(ctx context.Context) func(string) string {
	return func(id string) string {
		l, err := c.byID(ctx, id)
		if err != nil || l == nil {
			return ""
		}
		return l.hash
	}
}

// openFolder opens one folder below the folder of skills, never a link.
func openFolder(into, id string) (*os.Root, error) {
	root, err := os.OpenRoot(into)
	if err != nil {
		return nil, fmt.Errorf("open the folder of skills: %w", err)
	}
	defer root.Close()
	if info, err := root.Lstat(id); err != nil || !info.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a folder", shown(id)))
	}
	return root.OpenRoot(id)
}

// localLimits let everything through that an install may have written, by an
// import as by a specialist package.
func localLimits() archive.Limits {
	return archive.Limits{Entries: maxEntries, Files: maxEntries, EntryBytes: pack.MaxFileBytes, TotalBytes: MaxContentBytes, Segments: MaxSegments}
}

// openLocal makes a skill of an installed folder. The caller keeps root open.
func openLocal(root *os.Root) (*pack.Skill, error) {
	tree, err := archive.OpenFolder(root, localLimits(), nil)
	if err != nil {
		return nil, err
	}
	skill, faults := pack.OpenSkill(withoutOwnFiles(tree), "")
	for _, d := range faults {
		if d.Code != pack.CodeSkillSize {
			return nil, fmt.Errorf("it %s", d.Message)
		}
	}
	return skill, nil
}

// maxOwnership bounds .specialist-package.json, in bytes: thousands of owners.
const maxOwnership = 1 << 20

// readOwnership gives nil when no specialist ever had to do with the skill.
func readOwnership(root *os.Root) (*ownership, error) {
	info, err := root.Lstat(ownerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a file", ownerFile))
	}
	f, err := root.Open(ownerFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOwnership))
	if err != nil {
		return nil, err
	}
	var o ownership
	if err := strictjson.Decode(data, &o); err != nil {
		return nil, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	return &o, nil
}

// writeJSON writes one of the program's own files into a staged skill.
func writeJSON(root *os.Root, name string, value any) error {
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
