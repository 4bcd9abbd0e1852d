package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// section is one measurement and what it found.
type section struct {
	measurement
	tables []table
}

// What stands between these lines is written by a person, and kept.
const (
	keepBegin = "<!-- written by hand: kept by the command -->"
	keepEnd   = "<!-- end -->"
)

// writeDocument writes performance.md and its plots below a folder. Sections
// that were not measured this time are missing from it.
func writeDocument(docs string, facts []string, all []section) error {
	path := filepath.Join(docs, "performance.md")
	before, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	pictures := filepath.Join(docs, "performance")
	if err := os.RemoveAll(pictures); err != nil {
		return err
	}
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return err
	}
	for _, s := range all {
		for _, t := range s.tables {
			for _, p := range t.Plots {
				if err := os.WriteFile(filepath.Join(pictures, p.File), []byte(p.svg()), 0o644); err != nil {
					return err
				}
			}
		}
	}
	return os.WriteFile(path, []byte(document(facts, all, kept(string(before)))), 0o644)
}

// kept is what a person wrote into the document before, with its markers.
func kept(before string) string {
	from, to := strings.Index(before, keepBegin), strings.Index(before, keepEnd)
	if from < 0 || to < from {
		return keepBegin + "\n## Where the time goes\n" + keepEnd
	}
	return before[from : to+len(keepEnd)]
}

// document is the text of performance.md.
func document(facts []string, all []section, byHand string) string {
	var b strings.Builder
	b.WriteString("# Performance\n\nMade by `make performance`; what a person wrote stands under \"Where the time goes\". Every table is one run of interleaved\n" +
		"samples: each round takes all rows in a new random order, differences are taken within a round, and a row that is measured twice\n" +
		"shows the noise. Ratios are of medians, with a 95 % interval from a bootstrap over rounds. Programs start with an environment of\n" +
		"`PATH` alone. The figures are those of one machine; the ratios are what carries over.\n\n")
	for _, f := range facts {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	b.WriteString("\n## Goals\n\n| table | goal | bound | figure | |\n|---|---|---|---|---|\n")
	for _, s := range all {
		for _, t := range s.tables {
			for _, g := range t.Goals {
				fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n", s.name, s.name, g.What, g.Bound, g.Figure, g.verdict())
			}
		}
	}
	fmt.Fprintf(&b, "\n%s\n", byHand)
	for _, m := range measurements() {
		s := found(all, m)
		fmt.Fprintf(&b, "\n## %s\n\n%s `go run ./test/bench -only %s`\n", s.name, s.about, s.name)
		if len(s.tables) == 0 {
			b.WriteString("\nNot measured this time.\n")
		}
		for _, t := range s.tables {
			t.Goals = nil // they stand in the summary
			b.WriteString(t.markdown())
			for _, p := range t.Plots {
				fmt.Fprintf(&b, "\n![%s](performance/%s)\n", p.Title, p.File)
			}
		}
	}
	return b.String()
}

// found is the section of a measurement, empty when it was left out.
func found(all []section, m measurement) section {
	for _, s := range all {
		if s.name == m.name {
			return s
		}
	}
	return section{measurement: m}
}
