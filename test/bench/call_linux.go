package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// lines is text as documents have it: words, quotes and line ends.
func lines(size int) []byte {
	return bytes.Repeat([]byte("A line of text with \"quotes\" in it.\n"), size/36+1)[:size]
}

// callShelf makes a skill with files of the sizes that calls read; the binary
// ones have no text, so they are answered in base64.
func callShelf() (root string, err error) {
	if root, err = tree(1, 4); err != nil {
		return "", err
	}
	draw := rand.NewChaCha8([32]byte{})
	files := map[string][]byte{"1k.txt": lines(1 << 10), "1m.txt": lines(1 << 20)}
	for i := range 4 {
		binary := make([]byte, 1<<20-1<<10)
		_, _ = draw.Read(binary)
		files[fmt.Sprintf("%d.txt", i)], files[fmt.Sprintf("%d.bin", i)] = lines(1<<20), binary
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, skillName(0), name), text, 0o644); err != nil {
			return "", err
		}
	}
	return root, nil
}

// reading is one size of answer that all three sides give.
type reading struct {
	name  string
	paths []string
	bound float64 // of mcp-go's time
}

func readings() []reading {
	return []reading{
		{"1 KiB", []string{"1k.txt"}, 0.5},
		{"1 MiB of text", []string{"1m.txt"}, 0.3},
		{"4 MiB of text", []string{"0.txt", "1.txt", "2.txt", "3.txt"}, 0},
		{"4 MiB in base64", []string{"0.bin", "1.bin", "2.bin", "3.bin"}, 0.3},
	}
}

// callTable measures calls of running servers: the product, mcp-go's stock
// stdio with the same answer, and a process that writes as many bytes.
func callTable(b bench) ([]table, error) {
	root, err := callShelf()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	ours, err := b.product(root)
	if err != nil {
		return nil, err
	}
	defer ours.close()
	stock, err := startRaw(nil, filepath.Join(b.bin, "minimal"), filepath.Join(root, skillName(0)))
	if err != nil {
		return nil, err
	}
	defer stock.close()
	for _, r := range []*raw{ours, stock} {
		if err := r.initialize(); err != nil {
			return nil, err
		}
	}
	rows := []row{{name: "skill_list", do: asking(ours, "skill_list", struct{}{})}, {name: "skill_load", do: asking(ours, "skill_load", map[string]any{"name": skillName(0)})}}
	for _, r := range readings() {
		arguments := map[string]any{"name": skillName(0), "paths": r.paths}
		length, err := ours.call("tools/call", map[string]any{"name": "skill_file", "arguments": arguments})
		if err != nil {
			return nil, err
		}
		pipe, err := startRaw(nil, b.self, "role", "reply", fmt.Sprint(length))
		if err != nil {
			return nil, err
		}
		defer pipe.close()
		rows = append(rows, row{name: "skill_file, " + r.name, do: asking(ours, "skill_file", arguments)},
			row{name: "mcp-go, " + r.name, do: asking(stock, "file", map[string]any{"paths": r.paths})},
			row{name: "pipe, " + r.name, do: timed(func() error { _, _, err := pipe.ask("more"); return err })})
	}
	rows = append(rows, row{name: "skill_file, 1 KiB again", do: rows[2].do})
	s, err := interleave(rows, b.rounds*3)
	if err != nil {
		return nil, err
	}
	return []table{b.callResult(rows, s)}, nil
}

// asking is a call of a tool, whose parameters are made beforehand. No id is
// used twice: the one before is free only when its answer is out.
func asking(r *raw, tool string, arguments any) func() (time.Duration, error) {
	params, _ := json.Marshal(map[string]any{"name": tool, "arguments": arguments}) // strings and lists: they have JSON
	return func() (time.Duration, error) {
		r.id++
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, r.id, params)
		return timed(func() error { _, err := r.checked(line, tool); return err })()
	}
}

// callResult is the table with its goals.
func (b bench) callResult(rows []row, s samples) table {
	t := table{Title: fmt.Sprintf("Calls of a running server (n=%d)", b.rounds*3), Header: []string{"row", "median ms", "p90 ms", "of mcp-go's stock stdio", "of a bare pipe copy"},
		Notes: []string{"mcp-go answers in the same shape; the pipe is a process that has the product's answer ready and writes it."}}
	p := plot{File: "call.svg", Title: "Calls of a running server", X: "bytes of files", Y: "ms, median", Series: []series{{Name: "skill_file"}, {Name: "mcp-go"}, {Name: "pipe"}}}
	for _, r := range rows {
		cells := []string{r.name, fmt.Sprintf("%.3f", quantile(s[r.name], 0.5)), fmt.Sprintf("%.3f", quantile(s[r.name], 0.9)), "", ""}
		if _, size, ok := strings.Cut(r.name, "skill_file, "); ok && !strings.HasSuffix(size, "again") {
			cells[3], cells[4] = ratioOf(s[r.name], s["mcp-go, "+size]).String(), ratioOf(s[r.name], s["pipe, "+size]).String()
		}
		t.Rows = append(t.Rows, cells)
	}
	sizes := []float64{1 << 10, 1 << 20, 4 << 20}
	for i, r := range readings() {
		if r.bound > 0 {
			t.Goals = append(t.Goals, ratioAtMost("tools/call of mcp-go's, "+r.name, ratioOf(s["skill_file, "+r.name], s["mcp-go, "+r.name]), r.bound))
		}
		if i == len(sizes) {
			break
		}
		for j := range p.Series {
			p.Series[j].X = append(p.Series[j].X, sizes[i])
			p.Series[j].Y = append(p.Series[j].Y, quantile(s[p.Series[j].Name+", "+r.name], 0.5))
		}
	}
	t.Plots = []plot{p}
	return t
}
