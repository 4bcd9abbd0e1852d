package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"skill-mcp/internal/policy"
)

// idle is how long nothing happens before a start after idleness.
const idle = 50 * time.Millisecond

// after waits before a sample; what is measured is a start after idleness.
func after(d time.Duration, do func() (time.Duration, error)) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		time.Sleep(d)
		return do()
	}
}

// runTables compares a run with a bare start and with other ways to fence one.
func runTables(b bench) ([]table, error) {
	var out []table
	for _, program := range []string{"/bin/true", b.node} {
		t, err := b.runTable(program)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// names of rows that goals speak of.
const (
	rowBare, rowBareIdle = "bare", "bare, after 50 ms idle"
	rowFull, rowIdle     = "standalone", "standalone, after 50 ms idle"
	rowWrap              = "bubblewrap"
	rowPortable          = "portable"
)

// runTable is the table of one program.
func (b bench) runTable(program string) (table, error) {
	var rows []row
	var notes []string
	var script string
	for _, shipped := range []string{rowFull, "hosted", "strict", rowPortable} {
		w, err := newWall(b.bin, shipped, program, "", policy.NetNone)
		if err == nil {
			if err = w.one(); err != nil { // a layer that this policy requires and this user has not
				w.close()
			}
		}
		if err != nil && shipped != rowFull {
			notes = append(notes, fmt.Sprintf("%s is left out: %v.", shipped, err))
			continue
		}
		if err != nil {
			return table{}, err
		}
		defer w.close()
		script = filepath.Join(w.root, "s", scriptName)
		rows = append(rows, row{name: shipped, do: timed(w.one)})
		if shipped == rowFull {
			rows = append(rows, row{name: rowIdle, do: after(idle, timed(w.one))})
		}
	}
	direct := timed(bare(program, script))
	rows = append(rows, row{name: rowBare, do: direct}, row{name: "bare again", do: direct}, row{name: rowBareIdle, do: after(idle, direct)})
	others, missing := b.others(program, script)
	rows, notes = append(rows, others...), append(notes, missing...)
	s, err := interleave(rows, b.rounds)
	if err != nil {
		return table{}, err
	}
	title := fmt.Sprintf("Run of %s as uid %d: added to a bare start of %s ms (n=%d)", filepath.Base(program), os.Getuid(), ms(quantile(s[rowBare], 0.5)), b.rounds)
	t := added(title, rows, s)
	t.Notes = notes
	t.Goals = runGoals(filepath.Base(program), s)
	t.Plots[0].File = fmt.Sprintf("run-%s-%d.svg", filepath.Base(program), os.Getuid())
	return t, nil
}

// baseOf is the row that another is measured against.
func baseOf(name string) string {
	if name == rowIdle {
		return rowBareIdle
	}
	return rowBare
}

// added is a table of what rows add to their base.
func added(title string, rows []row, s samples) table {
	t := table{Title: title, Header: []string{"row", "median ms", "p90 ms", "of bubblewrap"}}
	p := plot{Title: title, Y: "ms added, median", Series: []series{{}}}
	for _, r := range rows {
		if r.name == rowBare || r.name == rowBareIdle {
			continue
		}
		more := s.less(r.name, baseOf(r.name))
		cell := "-"
		if s[rowWrap] != nil {
			cell = ratioOf(more, s.less(rowWrap, rowBare)).String()
		}
		t.Rows = append(t.Rows, []string{r.name, ms(quantile(more, 0.5)), ms(quantile(more, 0.9)), cell})
		if r.rare == 0 { // those are so much slower that nothing else would be seen
			p.Names = append(p.Names, r.name)
			p.Series[0].Y = append(p.Series[0].Y, quantile(more, 0.5))
		}
	}
	t.Plots = []plot{p}
	return t
}

// runGoals judges the promises of a run's overhead.
func runGoals(program string, s samples) []goal {
	who := fmt.Sprintf("%s as uid %d", program, os.Getuid())
	full := s.less(rowFull, rowBare)
	goals := []goal{
		atMost("full fence added to "+who, quantile(full, 0.5), 3, "ms"),
		atMost("full fence after 50 ms idle, p90, "+who, quantile(s.less(rowIdle, rowBareIdle), 0.9), 5, "ms"),
	}
	if s[rowPortable] != nil {
		goals = append(goals, atMost("portable added to "+who, quantile(s.less(rowPortable, rowBare), 0.5), 2, "ms"))
	}
	if s[rowWrap] != nil {
		goals = append(goals, ratioAtMost("full fence of bubblewrap's overhead, "+who, ratioOf(full, s.less(rowWrap, rowBare)), 0.6))
	}
	return goals
}

// busyTable is the comparison while every core has something else to do.
func busyTable(b bench) ([]table, error) {
	spin := exec.Command(b.self, "role", "spin")
	in, err := spin.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := spin.Start(); err != nil {
		return nil, err
	}
	defer func() {
		in.Close()
		_ = spin.Process.Kill()
		_ = spin.Wait()
	}()
	w, err := newWall(b.bin, rowFull, "/bin/true", "", policy.NetNone)
	if err != nil {
		return nil, err
	}
	defer w.close()
	direct := timed(bare("/bin/true"))
	rows := []row{{name: rowFull, do: timed(w.one)}, {name: rowBare, do: direct}, {name: "bare again", do: direct}}
	others, notes := b.others("/bin/true", "")
	for _, r := range others {
		if r.rare == 0 {
			rows = append(rows, r)
		}
	}
	s, err := interleave(rows, b.rounds)
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("Run of true on busy cores as uid %d: added to a bare start of %s ms (n=%d)", os.Getuid(), ms(quantile(s[rowBare], 0.5)), b.rounds)
	t := added(title, rows, s)
	t.Notes = notes
	t.Plots[0].File = fmt.Sprintf("busy-%d.svg", os.Getuid())
	if s[rowWrap] != nil {
		t.Goals = []goal{ratioAtMost(fmt.Sprintf("full fence of bubblewrap's overhead on busy cores, uid %d", os.Getuid()),
			ratioOf(s.less(rowFull, rowBare), s.less(rowWrap, rowBare)), 0.5)}
	}
	return []table{t}, nil
}
