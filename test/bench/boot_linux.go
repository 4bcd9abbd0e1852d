package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// product starts the built server over a folder.
func (b bench) product(root string, env ...string) (*raw, error) {
	return startRaw(append([]string{"SKILLS_DIR=" + root, "MCP_SKILL_MAX=4096"}, env...), filepath.Join(b.bin, "skill-mcp"))
}

// boot is the time from the start of a server to the answer of a call, of
// initialize itself where that is the method; the end of the server is not
// measured.
func boot(start func() (*raw, error), method string, params any) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begun := time.Now()
		r, err := start()
		if err != nil {
			return 0, err
		}
		defer r.close()
		if err := r.initialize(); err != nil {
			return 0, err
		}
		if method != "initialize" {
			if _, err := r.call(method, params); err != nil {
				return 0, err
			}
		}
		return time.Since(begun), nil
	}
}

// Rows of the boot table that others are compared with.
const (
	rowNode    = "node -e 0"
	rowMinimal = "minimal mcp-go, tools/list"
	rowScript  = "TypeScript skill server, 32 skills of 4 files, tools/list"
)

// bootTable compares the first answers with those of other servers and with
// the start of node.
func bootTable(b bench) ([]table, error) {
	type shelf struct {
		name          string
		skills, files int
	}
	shelves := []shelf{{"no skill", 0, 0}, {"32 skills of 4 files", 32, 4}, {"64,000 files in 32 skills", 32, 2000}}
	var rows []row
	roots := map[string]string{}
	for _, s := range shelves {
		root, err := tree(s.skills, s.files)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(root)
		roots[s.name] = root
		for _, method := range []string{"initialize", "tools/list"} {
			rows = append(rows, row{name: s.name + ", " + method, do: boot(func() (*raw, error) { return b.product(root) }, method, struct{}{})})
		}
	}
	minimal := func() (*raw, error) { return startRaw(nil, filepath.Join(b.bin, "minimal"), roots["no skill"]) }
	node := timed(bare(b.node, "-e", "0"))
	rows = append(rows, row{name: rowNode, do: node}, row{name: rowNode + " again", do: node},
		row{name: "minimal mcp-go, initialize", do: boot(minimal, "initialize", nil)}, row{name: rowMinimal, do: boot(minimal, "tools/list", struct{}{})})
	script := boot(func() (*raw, error) {
		return startRaw(nil, b.node, filepath.Join(b.suites, "skill-server.mjs"), roots["32 skills of 4 files"])
	}, "tools/list", struct{}{})
	var notes []string
	if _, err := script(); err != nil {
		notes = append(notes, fmt.Sprintf("The TypeScript skill server is left out: it does not work here (%v; make tools).", err))
	} else {
		rows = append(rows, row{name: rowScript, do: script})
	}
	s, err := interleave(rows, b.rounds)
	if err != nil {
		return nil, err
	}
	t := table{Title: fmt.Sprintf("From the start of the server to an answer (n=%d)", b.rounds), Notes: notes,
		Header: []string{"row", "median ms", "p90 ms", "of node", "of minimal mcp-go"}}
	p := plot{File: "boot.svg", Title: "From the start of a server to an answer", Y: "ms, median", Series: []series{{}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.name, ms(quantile(s[r.name], 0.5)), ms(quantile(s[r.name], 0.9)),
			ratioOf(s[r.name], s[rowNode]).String(), ratioOf(s[r.name], s[rowMinimal]).String()})
		p.Names, p.Series[0].Y = append(p.Names, r.name), append(p.Series[0].Y, quantile(s[r.name], 0.5))
	}
	t.Plots = []plot{p}
	for _, f := range shelves {
		name := f.name + ", tools/list"
		t.Goals = append(t.Goals, ratioAtMost("start to tools/list of minimal mcp-go's, "+f.name, ratioOf(s[name], s[rowMinimal]), 2),
			ratioAtMost("start to tools/list of node's start, "+f.name, ratioOf(s[name], s[rowNode]), 0.6))
	}
	if s[rowScript] != nil {
		r := ratioOf(s[rowScript], s["32 skills of 4 files, tools/list"])
		t.Goals = append(t.Goals, goal{"start to tools/list: the TypeScript skill server takes that many times as long, 32 skills of 4 files", "at least 10", r.String(), r.Value >= 10})
	}
	return []table{t}, nil
}
