package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const mib = 1 << 20

// held is the resident memory of a server's processes, in MiB.
type held struct{ front, monitor, waiting float64 }

// both is what the goals bound.
func (h held) both() float64 { return h.front + h.monitor }

// held looks at a started server: the front, its monitor, and the child that
// the monitor has ready for the next run.
func (r *raw) held() held {
	front := r.cmd.Process.Pid
	h := held{front: float64(resident(front)) / mib}
	for _, pid := range childrenOf(front) {
		h.monitor += float64(resident(pid)) / mib
		for _, c := range childrenOf(pid) {
			h.waiting += float64(resident(c)) / mib
		}
	}
	return h
}

func childrenOf(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is right
	for _, l := range lists {
		text, _ := os.ReadFile(l) // a thread that has ended has no children
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// memoryShelf is a skill of a size, in files of 1 MiB, with a script that
// writes as many bytes as its argument says.
func memoryShelf(size int) (string, error) {
	root, err := tree(1, 1)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, skillName(0))
	text := fmt.Sprintf("---\nname: %s\ndescription: Has a size.\nmcp-host:\n  version: 1\n  run:\n    - script: write.js\n      interpreter: node\n      timeout: 60\n---\n\nBody\n", skillName(0))
	files := map[string][]byte{"SKILL.md": []byte(text), "write.js": []byte(
		"const fs = require('fs'); const b = Buffer.alloc(65536, 'line of text\\n'); let n = +process.argv[2];\n" +
			"while (n > 0) n -= fs.writeSync(1, b, 0, Math.min(n, b.length));\n")}
	for i := range size {
		files[fmt.Sprintf("references/%03d.txt", i)] = lines(mib)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return "", err
		}
	}
	return root, nil
}

// memoryTables are the goals, and the growth with bundle and output.
func memoryTables(b bench) ([]table, error) {
	goals, err := b.residentTable()
	if err != nil {
		return nil, err
	}
	t := table{Title: "Resident memory by the size of a bundle and of a run's output", Header: []string{"what", "front, MiB", "monitor, MiB", "both", "child ready for the next run"},
		Notes: []string{"A bundle is loaded, all its files are hashed for a preview, and one is read. The output is of one run; it is shown up to 1 MiB a stream and a run that writes more than 256 MiB is ended."}}
	p := plot{File: "memory.svg", Title: "Front and monitor by size of bundle and of output", X: "MiB", Y: "MiB resident", Series: []series{{Name: "bundle"}, {Name: "output"}}}
	for i, of := range []string{"bundle", "output"} {
		for _, size := range []int{1, 4, 16, 64, 128, 255} {
			h, err := b.heldAfter(of, size)
			if err != nil {
				return nil, fmt.Errorf("%s of %d MiB: %w", of, size, err)
			}
			t.Rows = append(t.Rows, append([]string{fmt.Sprintf("%s of %d MiB", of, size)}, h.cells()...))
			p.Series[i].X, p.Series[i].Y = append(p.Series[i].X, float64(size)), append(p.Series[i].Y, h.both())
		}
	}
	t.Plots = []plot{p}
	return []table{goals, t}, nil
}

func (h held) cells() []string {
	return []string{ms(h.front), ms(h.monitor), ms(h.both()), ms(h.waiting)}
}

// residentTable is the memory after boot and after 100 results of 4 MiB.
func (b bench) residentTable() (table, error) {
	root, err := callShelf()
	if err != nil {
		return table{}, err
	}
	defer os.RemoveAll(root)
	r, err := b.product(root)
	if err != nil {
		return table{}, err
	}
	defer r.close()
	if err := r.initialize(); err != nil {
		return table{}, err
	}
	if _, err := r.call("tools/list", struct{}{}); err != nil {
		return table{}, err
	}
	booted := r.held()
	for range 100 {
		arguments := map[string]any{"name": skillName(0), "paths": []string{"0.txt", "1.txt", "2.txt", "3.txt"}}
		if _, err := r.call("tools/call", map[string]any{"name": "skill_file", "arguments": arguments}); err != nil {
			return table{}, err
		}
	}
	full := r.held()
	return table{
		Title: "Resident memory of a server", Header: []string{"when", "front, MiB", "monitor, MiB", "both", "child ready for the next run"},
		Rows: [][]string{append([]string{"after tools/list"}, booted.cells()...), append([]string{"after 100 results of 4 MiB"}, full.cells()...)},
		Goals: []goal{{"front and monitor after boot", "under 24 MiB", ms(booted.both()) + " MiB", booted.both() < 24},
			{"front and monitor after 100 results of 4 MiB", "under 48 MiB", ms(full.both()) + " MiB", full.both() < 48}},
	}, nil
}

// heldAfter is the memory after a bundle of a size was loaded and hashed, or
// after a run wrote so much.
func (b bench) heldAfter(of string, size int) (held, error) {
	bundle, output := size, 0
	if of == "output" {
		bundle, output = 1, size*mib
	}
	root, err := memoryShelf(bundle)
	if err != nil {
		return held{}, err
	}
	defer os.RemoveAll(root)
	r, err := b.product(root)
	if err != nil {
		return held{}, err
	}
	defer r.close()
	if err := r.initialize(); err != nil {
		return held{}, err
	}
	run := map[string]any{"name": skillName(0), "script": "write.js", "args": []string{fmt.Sprint(output)}}
	for tool, arguments := range map[string]any{"skill_load": map[string]any{"name": skillName(0)}, "skill_file": map[string]any{"name": skillName(0), "paths": []string{"references/000.txt"}}} {
		if _, err := r.call("tools/call", map[string]any{"name": tool, "arguments": arguments}); err != nil {
			return held{}, err
		}
	}
	token, err := r.preview(run)
	if err != nil || of == "bundle" {
		return r.held(), err
	}
	run["confirmToken"] = token
	_, err = r.call("tools/call", map[string]any{"name": "skill_run", "arguments": run})
	return r.held(), err
}

// preview asks for a run and returns the token that starts it.
func (r *raw) preview(run map[string]any) (string, error) {
	r.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.id, "method": "tools/call", "params": map[string]any{"name": "skill_run", "arguments": run}})
	if err != nil {
		return "", err
	}
	if _, err := r.in.WriteString(string(line) + "\n"); err != nil {
		return "", err
	}
	answer, err := r.read.ReadBytes('\n')
	if err != nil {
		return "", err
	}
	const key = `"confirmToken":"`
	_, rest, ok := bytes.Cut(answer, []byte(key))
	token, _, ended := bytes.Cut(rest, []byte(`"`))
	if !ok || !ended {
		return "", fmt.Errorf("preview: no token in %.400s", answer)
	}
	return string(token), nil
}
