package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/catalog"
)

// walk is the floor of a listing: one thread that reads directories and asks
// each name for its size, and keeps nothing.
func walk(dir int, buf []byte) (files int, err error) {
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil || n == 0 {
			return files, err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			var st unix.Stat_t
			if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return files, err
			}
			if st.Mode&unix.S_IFMT != unix.S_IFDIR {
				files++
				continue
			}
			sub, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
			if err != nil {
				return files, err
			}
			more, err := walk(sub, make([]byte, len(buf)))
			unix.Close(sub)
			if files += more; err != nil {
				return files, err
			}
		}
	}
}

// walking is a row of walk, which has to find that many files.
func walking(root string, want int) func() (time.Duration, error) {
	return timed(func() error {
		dir, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		n, err := walk(dir, make([]byte, 1<<15))
		if err == nil && n != want {
			err = fmt.Errorf("%d files, not %d", n, want)
		}
		return err
	})
}

// scanning is a row of the product's own listing, as its front does it.
func scanning(root string, want int) func() (time.Duration, error) {
	return timed(func() error {
		c := catalog.Scan(context.Background(), catalog.Options{Roots: []string{root}, MaxSkills: 4096})
		c.Measure()
		n := 0
		for _, s := range c.Skills {
			n += len(s.Files())
		}
		if n != want {
			return fmt.Errorf("%d files, not %d", n, want)
		}
		return nil
	})
}

// scanTables compare listings of many files and of many skills.
func scanTables(b bench) ([]table, error) {
	large, err := b.largeTable()
	if err != nil {
		return nil, err
	}
	growth, err := b.growthTable()
	return []table{large, growth}, err
}

// largeTable is one listing of 64,000 files.
func (b bench) largeTable() (table, error) {
	const skills, files = 32, 2000
	root, err := tree(skills, files)
	if err != nil {
		return table{}, err
	}
	defer os.RemoveAll(root)
	rounds := min(b.rounds, 60)
	toList := boot(func() (*raw, error) { return b.product(root) }, "tools/call", map[string]any{"name": "skill_list", "arguments": struct{}{}})
	const floor, scan = "getdents and fstatat, one thread", "catalog.Scan"
	rows := []row{
		{name: floor, do: walking(root, skills*files)}, {name: floor + " again", do: walking(root, skills*files)},
		{name: "find -printf %s", do: timed(bare("find", root, "-printf", "%s\\n"))},
		{name: scan, do: scanning(root, skills*files)}, {name: "server: start to skill_list", do: toList},
	}
	s, err := interleave(rows, rounds)
	if err != nil {
		return table{}, err
	}
	t := table{Title: fmt.Sprintf("Listing 64,000 files in 32 skills (n=%d)", rounds), Header: []string{"row", "median ms", "p90 ms", "of one thread", "of find"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.name, ms(quantile(s[r.name], 0.5)), ms(quantile(s[r.name], 0.9)),
			ratioOf(s[r.name], s[floor]).String(), ratioOf(s[r.name], s["find -printf %s"]).String()})
	}
	t.Goals = []goal{ratioAtMost("listing 64,000 files with sizes, of getdents and fstatat in one thread", ratioOf(s[scan], s[floor]), 1.3)}
	return t, nil
}

// growthTable is how a scan grows with the number of skills.
func (b bench) growthTable() (table, error) {
	rounds := min(b.rounds, 20)
	t := table{Title: fmt.Sprintf("Scan of skills of 4 files each (n=%d)", rounds), Header: []string{"skills", "catalog.Scan, ms", "one thread, ms", "find, ms", "µs a skill"}}
	p := plot{File: "scan.svg", Title: "Scan of skills of 4 files each", X: "skills", Y: "ms, median", Series: []series{{Name: "catalog.Scan"}, {Name: "getdents and fstatat"}, {Name: "find"}}}
	for _, n := range []int{1, 8, 64, 512, 4096} {
		root, err := tree(n, 4)
		if err != nil {
			return t, err
		}
		s, err := interleave([]row{
			{name: "scan", do: scanning(root, 4*n)}, {name: "walk", do: walking(root, 4*n)}, {name: "find", do: timed(bare("find", root, "-printf", "%s\\n"))},
		}, rounds)
		os.RemoveAll(root)
		if err != nil {
			return t, err
		}
		figures := []float64{quantile(s["scan"], 0.5), quantile(s["walk"], 0.5), quantile(s["find"], 0.5)}
		t.Rows = append(t.Rows, []string{fmt.Sprint(n), ms(figures[0]), ms(figures[1]), ms(figures[2]), fmt.Sprintf("%.0f", figures[0]/float64(n)*1000)})
		for i, v := range figures {
			p.Series[i].X, p.Series[i].Y = append(p.Series[i].X, float64(n)), append(p.Series[i].Y, v)
		}
	}
	t.Plots = []plot{p}
	return t, nil
}
