package archive

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Folder is a folder on disk read by the rules of an archive: the same names,
// the same limits, and no link is ever followed.
type Folder struct {
	root    *os.Root
	entries []Entry
	seen    []fs.FileInfo // what Lstat said, by entry
}

// OpenFolder lists what is below root, sorted by the bytes of the path. It
// opens folders only. skip (may be nil) says which folders are listed and not
// entered. The caller keeps root open as long as it uses the Folder.
func OpenFolder(root *os.Root, limits Limits, skip func(name string) bool) (*Folder, error) {
	limits = limits.filled()
	f := &Folder{root: root}
	if err := f.walk(".", limits, skip); err != nil {
		return nil, err
	}
	f.sort()
	MarkClashes(f.entries)
	if err := checkTotals(f.entries, limits); err != nil {
		return nil, err
	}
	return f, nil
}

// walk lists one folder and those below it. dir is "." or a path below root.
func (f *Folder) walk(dir string, limits Limits, skip func(string) bool) error {
	names, err := f.list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		full := path.Join(dir, name)
		if strings.Contains(name, "/") || name == ".." || name == "." {
			return fault(PathTraversal, "the file system lists this name").at(name)
		}
		info, err := f.root.Lstat(full)
		if err != nil {
			return fmt.Errorf("look at %s: %w", Shown(full), err)
		}
		if len(f.entries) >= limits.Entries {
			return over(FileCount, "the folder holds too many entries", int64(len(f.entries))+1, int64(limits.Entries), "entries")
		}
		e := folderEntry(full, info, limits)
		f.entries, f.seen = append(f.entries, e), append(f.seen, info)
		if !e.Folder || e.Problem != nil || skip != nil && skip(full) {
			continue
		}
		if err := f.walk(full, limits, skip); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) list(dir string) ([]string, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder %s: %w", Shown(dir), err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list folder %s: %w", Shown(dir), err)
	}
	return names, nil
}

func folderEntry(name string, info fs.FileInfo, limits Limits) Entry {
	e := Entry{Name: name, Folder: info.IsDir(), rawName: name}
	if e.Problem = tooDeep(name, e.Folder, limits); e.Problem != nil {
		return e
	}
	if e.Problem = CheckName(name); e.Problem != nil {
		return e
	}
	var p *Problem
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		p = fault(LinkUnsupported, "this is a symbolic link")
	case !e.Folder && !mode.IsRegular():
		p = fault(SpecialFile, "this is neither a file nor a folder (%s)", mode.Type())
	case !e.Folder:
		e.Executable = mode&0o100 != 0
		e.Size, e.Compressed = info.Size(), info.Size()
		e.Linked = links(info) > 1
	}
	if p == nil {
		limits.Ratio = -1
		p = judgeSize(&e, limits)
	}
	if p != nil {
		e.Problem = p.at(name)
	}
	return e
}

func (f *Folder) sort() {
	order := make([]int, len(f.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(f.entries[a].Name, f.entries[b].Name) })
	entries, seen := make([]Entry, len(order)), make([]fs.FileInfo, len(order))
	for to, from := range order {
		entries[to], seen[to] = f.entries[from], f.seen[from]
	}
	f.entries, f.seen = entries, seen
}

// Entries gives files and folders in byte order of the path.
func (f *Folder) Entries() []Entry { return f.entries }

// Open gives the bytes of a file that is still the one that was listed, with
// the length it had then.
func (f *Folder) Open(i int) (io.ReadCloser, error) {
	e := &f.entries[i]
	if e.Problem != nil {
		return nil, e.Problem
	}
	// O_NONBLOCK: a FIFO put in place of the file must not hang the reader.
	file, err := f.root.OpenFile(e.Name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", Shown(e.Name), err)
	}
	info, err := file.Stat()
	if err != nil || !os.SameFile(info, f.seen[i]) || info.Size() != e.Size || !info.Mode().IsRegular() {
		file.Close()
		return nil, fault(Inconsistent, "the file changed while it was read").at(e.Name)
	}
	return &counted{file: file, name: e.Name, left: e.Size}, nil
}

// counted gives exactly the listed number of bytes or an error.
type counted struct {
	file *os.File
	name string
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if room := c.left + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := c.file.Read(p)
	c.left -= int64(n)
	if c.left < 0 || err == io.EOF && c.left != 0 {
		return 0, fault(Inconsistent, "the file changed while it was read").at(c.name)
	}
	return n, err
}

func (c *counted) Close() error { return c.file.Close() }
