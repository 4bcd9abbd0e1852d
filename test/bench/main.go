// Command bench measures the built programs against what they are compared
// with, as ratios within one run: samples interleaved in random order,
// differences taken within a round, and a second bare row that shows the
// noise. Absolute times mean nothing beyond the machine they were taken on.
//
// With -doc the tables become docs/performance.md and its plots.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "role" {
		exit(role(os.Args[2:])) // a process that a table needs
	}
	o := options{}
	flag.StringVar(&o.bin, "bin", "bin", "folder of the built programs")
	flag.IntVar(&o.rounds, "n", 60, "rounds of each table")
	flag.StringVar(&o.only, "only", "", "one table: "+strings.Join(names(), ", "))
	flag.BoolVar(&o.doc, "doc", false, "write docs/performance.md and its plots")
	flag.BoolVar(&o.json, "json", false, "print the tables as JSON")
	flag.DurationVar(&o.within, "within", 30*time.Minute, "end after this time, whatever has been measured")
	flag.Parse()
	exit(run(o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// options are the flags.
type options struct {
	bin, only string
	rounds    int
	doc, json bool
	within    time.Duration
}

// measurement is one table of the command line, which may print several.
type measurement struct {
	name  string
	about string // what it shows, for the document
	plain bool   // also measured as an ordinary user
	make  func(b bench) ([]table, error)
}

// names are those of all measurements, in the order of the document.
func names() []string {
	var out []string
	for _, m := range measurements() {
		out = append(out, m.name)
	}
	return out
}

// measurements are all there are.
func measurements() []measurement {
	return []measurement{
		{"run", "What the fence adds to the start of a program, by policy, beside other ways to fence one.", true, runTables},
		{"busy", "The same while a process spins on every core.", true, busyTable},
		{"egress", "What a network of declared hosts adds to a run.", false, egressTable},
		{"helper", "What that mode adds to the helper of every run.", false, helperTable},
		{"boot", "From the start of a server to its first answers.", false, bootTable},
		{"call", "Calls of a running server, read by a client that decodes nothing.", false, callTable},
		{"scan", "Listing files with their sizes.", false, scanTables},
		{"flood", "Taking in what a script writes.", false, floodTable},
		{"memory", "Resident memory of front and monitor.", false, memoryTables},
		{"kill", "From the order to end a run to nothing being left of it.", false, killTable},
	}
}

// run makes the tables and prints them or the document.
func run(o options) error {
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer b.close()
	var all []section
	for _, m := range measurements() {
		if o.only != "" && !strings.Contains(","+o.only+",", ","+m.name+",") {
			continue
		}
		begun := time.Now()
		tables, err := b.measure(m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, section{m, tables})
		fmt.Fprintf(os.Stderr, "bench: %s took %.0f s\n", m.name, time.Since(begun).Seconds())
		if !o.json {
			for _, t := range tables {
				fmt.Print(t.markdown())
			}
		}
	}
	if o.json {
		var flat []table
		for _, s := range all {
			flat = append(flat, s.tables...)
		}
		return json.NewEncoder(os.Stdout).Encode(flat)
	}
	if o.doc {
		return writeDocument("docs", b.facts(), all)
	}
	return nil
}
