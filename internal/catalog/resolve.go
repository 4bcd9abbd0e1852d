package catalog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Resolved is a file of a skill, found on disk a moment ago.
type Resolved struct {
	// Path is as asked for.
	Path string
	// Real is the real path; Rel the same relative to the skill's directory,
	// with the system's separators. They differ from Path behind links.
	Real, Rel string
	// Size is in bytes.
	Size int64

	dir  string // real path of the skill's directory
	file opened // set when it was opened on the way; closed by read and drop
}

// opened is a regular file, open for reading.
type opened = io.ReadCloser

// reach finds the file a path of the skill leads to now, to read it: it is
// opened at once where no link is on the way, else resolved. The caller must
// read or drop it; of its parts Path and Size are set, and Real where it was
// resolved. The errors are those of Resolve.
func (s *Skill) reach(unsafePath string) (*Resolved, error) {
	if CheckPath(unsafePath) == nil {
		if f, size := openPlain(s.Dir, unsafePath); f != nil {
			return &Resolved{Path: unsafePath, Size: size, file: f}, nil
		}
	}
	return s.Resolve(unsafePath)
}

// drop gives up a file that is not read.
func (r *Resolved) drop() {
	if r != nil && r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}

// errOutside is wrapped by the error for a path that leaves its skill.
var errOutside = errors.New("resolves outside the skill")

// outsideError is a Refused that wraps errOutside.
type outsideError struct{ Refused }

func (*outsideError) Unwrap() error { return errOutside }

// missingError is a Refused for a path that leads to nothing readable.
type missingError struct {
	Refused
	cause error
}

func (e *missingError) Unwrap() error { return e.cause }

// Resolve finds the file a path of the skill leads to now. Links are followed
// as long as they stay inside the skill. Its errors have the text for a client;
// use Hint for what may help.
func (s *Skill) Resolve(unsafePath string) (*Resolved, error) {
	if err := CheckPath(unsafePath); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return nil, &missingError{Refused{"the directory of the skill is not readable", "reload the skills, or look at skill_list"}, err}
	}
	r := &Resolved{Path: unsafePath, dir: dir}
	r.Real, err = filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(unsafePath)))
	if err != nil {
		return nil, &missingError{Refused{quotePath(unsafePath) + " is not a file in this skill", pathHint}, err}
	}
	if !inside(dir, r.Real) {
		return r, &outsideError{Refused{quotePath(unsafePath) + " resolves outside the skill", pathHint}}
	}
	info, err := os.Lstat(r.Real)
	if err != nil {
		return nil, &missingError{Refused{quotePath(unsafePath) + " is not a file in this skill", pathHint}, err}
	}
	if !info.Mode().IsRegular() {
		return nil, &Refused{quotePath(unsafePath) + " is not a regular file", pathHint}
	}
	if r.Rel, err = filepath.Rel(dir, r.Real); err != nil {
		return nil, &missingError{Refused{quotePath(unsafePath) + " is not a file in this skill", pathHint}, err}
	}
	r.Size = info.Size()
	return r, nil
}

// Hint gives what may help against an error of this package, "" if nothing.
func Hint(err error) string {
	var refused *Refused
	var missing *missingError
	var outside *outsideError
	switch {
	case errors.As(err, &missing):
		return missing.Hint
	case errors.As(err, &outside):
		return outside.Hint
	case errors.As(err, &refused):
		return refused.Hint
	}
	return ""
}

// open opens the file. What was a regular file when it was resolved may be
// something else by now: links on the way are not followed any more, a FIFO
// does not block, and what is not regular is closed again unread.
func (r *Resolved) open() (*os.File, os.FileInfo, error) {
	t, err := openTree(r.dir)
	if err != nil {
		return nil, nil, err
	}
	defer t.close()
	return t.openRegular(r.Rel)
}

// openRegular opens a file of the tree if it is regular.
func (t *tree) openRegular(rel string) (*os.File, os.FileInfo, error) {
	f, err := t.openFile(rel)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Refused{quotePath(rel) + " is not a regular file", pathHint}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readSize is what is read at once.
const readSize = 64 << 10

// chunks are the memory for it: a small file would otherwise cost 64 KiB.
var chunks = sync.Pool{New: func() any { return new([readSize]byte) }}

// read gives the first limit bytes of the file, and one more when there are
// more, and the size by the file system.
func (r *Resolved) read(limit int64) (data string, size int64, err error) {
	f, size := r.file, r.Size
	if f == nil {
		file, info, err := r.open()
		if err != nil {
			return "", 0, err
		}
		f, size = file, info.Size()
	}
	r.file = nil
	defer f.Close()
	var b strings.Builder
	b.Grow(int(min(size, limit)) + 1)
	chunk := chunks.Get().(*[readSize]byte)
	defer chunks.Put(chunk)
	for int64(b.Len()) <= limit {
		part := chunk[:min(readSize, limit+1-int64(b.Len()))]
		n, err := f.Read(part)
		b.Write(part[:n])
		if err == io.EOF || err == nil && n < len(part) && int64(b.Len()) >= size {
			break // all there was when it was opened, and nothing behind
		}
		if err != nil {
			return "", 0, err
		}
	}
	return b.String(), size, nil
}
