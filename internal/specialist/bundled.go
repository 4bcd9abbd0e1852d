package specialist

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"unicode/utf8"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/pack"
	"skill-mcp/internal/secretscan"
)

// defaultVersion is the version of a skill whose document says none.
const defaultVersion = "0.1.0"

// bundled is one skill of a package.
type bundled struct {
	name    string
	version string
	hash    string
	skill   *pack.Skill
}

// readBundled checks one folder below skills/ and reports what is wrong with
// it. With an error it gives nil.
func (p *parsed) readBundled(ctx context.Context, name string) (*bundled, error) {
	root, before := join(p.layout.root, skillsFolder, name), p.f.errors
	place := quiet(root)
	if !pack.ValidName(name) || secretscan.Value(name) {
		p.f.addf(LevelError, "skill.id-invalid", place, "", "a skill's folder is named by small letters, digits and single hyphens, at most 64, not os- or mcp-")
	}
	hasDocument := p.checkPaths(root)
	skill, faults := pack.OpenSkill(below(p.tree, root), "")
	broken := p.unread[root]
	for _, d := range faults {
		p.addSkillFault(place, &d)
		broken = broken || d.Code == pack.CodeFileUnusable
	}
	if !hasDocument {
		p.f.addf(LevelError, "skill.document-missing", place, "", "a skill needs a file SKILL.md, written exactly so")
	}
	if p.f.errors > before || broken {
		return nil, nil
	}
	b := &bundled{name: name, skill: skill}
	text, err := skill.Document(MaxFileBytes)
	if err != nil {
		return nil, err
	}
	b.version = p.checkDocument(text, name, join(root, documentName))
	if b.hash, err = hashSkill(ctx, skill, text); err != nil {
		return nil, err
	}
	if p.f.errors > before {
		return nil, nil
	}
	return b, nil
}

// addSkillFault takes over what package pack says of a skill. Faults of single
// entries are reported already, and size alone is the skill's budget only: it
// can be installed, if not exported on its own.
func (p *parsed) addSkillFault(place string, d *pack.Diagnostic) {
	switch d.Code {
	case pack.CodeFileUnusable, pack.CodeNoDocument:
		return
	case pack.CodeSkillSize:
		p.f.add(Diagnostic{Level: LevelWarning, Code: "skill.budget-exceeded", Path: place, Message: "the skill is larger than one that can be exported on its own", Actual: d.Actual, Limit: d.Limit, Unit: d.Unit})
		return
	}
	at := place
	if d.Path != "" {
		at += "/" + strings.Trim(d.Path, `"`)
	}
	p.f.add(Diagnostic{Level: LevelError, Code: d.Code, Path: at, Message: d.Message, Actual: d.Actual, Limit: d.Limit, Unit: d.Unit})
}

// checkPaths looks at the names below a skill's folder and says whether there
// is a SKILL.md.
func (p *parsed) checkPaths(root string) (hasDocument bool) {
	scripts, deep := 0, false
	entries := p.tree.Entries()
	for i := range entries {
		e := &entries[i]
		name, ok := strings.CutPrefix(e.Name, root+"/")
		if !ok || e.Folder || !usable(e) {
			continue
		}
		switch {
		case name == documentName:
			hasDocument = true
		case strings.EqualFold(name, documentName):
			p.f.addf(LevelError, "skill.path-noncanonical", placeOf(e), "", "the document of a skill is written SKILL.md")
		}
		if folders := strings.Count(name, "/"); folders > pack.MaxFolders && !deep {
			deep = true
			p.f.add(Diagnostic{Level: LevelWarning, Code: "skill.budget-exceeded", Path: placeOf(e), Message: "this lies deeper than in a skill that can be exported on its own", Actual: int64(folders), Limit: pack.MaxFolders, Unit: "folders"})
		}
		if dotfile(name) {
			p.f.addf(LevelInfo, "package.metadata-noise-ignored", placeOf(e), "", "names that begin with a dot are left out of skills")
			continue
		}
		if pack.IsScript(pack.FileInfo{Path: name, Executable: e.Executable}, p.starts[i]) {
			if scripts++; scripts == 1 {
				p.scripts++
				p.f.addf(LevelWarning, "skill.executable-content-present", placeOf(e), "", "the skill brings programs; nothing of it is run, and running one needs your grant")
			}
		}
	}
	return hasDocument
}

func dotfile(name string) bool {
	if strings.EqualFold(name, sourceFile) || strings.EqualFold(name, ownerFile) {
		return false // an error of its own
	}
	for segment := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(segment, ".") {
			return true
		}
	}
	return false
}

// checkDocument reads SKILL.md and gives the version it declares.
func (p *parsed) checkDocument(text []byte, name, place string) string {
	d := &document{quiet(place), p.f}
	doc := pack.ParseDocument(text)
	switch {
	case !utf8.Valid(text):
		d.errorf("skill.document-invalid", "", "it is not UTF-8")
	case !doc.HasFrontMatter:
		d.errorf("skill.document-invalid", "", "it has no front matter")
	case doc.Problem != "":
		d.errorf("skill.document-invalid", "", "its front matter cannot be read as YAML")
	case doc.Name == "":
		d.errorf("skill.document-invalid", "name", "its front matter has no name")
	case doc.Name != name:
		d.errorf("skill.name-mismatch", "name", "its name is %s, its folder is %s", shown(doc.Name), shown(name))
	}
	version, ok := versionOf(doc)
	if !ok {
		d.errorf("skill.version-invalid", "version", "this is not a version as 1.2.3")
	}
	return version
}

// versionOf gives the version of a skill and whether it is one.
func versionOf(doc pack.Document) (string, bool) {
	v, declared := doc.Metadata["version"]
	if !declared {
		return defaultVersion, true
	}
	return v, validVersion(v)
}

// hashSkill is the content hash of a skill in packages: sha256 over its files
// in byte order of the path, SKILL.md before all others, each as path NUL bytes
// NUL.
func hashSkill(ctx context.Context, s *pack.Skill, document []byte) (string, error) {
	h := sha256.New()
	io.WriteString(h, documentName+"\x00")
	h.Write(document)
	h.Write([]byte{0})
	files := s.Files()
	err := s.Each(ctx, func(i int) (io.Writer, error) {
		if files[i].Path == documentName {
			return io.Discard, nil
		}
		io.WriteString(h, files[i].Path+"\x00")
		return h, nil
	}, func(i int) error {
		if files[i].Path != documentName {
			h.Write([]byte{0})
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// part is some entries of a tree under other names.
type part struct {
	tree    archive.Tree
	entries []archive.Entry
	index   []int
}

// partOf takes the entries that rename lets through.
func partOf(tree archive.Tree, rename func(name string) (string, bool)) *part {
	p := &part{tree: tree}
	for i, e := range tree.Entries() {
		if name, ok := rename(e.Name); ok {
			e.Name = name
			p.entries, p.index = append(p.entries, e), append(p.index, i)
		}
	}
	return p
}

// Entries gives the entries that were taken.
func (p *part) Entries() []archive.Entry { return p.entries }

// Open gives the bytes of entry i.
func (p *part) Open(i int) (io.ReadCloser, error) { return p.tree.Open(p.index[i]) }

// below gives what lies in a folder, as if it were the root.
func below(tree archive.Tree, folder string) *part {
	return partOf(tree, func(name string) (string, bool) { return strings.CutPrefix(name, folder+"/") })
}

// withoutOwnFiles leaves out what this program keeps at the root of an installed
// skill.
func withoutOwnFiles(tree archive.Tree) *part {
	return partOf(tree, func(name string) (string, bool) {
		return name, !strings.EqualFold(name, sourceFile) && !strings.EqualFold(name, ownerFile)
	})
}
