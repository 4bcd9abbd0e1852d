package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// MaxFiles is how many files, and how many directories, of a bundle are listed.
const MaxFiles = 2000

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
		runtime.Gosched() // a client may wait, and the calls below do not let it in
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

// plain takes the path out of an error, where the problem names it already.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
