package pack

import (
	"path"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
)

// The two files that the app keeps at the root of a skill. They say where a
// skill came from and who owns it, so one that comes in is forged.
const (
	sourceFile = ".source.json"
	ownerFile  = ".specialist-package.json"
)

func appOwned(name string) bool {
	return strings.EqualFold(name, sourceFile) || strings.EqualFold(name, ownerFile)
}

// noise says whether an entry is left out of every skill: what systems drop into
// folders, and everything that begins with a dot. The app's own names are not
// noise, at the root they are an error and deeper they are content.
func noise(name string) bool {
	dir, base := path.Split(name)
	for segment := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if noisyPart(segment) {
			return true
		}
	}
	return noisyPart(base) && !appOwned(base)
}

func noisyPart(segment string) bool {
	return segment == "__MACOSX" || strings.EqualFold(segment, "Thumbs.db") ||
		strings.HasPrefix(segment, ".") && segment != "." && segment != ".."
}

// layout is what the names of a tree say, before any content is read.
type layout struct {
	roots  []string         // folders of skills, "" is the tree itself; sorted
	owned  map[string][]int // entries below each root, noise left out
	noise  map[string][]int // entries below each root that are left out
	others []int            // entries below no root, noise left out
}

// classify finds the skills of a tree: folders with a SKILL.md at most two
// folders down, the shallowest on each branch. Every entry below such a folder
// belongs to it, usable or not.
func classify(entries []archive.Entry) layout {
	found := map[string]bool{}
	for i := range entries {
		if root, ok := rootOf(&entries[i]); ok {
			found[root] = true
		}
	}
	l := layout{owned: map[string][]int{}, noise: map[string][]int{}}
	for root := range found {
		if !hasParent(root, found) {
			l.roots = append(l.roots, root)
		}
	}
	slices.Sort(l.roots)
	for i := range entries {
		l.place(i, &entries[i])
	}
	return l
}

func (l *layout) place(i int, e *archive.Entry) {
	root, ok := l.owner(e.Name)
	left := noise(e.Name) && (e.Problem == nil || !e.Problem.UnsafePath())
	switch {
	case ok && left:
		l.noise[root] = append(l.noise[root], i)
	case ok:
		l.owned[root] = append(l.owned[root], i)
	case !left:
		l.others = append(l.others, i)
	}
}

// rootOf gives the folder that an entry makes a skill's. Nothing is concluded
// from a name that cannot be trusted.
func rootOf(e *archive.Entry) (string, bool) {
	if e.Folder || e.Problem != nil && e.Problem.UnsafeName() || noise(e.Name) {
		return "", false
	}
	dir, base := path.Split(e.Name)
	dir = strings.TrimSuffix(dir, "/")
	if !strings.EqualFold(base, documentName) || dir != "" && strings.Count(dir, "/") >= maxRootDepth {
		return "", false
	}
	return dir, true
}

func hasParent(root string, found map[string]bool) bool {
	for at := root; at != ""; {
		at = parent(at)
		if found[at] {
			return true
		}
	}
	return false
}

func parent(dir string) string {
	return dir[:max(strings.LastIndexByte(dir, '/'), 0)]
}

// owner gives the root that an entry's text lies below. It goes by the text of
// the name alone, so that "skill/../x" counts against "skill".
func (l *layout) owner(name string) (string, bool) {
	at := 0
	for depth := 0; depth <= maxRootDepth; depth++ {
		root := strings.TrimSuffix(name[:at], "/")
		if _, ok := slices.BinarySearch(l.roots, root); ok && (at > 0 || root == "") {
			return root, true
		}
		next := strings.IndexByte(name[at:], '/')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return "", false
}

// isArchiveName: what is opened one level deep when it lies outside every
// skill.
func isArchiveName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".zip" || ext == ".skill"
}

// below gives a path inside a root.
func below(root, name string) string {
	if root == "" {
		return name
	}
	return strings.TrimPrefix(name, root+"/")
}

func joinPath(parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "/")
}
