package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"skill-mcp/internal/archive"

	"golang.org/x/text/unicode/norm"
)

// Exported says what an export holds.
type Exported struct {
	Name        string   `json:"name"`
	FileName    string   `json:"fileName"` // what the archive should be called
	Files       int      `json:"files"`
	Bytes       int64    `json:"bytes"` // of the files
	ContentHash string   `json:"contentHash"`
	LeftOut     []string `json:"leftOut"` // names that begin with a dot, escaped
	Renamed     bool     `json:"renamed"` // SKILL.md named another skill, or had a displayName
	skill       *skill
}

// PrepareExport looks at a skill folder and says what its archive will hold.
// The folder's own name is the skill's name. What an import would refuse is
// refused here: links, files with several names, special files, names, sizes.
// root stays open until Write is done.
func PrepareExport(ctx context.Context, root *os.Root, name string) (*Exported, error) {
	if !ValidName(name) {
		return nil, refuse(CodeNameReserved, "rename the folder: small letters, digits and single hyphens, at most 64, not os- or mcp-", "%s is not a name that could be imported again", archive.Shown(name))
	}
	s, err := openFolderSkill(root)
	if err != nil {
		return nil, err
	}
	for i, e := range s.entries {
		if s.tree.Entries()[e].Linked {
			return nil, refuse(CodeHardLink, "copy the file to give it an own place on the disk", "%s has more than one name on the disk (hard link)", archive.Shown(s.files[i].Path))
		}
	}
	out := &Exported{Name: name, FileName: FileName(name, ""), Files: len(s.files), LeftOut: []string{}, skill: s}
	for _, d := range s.dotfiles {
		out.LeftOut = append(out.LeftOut, archive.Shown(d))
	}
	if err := s.export(out); err != nil {
		return nil, err
	}
	for _, f := range s.files {
		out.Bytes += f.Size
	}
	hash := newContentHash()
	err = s.each(ctx, func(i int) (io.Writer, error) { return hash.file(s.files[i].Path), nil }, func(int) error { hash.end(); return nil })
	out.ContentHash = hash.sum()
	return out, err
}

// export gives the skill's document the name of its folder and takes its
// displayName away.
func (s *skill) export(out *Exported) error {
	head, err := s.head(maxRewritten)
	if err != nil {
		return err
	}
	d := ParseDocument(head)
	if d.Name == out.Name && !hasDisplayName(d) {
		return nil
	}
	out.Renamed = true
	if err := s.rename(out.Name); err != nil {
		return refuse(CodeDocument, "", "SKILL.md cannot be exported under the name %s: %v", archive.Shown(out.Name), err)
	}
	return nil
}

// Write writes the archive. A file that changed since PrepareExport makes it
// fail.
func (e *Exported) Write(w io.Writer) error {
	files := make([]archive.File, len(e.skill.files))
	for i, f := range e.skill.files {
		files[i] = archive.File{Name: f.Path, Size: f.Size, Executable: f.Executable, Open: func() (io.ReadCloser, error) { return e.skill.open(i) }}
	}
	return archive.Write(w, files)
}

// Check reads an archive back as an import would and proves that it holds what
// the export said.
func (e *Exported) Check(ctx context.Context, r io.ReaderAt, size int64) error {
	tree, err := archive.Open(r, size, outerLimits())
	if err != nil {
		return refuseArchive(err)
	}
	l := classify(tree.Entries())
	s := gather(tree, &l, "")
	if len(s.faults) > 0 {
		return refuse(s.faults[0].Code, "", "the archive could not be imported again: %s", s.faults[0].Message)
	}
	hash := newContentHash()
	err = s.each(ctx, func(i int) (io.Writer, error) { return hash.file(s.files[i].Path), nil }, func(int) error { hash.end(); return nil })
	if err == nil && hash.sum() != e.ContentHash {
		err = refuse(CodeSourceChanged, "export again", "the skill changed while it was exported")
	}
	return err
}

// ExportTo writes a skill's archive to a file, by way of a temporary name in
// the same folder, after it has been read back.
func (e *Exported) ExportTo(ctx context.Context, file string) error {
	dir, name := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return refuse(CodeCannotWrite, "choose another file with -o", "%s is there and is not a file", archive.Shown(file))
	}
	temporary := "." + name + ".part"
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the archive: %w", err)
	}
	err = writeNew(root, temporary, 0o644, func(f *os.File) error { return e.fill(ctx, f) })
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(temporary)))
	}
	return nil
}

func (e *Exported) fill(ctx context.Context, f *os.File) error {
	if err := e.Write(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return errors.Join(e.Check(ctx, f, info.Size()), f.Sync())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

const maxFileName = 80

// FileName makes the name of an archive from a skill's name: NFKC, lower case,
// a hyphen for everything but letters and digits, at most 80 characters, no
// Windows device. Where nothing is left the fallback is used, then "skill".
func FileName(name, fallback string) string {
	for _, candidate := range []string{name, fallback, "skill"} {
		if slug := slugOf(candidate); slug != "" {
			if archive.CheckName(slug) != nil {
				slug = "skill-" + slug
			}
			return slug + ".zip"
		}
	}
	return "skill.zip"
}

func slugOf(s string) string {
	var b bytes.Buffer
	n := 0
	for _, r := range strings.ToLower(norm.NFKC.String(s)) {
		if n >= maxFileName {
			break
		}
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
			n++
		case b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte("-")):
			b.WriteByte('-')
			n++
		}
	}
	return strings.Trim(b.String(), "-")
}
