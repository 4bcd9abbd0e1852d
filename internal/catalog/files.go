package catalog

import (
	"runtime"
	"sync"
	"sync/atomic"
)

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
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.Skills)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(c.Skills)); i = next.Add(1) - 1 {
				c.Skills[i].Bytes()
			}
		})
	}
	workers.Wait()
}
