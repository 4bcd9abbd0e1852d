package specialist

import (
	"path"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
)

const (
	manifestName = "manifest.json"
	profileName  = "specialist.json"
	skillsFolder = "skills"
	documentName = "SKILL.md"
)

// noise is what systems drop into folders; it is left out and told.
func noise(name string) bool {
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "__MACOSX" {
			return true
		}
	}
	base := path.Base(name)
	return strings.EqualFold(base, ".DS_Store") || strings.EqualFold(base, "Thumbs.db")
}

// layout is what the names of a package say.
type layout struct {
	ok     bool           // there is one root, and it is known
	root   string         // "" or the wrapper folder
	files  map[string]int // top-level files below root, by name: their entry
	skills []string       // folders below skills/, sorted
}

// topLevel is what lies directly in the package.
type topLevel struct {
	files   map[string]bool
	folders map[string]bool
	holders map[string]bool // folders with a manifest or profile directly inside
}

// usable says whether a conclusion may be drawn from an entry's name.
func usable(e *archive.Entry) bool {
	return (e.Problem == nil || !e.Problem.UnsafeName()) && !noise(e.Name)
}

func lookAtTop(entries []archive.Entry) topLevel {
	t := topLevel{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i := range entries {
		e := &entries[i]
		if !usable(e) {
			continue
		}
		first, rest, below := strings.Cut(e.Name, "/")
		if !below && !e.Folder {
			t.files[first] = true
			continue
		}
		t.folders[first] = true
		if rest == manifestName || rest == profileName {
			t.holders[first] = true
		}
	}
	return t
}

// findRoot says where the package begins: at the root of the archive, or in
// exactly one folder. why is a clause for people when it is neither.
func (t topLevel) findRoot() (root, why string) {
	holders := []string{}
	for name := range t.holders {
		holders = append(holders, name)
	}
	atRoot := t.files[manifestName] || t.files[profileName]
	if atRoot {
		holders = slices.DeleteFunc(holders, func(name string) bool { return name == skillsFolder })
	}
	switch {
	case len(t.files)+len(t.folders) == 0:
		return "", "the package is empty"
	case atRoot && len(holders) > 0:
		return "", "package files lie both at the root and in a folder"
	case atRoot:
		return "", ""
	case len(holders) > 1:
		return "", "package files lie in several folders"
	case len(holders) == 1 && (len(t.folders) > 1 || len(t.files) > 0):
		return "", "something lies beside the one folder that holds the package"
	case len(holders) == 1:
		return holders[0], ""
	case len(t.files) == 0 && len(t.folders) == 1 && !t.folders[skillsFolder]:
		for name := range t.folders {
			return name, ""
		}
	case len(t.folders) > 1 && len(t.files) == 0 && !t.folders[skillsFolder]:
		return "", "several folders and no package files"
	}
	return "", ""
}

// arrange finds the parts of a package and reports what has no place in it.
func arrange(entries []archive.Entry, f *findings) layout {
	l := layout{files: map[string]int{}}
	root, why := lookAtTop(entries).findRoot()
	for i := range entries {
		e := &entries[i]
		if noise(e.Name) && (e.Problem == nil || !e.Problem.UnsafeName()) && !e.Folder {
			f.addf(LevelInfo, "package.metadata-noise-ignored", placeOf(e), "", "files of this kind are left out")
		}
	}
	if why != "" {
		f.addf(LevelError, "package.archive-layout-invalid", "", "", "%s: put manifest.json, specialist.json and skills/ at the root or into one folder", why)
		return l
	}
	l.ok, l.root = true, root
	skills, forbidden := map[string]bool{}, map[string]bool{}
	for i := range entries {
		if e := &entries[i]; usable(e) && e.Name != root {
			l.place(i, e, skills, forbidden, f)
		}
	}
	for name := range skills {
		l.skills = append(l.skills, name)
	}
	slices.Sort(l.skills)
	for _, name := range []string{manifestName, profileName} {
		if _, ok := l.files[name]; !ok {
			f.addf(LevelError, "package.required-file-missing", join(root, name), "", "a package needs this file")
		}
	}
	return l
}

// place sorts one entry into the layout.
func (l *layout) place(i int, e *archive.Entry, skills, forbidden map[string]bool, f *findings) {
	name := e.Name
	if l.root != "" {
		name = strings.TrimPrefix(name, l.root+"/")
	}
	first, rest, below := strings.Cut(name, "/")
	switch {
	case first == skillsFolder && !below && e.Folder:
	case first == skillsFolder && below:
		folder, _, deeper := strings.Cut(rest, "/")
		if !deeper && !e.Folder {
			f.addf(LevelError, "skill.path-noncanonical", placeOf(e), "", "a file may not lie directly in skills/: every skill has a folder of its own")
			return
		}
		skills[folder] = true
	case !below && !e.Folder && slices.Contains([]string{manifestName, profileName, "README.txt", "LICENSE"}, name):
		l.files[name] = i
	case !forbidden[first]:
		forbidden[first] = true
		f.addf(LevelError, "package.top-level-content-forbidden", quiet(join(l.root, first)), "",
			"only manifest.json, specialist.json, README.txt, LICENSE and skills/ may stand here")
	}
}

func join(parts ...string) string {
	kept := slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(kept, "/")
}
