package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/archive/ziptest"
	"skill-mcp/internal/store"
)

type e = ziptest.Entry

// bench is an importer with a store and a folder of skills of its own.
type bench struct {
	*Importer
	t     *testing.T
	dir   string
	clock time.Time
}

// newBench works in memory where the machine has a place for that: every change
// is synced, and a busy disk proves nothing more.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pack-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b := &bench{t: t, dir: dir, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.Importer = &Importer{Store: s, Into: filepath.Join(dir, "skills"), Owner: "me", Version: "test", Now: func() time.Time { return b.clock }}
	return b
}

// file writes a bundle and gives its path.
func (b *bench) file(data []byte) string {
	b.t.Helper()
	f, err := os.CreateTemp(b.dir, "bundle-*.zip")
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		b.t.Fatal(err)
	}
	return f.Name()
}

func (b *bench) preview(entries ...e) *Preview {
	b.t.Helper()
	return b.previewOf(b.file(ziptest.Zip(entries...)))
}

func (b *bench) previewOf(source string) *Preview {
	b.t.Helper()
	p, err := b.Preview(context.Background(), source)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// refused previews what must be refused as a whole and gives the code.
func (b *bench) refused(data []byte) string {
	b.t.Helper()
	p, err := b.Preview(context.Background(), b.file(data))
	if err == nil {
		b.t.Fatalf("accepted: %+v", p.Candidates)
	}
	return codeOf(err)
}

func codeOf(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return fmt.Sprint(err)
}

func (b *bench) apply(p *Preview, choices ...Choice) []Result {
	b.t.Helper()
	a, err := b.Apply(context.Background(), p.Token, choices, false)
	if err != nil {
		b.t.Fatal(err)
	}
	return a.Results
}

// install imports a skill and fails the test when that fails.
func (b *bench) install(entries ...e) Result {
	b.t.Helper()
	res := b.apply(b.preview(entries...))
	if len(res) != 1 || res[0].Status != StatusImported {
		b.t.Fatalf("install: %+v", res)
	}
	return res[0]
}

// md is a SKILL.md with a name.
func md(name string) []byte {
	return []byte("---\nname: " + name + "\ndescription: does " + name + "\n---\n\nBody of " + name + ".\n")
}

func skillAt(folder, name string, more ...e) []e {
	if folder != "" {
		folder += "/"
	}
	out := []e{{Name: folder + "SKILL.md", Data: md(name)}}
	for _, m := range more {
		m.Name = folder + m.Name
		out = append(out, m)
	}
	return out
}

func paths(p *Preview) string {
	out := []string{}
	for _, c := range p.Candidates {
		out = append(out, c.Path)
	}
	return strings.Join(out, " ")
}

func (p *Preview) at(path string) *Candidate {
	for i := range p.Candidates {
		if p.Candidates[i].Path == path {
			return &p.Candidates[i]
		}
	}
	return &Candidate{}
}

func (c *Candidate) codes() string {
	out := []string{}
	for _, d := range c.Diagnostics {
		if d.Level == LevelError {
			out = append(out, d.Code)
		}
	}
	return strings.Join(out, " ")
}

func (c *Candidate) has(code string) bool {
	for _, d := range c.Diagnostics {
		if d.Code == code {
			return true
		}
	}
	return false
}

// read gives an installed file, or "-".
func (b *bench) read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.Into, name))
	if err != nil {
		return "-"
	}
	return string(data)
}

// tree lists everything below the folder of skills, links and dot names too.
func (b *bench) tree() string {
	out := []string{}
	_ = filepath.WalkDir(b.Into, func(p string, d os.DirEntry, err error) error {
		if err == nil && p != b.Into {
			rel, _ := filepath.Rel(b.Into, p)
			out = append(out, rel)
		}
		return nil
	})
	return strings.Join(out, " ")
}
