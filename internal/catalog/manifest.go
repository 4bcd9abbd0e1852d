package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// MaxFiles is how many files, and how many directories, of a bundle are listed.
const MaxFiles = 2000

// File is one file of a bundle. Path is relative to the skill with "/" between
// segments and satisfies CheckPath; Size is in bytes.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// manifest is the list of a skill's files. Their paths are of the scan; their
// sizes are asked for once, when somebody wants to know, as that takes longer
// than all the rest of a scan.
type manifest struct {
	paths []string // in byte order
	once  sync.Once
	files []File
	bytes int64
}

// Paths gives the paths of the skill's files, relative to the skill, in byte
// order. The slice is the skill's own.
func (s *Skill) Paths() []string { return s.manifest.paths }

// Files gives the skill's files in byte order of their paths, with the sizes
// they had when first asked for. The slice is the skill's own.
func (s *Skill) Files() []File {
	s.manifest.once.Do(s.measure)
	return s.manifest.files
}

// Bytes gives the sum of the sizes of the skill's files.
func (s *Skill) Bytes() int64 {
	s.manifest.once.Do(s.measure)
	return s.manifest.bytes
}

// measure asks for the sizes, directory by directory. A file that is gone
// meanwhile has none.
func (s *Skill) measure() {
	m := &s.manifest
	m.files = make([]File, len(m.paths))
	for i, path := range m.paths {
		m.files[i].Path = path
	}
	t, err := openTree(s.Dir)
	if err != nil {
		return
	}
	defer t.close()
	t.sizes(m.files)
	for _, f := range m.files {
		m.bytes += f.Size
	}
}

// Measure asks for the sizes of the files of all skills, several skills at a
// time. It is for a caller that is about to list them all; it may be left out.
func (c *Catalog) Measure() {
	next := make(chan *Skill)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.Skills)) {
		workers.Go(func() {
			for s := range next {
				s.Bytes()
			}
		})
	}
	for _, s := range c.Skills {
		next <- s
	}
	close(next)
	workers.Wait()
}

// walk goes over a bundle, breadth first and in byte order, without following
// links.
type walk struct {
	tree     *tree
	limit    int                     // of files, and of directories
	unusable bool                    // also take in names that CheckPath refuses
	identify bool                    // also keep the identities of files
	found    func(kind, path string) // told of what is left out; may be nil

	files []string
	ids   []fileID
	links []string
}

// run walks. It gives what kind of thing went over the limit, or "".
func (w *walk) run(ctx context.Context) (over string, err error) {
	queue := []string{"."}
	dirs := 0
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		entries, whole, err := w.tree.list(queue[0], w.identify)
		if err != nil {
			w.tell(UnreadablePath, queue[0])
		}
		queue = queue[1:]
		if !whole && err == nil {
			over = "entries in one directory"
		}
		// Order matters for what comes first when a limit is reached, and for
		// directories, as they are reported in it.
		if len(w.files)+len(entries) > w.limit || !w.onlyFiles(entries) {
			slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		}
		for i := range entries {
			e := &entries[i]
			if e.kind == dirEntry && w.usable(e) {
				if dirs++; dirs > w.limit {
					return "directories", nil
				}
				queue = append(queue, e.path)
			} else if kind := w.take(e); kind != "" {
				return kind, nil
			}
		}
	}
	return over, nil
}

// onlyFiles reports whether entries are files with usable names.
func (w *walk) onlyFiles(entries []entry) bool {
	for i := range entries {
		if entries[i].kind != fileEntry || !w.unusable && nameFault(&entries[i]) != "" {
			return false
		}
	}
	return true
}

// usable reports whether the name of a file or directory may be listed, and
// tells of it when not.
func (w *walk) usable(e *entry) bool {
	if w.unusable || nameFault(e) == "" {
		return true
	}
	w.tell(UnusablePath, e.path+kindMark[e.kind])
	return false
}

// nameFault is pathFault for an entry whose directory is known to be usable.
func nameFault(e *entry) string {
	if len(e.path) > maxPathUnits {
		return pathFault(e.path)
	}
	return pathFault(e.name)
}

// take takes in a file or link. It gives what went over the limit, or "".
func (w *walk) take(e *entry) (over string) {
	switch {
	case e.kind == linkEntry && len(w.links) == w.limit:
		return "links"
	case e.kind == linkEntry:
		w.links = append(w.links, e.path)
	case e.kind == fileEntry && w.usable(e):
		if len(w.files) == w.limit {
			return "files"
		}
		w.files = append(w.files, e.path)
		if w.identify {
			w.ids = append(w.ids, e.id)
		}
	}
	return ""
}

// kindMark ends the path of a directory when it is told of.
var kindMark = map[entryKind]string{dirEntry: "/"}

func (w *walk) tell(kind, path string) {
	if w.found != nil {
		w.found(kind, path)
	}
}

// list fills in the manifest of a skill and reports what it leaves out.
func (s *Skill) list(ctx context.Context, p *problems) error {
	t, err := openTree(s.Dir)
	if err != nil {
		p.add(s.Dir, UnreadablePath, "the files cannot be listed: %v", plain(err))
		return nil
	}
	defer t.close()
	w := walk{tree: t, limit: MaxFiles}
	var unreadable, unusable problems
	w.found = func(kind, path string) {
		if kind == UnreadablePath {
			at := filepath.Join(s.Dir, filepath.FromSlash(path))
			unreadable.add(at, kind, "the directory %s cannot be read; nothing in it is listed", quotePath(path))
			return
		}
		beneath := ""
		if strings.HasSuffix(path, "/") {
			path, beneath = path[:len(path)-1], "; nothing beneath this directory is listed"
		}
		unusable.add(s.Dir, kind, "%s is not usable: %s%s", quotePath(path), pathFault(path), beneath)
	}
	over, err := w.run(ctx)
	if err != nil {
		return err
	}
	slices.Sort(w.files)
	s.manifest.paths = w.files
	p.join(&unusable, s.Dir)
	p.join(&unreadable, s.Dir)
	s.reportLinks(w.links, p)
	if over != "" {
		p.add(s.Dir, FileLimit, "%s", limitDetail(over, len(w.files)))
	}
	return nil
}

func limitDetail(over string, files int) string {
	switch over {
	case "files":
		return fmt.Sprintf("more than %d files; the first %d are listed, the rest is left out", MaxFiles, MaxFiles)
	case "directories", "links":
		return fmt.Sprintf("more than %d %s; the walk stopped there, with %d files found", MaxFiles, over, files)
	}
	return fmt.Sprintf("more than %d %s; %d files are listed, the rest is left out", maxEntries, over, files)
}

// reportLinks reports the links that lead out of the skill.
func (s *Skill) reportLinks(links []string, p *problems) {
	slices.Sort(links)
	var escapes problems
	for _, link := range links {
		if s.leaves(link) {
			at := filepath.Join(s.Dir, filepath.FromSlash(link))
			escapes.add(at, SymlinkEscape, "the link %s leads outside the skill; it is not listed and cannot be read", quotePath(link))
		}
	}
	p.join(&escapes, s.Dir)
}

// leaves reports whether a link of the bundle leads out of the skill. One that
// leads nowhere is judged by where it would lead.
func (s *Skill) leaves(link string) bool {
	path := filepath.Join(s.Dir, filepath.FromSlash(link))
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return !inside(s.Dir, real)
	}
	// Go on link by link, to the first that is missing or cannot be read. One
	// that leads to itself leads nowhere; 40 links is what Linux follows.
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			return !inside(s.Dir, existing(path))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(existing(filepath.Dir(path)), target)
		}
		path = target
	}
	return false
}

// existing gives the real path of the deepest part of a path that exists, with
// the rest added.
func existing(path string) string {
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// plain takes the path out of an error, where the problem names it already.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
