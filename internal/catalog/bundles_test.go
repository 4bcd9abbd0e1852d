package catalog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealBundlesAreServedOrReported scans every directory of the npm bundles
// that holds skills: each of its directories is a skill or has a problem, and
// every listed file can be read.
func TestRealBundlesAreServedOrReported(t *testing.T) {
	packages := nodePackages(t)
	served := 0
	for _, b := range bundles {
		parents := map[string]bool{}
		for _, dir := range skillDirs(t, filepath.Join(packages, b)) {
			parents[filepath.Dir(dir)] = true
		}
		for parent := range parents {
			root, err := filepath.EvalSymlinks(parent)
			if err != nil {
				t.Fatal(err)
			}
			c := Scan(context.Background(), Options{Roots: []string{root}, MaxSkills: 4096})
			served += len(c.Skills)
			checkOutcome(t, root, c)
			for _, s := range c.Skills {
				checkFiles(t, s)
			}
		}
	}
	if served < 136 {
		t.Errorf("only %d skills are served", served)
	}
	t.Logf("%d skills are served", served)
}

func checkOutcome(t *testing.T, root string, c *Catalog) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "skills" {
			continue
		}
		isServed := slices.ContainsFunc(c.Skills, func(s *Skill) bool { return s.Dir == dir })
		isReported := slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Path == dir })
		if !isServed && !isReported {
			t.Errorf("%s is neither served nor reported", dir)
		}
	}
}

func checkFiles(t *testing.T, s *Skill) {
	t.Helper()
	for _, f := range s.Files() {
		if got := s.Read(f.Path, MaxRead); got.Err != nil || got.Size != f.Size {
			t.Errorf("%s: %s: %d bytes, listed with %d: %v", s.Dir, f.Path, got.Size, f.Size, got.Err)
		}
	}
	if _, err := s.Digest(t.Context()); err != nil {
		t.Errorf("%s: %v", s.Dir, err)
	}
	if s.Description == nil {
		t.Errorf("%s has no description", s.Dir)
	}
}
