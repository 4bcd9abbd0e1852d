package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/strictjson"
)

// Provenance is what .source.json says of an imported skill: where it came from
// and what was installed. The app writes it; one that a bundle brings is
// refused.
type Provenance struct {
	Version       int          `json:"version"` // 1
	URL           string       `json:"url"`     // address, or name of the file or folder
	Path          string       `json:"path"`    // the skill's place in the source
	Signature     string       `json:"signature"`
	ArchiveSHA256 string       `json:"archiveSha256,omitempty"`
	Ref           string       `json:"ref,omitempty"`
	Commit        string       `json:"commit,omitempty"`
	ImportedAt    time.Time    `json:"importedAt"`
	Importer      string       `json:"importer"`
	Files         []FileRecord `json:"files"` // in byte order of the path
}

// FileRecord is one installed file; SHA256 is lower-case hex of its bytes.
type FileRecord struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
}

// maxProvenance bounds what is read of a .source.json: 16,384 files with names
// of ordinary length take about 3 MiB.
const maxProvenance = 32 << 20

// Installed is one skill in a folder of skills.
type Installed struct {
	ID         string // the folder's name
	Name       string // declared in SKILL.md
	Hash       string // content hash of what is there now; imported skills only
	Provenance *Provenance
	Problem    string // why it could not be read
}

// Imported says whether this program brought the skill in.
func (s *Installed) Imported() bool { return s.Provenance != nil }

// sameName says whether an imported skill goes by this name.
func (s *Installed) sameName(name string) bool {
	return s.Imported() && (s.Name == name || s.ID == name)
}

// Edited says whether the files are no longer those that were installed.
func (s *Installed) Edited() bool { return s.Provenance != nil && s.Hash != s.Provenance.Signature }

// listInstalled gives the skills directly below a folder, sorted by id. A
// folder that does not exist holds none.
func listInstalled(ctx context.Context, into string) ([]Installed, error) {
	root, err := os.OpenRoot(into)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder of skills: %w", err)
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open the folder of skills: %w", err)
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return nil, fmt.Errorf("list the folder of skills: %w", err)
	}
	slices.Sort(names)
	skills := []Installed{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, ".") {
			skills = append(skills, lookInstalled(ctx, root, name)...)
		}
	}
	return skills, nil
}

// lookInstalled gives what has a name: a skill, something else that stands in
// the way of one (a file, a link), or nothing.
func lookInstalled(ctx context.Context, into *os.Root, id string) []Installed {
	info, err := into.Lstat(id)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return []Installed{readInstalled(ctx, into, id)}
	}
	return []Installed{{ID: id, Problem: "it is not a folder"}}
}

func readInstalled(ctx context.Context, into *os.Root, id string) Installed {
	s := Installed{ID: id}
	root, err := into.OpenRoot(id)
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	defer root.Close()
	if data, err := readStart(root, documentName, 256<<10); err == nil {
		s.Name = ParseDocument(data).Name
	}
	p, err := readProvenance(root)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	s.Provenance = p
	now, err := scanFolder(ctx, root)
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	s.Hash = now.hash
	return s
}

// readStart reads the first n bytes of a regular file below root.
func readStart(root *os.Root, name string, n int64) ([]byte, error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

func readProvenance(root *os.Root) (*Provenance, error) {
	info, err := root.Lstat(sourceFile)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxProvenance {
		return nil, fmt.Errorf("read %s: not a regular file of at most %d bytes", sourceFile, int64(maxProvenance))
	}
	data, err := readStart(root, sourceFile, maxProvenance)
	if err != nil {
		return nil, err
	}
	var p Provenance
	if err := strictjson.Decode(data, &p); err != nil {
		return nil, fmt.Errorf("read %s: %w", sourceFile, err)
	}
	if p.Version != 1 || p.Signature == "" {
		return nil, fmt.Errorf("read %s: not a record of this version", sourceFile)
	}
	return &p, nil
}

// scanned is a skill folder as it is on disk.
type scanned struct {
	hash  string
	files []FileRecord
}

// scanFolder reads an installed skill. What cannot be part of a skill (links,
// names that no bundle may hold) makes it unreadable.
func scanFolder(ctx context.Context, root *os.Root) (*scanned, error) {
	s, err := openFolderSkill(root)
	if err != nil {
		return nil, err
	}
	out := &scanned{}
	total := newContentHash()
	one := sha256.New()
	err = s.each(ctx, func(i int) (io.Writer, error) {
		one.Reset()
		return io.MultiWriter(total.file(s.files[i].Path), one), nil
	}, func(i int) error {
		total.end()
		f := s.files[i]
		out.files = append(out.files, FileRecord{f.Path, f.Size, hex.EncodeToString(one.Sum(nil)), f.Executable})
		return nil
	})
	out.hash = total.sum()
	return out, err
}

// openFolderSkill makes a skill of a folder on disk, without the app's own
// files and without noise.
func openFolderSkill(root *os.Root) (*skill, error) {
	limits := outerLimits()
	limits.EntryBytes = MaxFileBytes
	folder, err := archive.OpenFolder(root, limits, noise)
	if err != nil {
		return nil, refuseArchive(err)
	}
	l := layout{owned: map[string][]int{}, noise: map[string][]int{}}
	entries := folder.Entries()
	for i := range entries {
		switch name := entries[i].Name; {
		case appOwned(name):
		case noise(name):
			l.noise[""] = append(l.noise[""], i)
		default:
			l.owned[""] = append(l.owned[""], i)
		}
	}
	s := gather(folder, &l, "")
	if len(s.faults) > 0 {
		d := s.faults[0]
		return nil, &Refusal{Code: d.Code, Message: strings.TrimSpace(d.Message + " " + d.Path)}
	}
	return s, nil
}

// revisionOf names the state of a folder of skills: it changes when any skill
// is added, removed or changed.
func revisionOf(skills []Installed) string {
	h := sha256.New()
	for i := range skills {
		s := &skills[i]
		// Encoding strings and booleans cannot fail.
		line, _ := json.Marshal([]any{s.ID, s.Name, s.Hash, s.Imported(), s.Problem})
		h.Write(append(line, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Changes says what an update would do to the files of a skill.
type Changes struct {
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
}

// Empty says whether nothing differs.
func (c *Changes) Empty() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 }

// compare gives the way from one list of files to another; both are in byte
// order of the path.
func compare(from, to []FileRecord) Changes {
	c := Changes{Added: []string{}, Changed: []string{}, Removed: []string{}}
	for len(from)+len(to) > 0 {
		switch {
		case len(from) == 0 || len(to) > 0 && to[0].Path < from[0].Path:
			c.Added, to = append(c.Added, to[0].Path), to[1:]
		case len(to) == 0 || from[0].Path < to[0].Path:
			c.Removed, from = append(c.Removed, from[0].Path), from[1:]
		default:
			if from[0].SHA256 != to[0].SHA256 || from[0].Executable != to[0].Executable {
				c.Changed = append(c.Changed, to[0].Path)
			}
			from, to = from[1:], to[1:]
		}
	}
	return c
}
