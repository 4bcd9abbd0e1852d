package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"skill-mcp/internal/archive"
	"skill-mcp/internal/store"
)

// Skipped is something in a bundle that was not looked at as a skill, and why.
type Skipped struct {
	Source string `json:"source"` // escaped
	Reason string `json:"reason"`
}

// bundle is an opened source: one tree and the archives in it that lie outside
// every skill.
type bundle struct {
	tree    archive.Tree
	store   *store.Store
	layout  layout
	nested  []int // entries of tree that are archives to open, by name
	skipped []Skipped
}

// newBundle looks at the names of a tree. A name that leads out of it and
// belongs to no skill refuses the whole, since nobody can say what it was for.
func newBundle(tree archive.Tree, s *store.Store) (*bundle, error) {
	b := &bundle{tree: tree, store: s, layout: classify(tree.Entries())}
	if err := b.layout.refuseStrays(tree.Entries()); err != nil {
		return nil, err
	}
	b.nested, b.skipped = b.layout.divideOthers(tree.Entries())
	return b, nil
}

// mostSkipped is how many files and folders that belong to no skill are named;
// a repository may have thousands.
const mostSkipped = 100

func (l *layout) refuseStrays(entries []archive.Entry) error {
	for _, i := range l.others {
		if p := entries[i].Problem; p != nil && p.UnsafeName() {
			return refuseArchive(p)
		}
	}
	return nil
}

// divideOthers divides what belongs to no skill into archives to open and things to
// name, files of one folder together.
func (l *layout) divideOthers(entries []archive.Entry) (nested []int, skipped []Skipped) {
	files := map[string]int{}
	for _, i := range l.others {
		e := &entries[i]
		switch {
		case e.Problem != nil:
			skipped = append(skipped, Skipped{archive.Shown(e.Name), e.Problem.Error()})
		case e.Folder:
		case isArchiveName(e.Name):
			nested = append(nested, i)
		default:
			top, _, deeper := strings.Cut(e.Name, "/")
			if deeper {
				top += "/"
			}
			files[top]++
		}
	}
	for n, top := range slices.Sorted(maps.Keys(files)) {
		if n == mostSkipped {
			skipped = append(skipped, Skipped{"…", fmt.Sprintf("files and folders that belong to no skill, not listed: %d", len(files)-n)})
			break
		}
		reason := "belongs to no skill (no SKILL.md in its folder or at most two folders down from the root)"
		if strings.HasSuffix(top, "/") {
			reason = fmt.Sprintf("files in it that belong to no skill (no SKILL.md at most two folders down): %d", files[top])
		}
		skipped = append(skipped, Skipped{archive.Shown(top), reason})
	}
	slices.SortFunc(nested, func(a, b int) int { return strings.Compare(entries[a].Name, entries[b].Name) })
	slices.SortFunc(skipped, func(a, b Skipped) int { return strings.Compare(a.Source, b.Source) })
	return nested, skipped
}

// part is one tree with skills: the bundle itself or an archive in it.
type part struct {
	name    string // "" for the bundle itself, else the archive's path in it
	tree    archive.Tree
	layout  layout
	release func()
}

// shared are the budgets that all archives in a bundle have in common.
type shared struct {
	bytes   int64
	entries int
}

// parts visits the bundle and each archive in it, one at a time, so that only
// one is held. visit returns an error to stop. only, when not nil, says which
// archives are opened.
func (b *bundle) parts(ctx context.Context, only func(name string) bool, visit func(*part) error) error {
	if err := visit(&part{tree: b.tree, layout: b.layout, release: func() {}}); err != nil {
		return err
	}
	left := shared{bytes: maxNestedTotal, entries: maxNestedEntries}
	for _, i := range b.nested {
		if err := ctx.Err(); err != nil {
			return err
		}
		if only != nil && !only(b.tree.Entries()[i].Name) {
			continue
		}
		p, why := b.openNested(i, &left)
		if p == nil {
			b.skipped = append(b.skipped, why)
			continue
		}
		err := visit(p)
		p.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// openNested opens an archive in the bundle. What is wrong with it concerns no
// other, so it becomes a reason for skipping it.
func (b *bundle) openNested(i int, left *shared) (*part, Skipped) {
	name := b.tree.Entries()[i].Name
	skip := func(format string, args ...any) (*part, Skipped) {
		return nil, Skipped{archive.Shown(name), fmt.Sprintf(format, args...)}
	}
	if left.bytes <= 0 || left.entries <= 0 {
		return skip("the archives in this bundle hold more in all than is read of one bundle (%d bytes, %d entries)", int64(maxNestedTotal), maxNestedEntries)
	}
	at, size, release, err := b.randomAccess(i)
	if err != nil {
		return skip("cannot be read: %v", err)
	}
	r, err := archive.Open(at, size, nestedLimits(left.bytes, left.entries))
	if err != nil {
		release()
		return skip("%v", err)
	}
	p := &part{name: name, tree: r, layout: classify(r.Entries()), release: release}
	if err := p.layout.refuseStrays(r.Entries()); err != nil {
		release()
		return skip("%v", err)
	}
	left.spend(r.Entries())
	b.nameDeeper(p)
	if len(p.layout.roots) == 0 {
		release()
		return skip("holds no SKILL.md at most two folders down")
	}
	return p, Skipped{}
}

func (s *shared) spend(entries []archive.Entry) {
	s.entries -= len(entries)
	for i := range entries {
		if entries[i].Problem == nil {
			s.bytes -= entries[i].Size
		}
	}
}

// nameDeeper names archives in an archive in the bundle: they are never opened.
func (b *bundle) nameDeeper(p *part) {
	for _, i := range p.layout.others {
		if e := &p.tree.Entries()[i]; !e.Folder && isArchiveName(e.Name) {
			b.skipped = append(b.skipped, Skipped{archive.Shown(joinPath(p.name, e.Name)), "an archive in an archive in a bundle is not opened"})
		}
	}
}

// randomAccess gives the bytes of an archive in the bundle for reading at any
// place: where they lie if they are stored there, else from a temporary file of
// the store. Either way their checksum has been checked.
func (b *bundle) randomAccess(i int) (io.ReaderAt, int64, func(), error) {
	in, err := b.tree.Open(i)
	if err != nil {
		return nil, 0, nil, err
	}
	defer in.Close()
	size := b.tree.Entries()[i].Size
	start := make([]byte, min(4, size))
	if _, err := io.ReadFull(in, start); err != nil {
		return nil, 0, nil, err
	}
	if !beginsLikeZip(start) { // 64 MiB of something else need not be unpacked
		return nil, 0, nil, errors.New("not a zip archive")
	}
	if r, ok := b.tree.(*archive.Reader); ok {
		if section, ok := r.Section(i); ok {
			_, err := io.Copy(io.Discard, in)
			return section, size, func() {}, err
		}
	}
	spool, err := b.store.Spool()
	if err != nil {
		return nil, 0, nil, err
	}
	// A spool file that cannot be closed is gone with the process.
	release := func() { _ = spool.Close() }
	if _, err := io.Copy(spool, io.MultiReader(bytes.NewReader(start), in)); err != nil {
		release()
		return nil, 0, nil, err
	}
	return spool, size, release, nil
}

// beginsLikeZip: an entry, or the end record of an archive without entries.
func beginsLikeZip(start []byte) bool {
	return string(start) == "PK\x03\x04" || string(start) == "PK\x05\x06"
}
