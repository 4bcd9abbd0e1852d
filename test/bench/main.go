// Command bench measures the built programs against what they are compared
// with, as ratios within one run: samples interleaved in random order,
// differences taken within a round, and a second bare row that shows the
// noise. Absolute times mean nothing beyond the machine they were taken on.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder of the built programs")
	rounds := flag.Int("n", 60, "rounds of each table")
	only := flag.String("only", "", "one table: run, egress, helper, boot, call or scan")
	flag.Parse()
	dir, err := filepath.Abs(*bin)
	if err == nil {
		err = tables(dir, *rounds, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// tables prints every table, or one.
func tables(bin string, rounds int, only string) error {
	for _, t := range []struct {
		name string
		make func(bin string, rounds int) error
	}{{"run", runTables}, {"egress", egressTable}, {"helper", helperTable}, {"boot", bootTable}, {"call", callTable}, {"scan", scanTable}} {
		if only == "" || only == t.name {
			if err := t.make(bin, rounds); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

// row is one thing that is measured.
type row struct {
	name string
	do   func() (time.Duration, error) // one sample
}

// timed measures a function as a whole.
func timed(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begun := time.Now()
		err := f()
		return time.Since(begun), err
	}
}

// samples are the figures of one table: per row one value a round, in ms.
type samples map[string][]float64

// interleave takes rounds of all rows, each round in another order.
func interleave(rows []row, rounds int) (samples, error) {
	s := samples{}
	for i := range rounds + 2 { // two rounds fill the caches
		for _, j := range rand.Perm(len(rows)) {
			d, err := rows[j].do()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rows[j].name, err)
			}
			if i >= 2 {
				s[rows[j].name] = append(s[rows[j].name], float64(d)/float64(time.Millisecond))
			}
		}
	}
	return s, nil
}

// less gives the paired differences to another row.
func (s samples) less(name, base string) []float64 {
	out := make([]float64, len(s[name]))
	for i, v := range s[name] {
		out[i] = v - s[base][i]
	}
	return out
}

// quantile of a list, 0 to 1.
func quantile(list []float64, q float64) float64 {
	l := append([]float64{}, list...)
	sort.Float64s(l)
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// printTable prints rows of cells as Markdown.
func printTable(title string, header []string, rows [][]string) {
	fmt.Printf("\n### %s\n\n| %s |\n|%s\n", title, strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, r := range rows {
		fmt.Printf("| %s |\n", strings.Join(r, " | "))
	}
}

func ms(v float64) string { return fmt.Sprintf("%.2f", v) }
