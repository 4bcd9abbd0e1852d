package catalog

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// bigTree makes 32 skills of 2,000 files each.
func bigTree(tb testing.TB) string {
	tb.Helper()
	root := tb.TempDir()
	for i := range 32 {
		name := fmt.Sprintf("skill-%02d", i)
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(good(name)), 0o644); err != nil {
			tb.Fatal(err)
		}
		for j := range 20 {
			sub := filepath.Join(dir, fmt.Sprintf("part-%02d", j))
			if err := os.MkdirAll(sub, 0o755); err != nil {
				tb.Fatal(err)
			}
			for k := range 100 {
				if j == 0 && k == 0 {
					continue // SKILL.md is the one that fills up to 2,000
				}
				// A second name is made in a fraction of the time of a file.
				if err := os.Link(filepath.Join(dir, "SKILL.md"), filepath.Join(sub, fmt.Sprintf("file-%03d.md", k))); err != nil {
					tb.Fatal(err)
				}
			}
		}
	}
	return root
}

// find gives the time find takes over a tree.
func find(tb testing.TB, root string) time.Duration {
	tb.Helper()
	cmd := exec.Command("find", root)
	cmd.Stdout = io.Discard
	start := time.Now()
	if err := cmd.Run(); err != nil {
		tb.Fatal(err)
	}
	return time.Since(start)
}

// The two are measured in turns, as other work on the machine comes and goes,
// and the best of each counts.
func TestSixtyFourThousandFilesAreScannedInTwiceTheTimeOfFind(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("not run: it makes 64,000 files, and needs the find of Linux")
	}
	root := bigTree(t)
	scan, other := time.Hour, time.Hour
	for range 40 {
		other = min(other, find(t, root))
		start := time.Now()
		c := Scan(context.Background(), Options{Roots: []string{root}})
		scan = min(scan, time.Since(start))
		if len(c.Skills) != 32 || len(c.Problems) != 0 || len(c.Skills[0].Paths()) != 2000 {
			t.Fatalf("%d skills, problems %v", len(c.Skills), c.Problems)
		}
		if scan <= 2*other {
			break
		}
	}
	t.Logf("scan %v, find %v", scan, other)
	if scan > 2*other {
		t.Errorf("the scan takes %v, more than twice the time of find (%v)", scan, other)
	}
}

func BenchmarkScan(b *testing.B) {
	root := bigTree(b)
	b.ReportAllocs()
	for b.Loop() {
		Scan(context.Background(), Options{Roots: []string{root}})
	}
}

func BenchmarkDigestUnchanged(b *testing.B) {
	root := bigTree(b)
	s := Scan(context.Background(), Options{Roots: []string{root}}).Skills[0]
	for b.Loop() {
		if _, err := s.Digest(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
