package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"skill-mcp/internal/policy"
)

// approval is how long the one who approves a run of these tables takes; a
// person takes longer, and the figures do not depend on it.
const approval = 30 * time.Millisecond

// egressTable shows what a network of declared hosts adds to a run without one:
// a second process, a device and its routes. The script reaches no host. Each
// row has a server of its own, as a person has one, so that each keeps ready
// what its last run needed. A run follows its preview, as every run of the
// server does, but for the rows that say at once.
func egressTable(b bench) ([]table, error) {
	var rows []row
	for _, r := range []struct {
		name    string
		network policy.Network
		hosts   []string
		preview bool
	}{
		{"none", policy.NetNone, []string{}, true},
		{"none again", policy.NetNone, []string{}, true},
		{"declared, no host", policy.NetDeclared, []string{}, true},
		{"declared", policy.NetDeclared, []string{"host.example"}, true},
		{"none, at once", policy.NetNone, []string{}, false},
		{"declared, at once", policy.NetDeclared, []string{"host.example"}, false},
	} {
		w, err := newWall(b.bin, "standalone", "/bin/true", "", r.network)
		if err != nil {
			return nil, err
		}
		defer w.close()
		w.hosts = r.hosts
		do := timed(w.one)
		if r.preview {
			do = w.approved
		}
		rows = append(rows, row{name: r.name, do: do})
	}
	s, err := interleave(rows, b.rounds)
	if err != nil {
		return nil, err
	}
	var cells [][]string
	for _, r := range rows {
		base := "none"
		if r.name == "declared, at once" {
			base = "none, at once"
		}
		cell := []string{r.name}
		for _, q := range []float64{0, 0.25, 0.5, 0.9} {
			cell = append(cell, ms(quantile(s[r.name], q)))
		}
		for _, q := range []float64{0, 0.25, 0.5} {
			cell = append(cell, ms(quantile(s[r.name], q)-quantile(s[base], q)))
		}
		cells = append(cells, append(cell, ms(quantile(s.less(r.name, base), 0.5))))
	}
	return []table{{Title: fmt.Sprintf("Run of true by its network as uid %d, request to result (n=%d)", os.Getuid(), b.rounds),
		Header: []string{"network", "min ms", "p25", "median", "p90", "added at min", "at p25", "at median", "median of pairs"}, Rows: cells}}, nil
}

// approved is a run after its preview and the approval, which do not count.
func (w *wall) approved() (time.Duration, error) {
	if _, err := w.Plan(context.Background(), w.request()); err != nil {
		return 0, err
	}
	time.Sleep(approval) // stands for a person, and is not measured
	return timed(w.one)()
}
