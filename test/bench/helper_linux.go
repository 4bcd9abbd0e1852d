package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// helpers are two builds of skill-exec: the product's, and one in which what
// mode declared needs of it is a stub.
type helpers struct {
	with, without         string // paths
	withSize, withoutSize int64  // in bytes
}

// buildHelpers builds both into dir, as the Makefile does. It is called in a
// directory of the module.
func buildHelpers(dir string) (helpers, error) {
	h := helpers{with: filepath.Join(dir, "with"), without: filepath.Join(dir, "without")}
	overlay, err := stubs(dir)
	if err != nil {
		return h, err
	}
	for path, flags := range map[string][]string{h.with: nil, h.without: {"-overlay", overlay}} {
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", path}, flags...)
		cmd := exec.Command("go", append(args, "skill-mcp/cmd/skill-exec")...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return h, fmt.Errorf("build the helper: %w\n%s", err, out)
		}
	}
	with, err := os.Stat(h.with)
	if err != nil {
		return h, err
	}
	without, err := os.Stat(h.without)
	if err != nil {
		return h, err
	}
	h.withSize, h.withoutSize = with.Size(), without.Size()
	return h, nil
}

// stubs writes an overlay of the build in which two packages are the stubs of
// testdata.
func stubs(dir string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	root := string(out[:len(out)-1])
	replace := map[string]string{}
	for _, name := range []string{"uplink", "egresswire"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", name, "*.go"))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			replace[f] = "" // the file is not there
		}
		replace[filepath.Join(root, "internal", name, "doc.go")] = filepath.Join(root, "test", "bench", "testdata", name+".go.txt")
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// helperTable shows what mode declared adds to the helper of every run: its
// size, and how long it takes to start (a call without a role, which ends when
// the runtime and the packages are ready).
func helperTable(b bench) ([]table, error) {
	dir, err := os.MkdirTemp("", "skill-mcp-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	h, err := buildHelpers(dir)
	if err != nil {
		return nil, err
	}
	s, err := h.starts(5 * b.rounds)
	if err != nil {
		return nil, err
	}
	var cells [][]string
	for _, name := range []string{"without", "without again", "with"} {
		size := h.withoutSize
		if name == "with" {
			size = h.withSize
		}
		cells = append(cells, []string{name, fmt.Sprint(size), percent(float64(size), float64(h.withoutSize)),
			ms(quantile(s[name], 0)), ms(quantile(s[name], 0.5)),
			percent(quantile(s[name], 0), quantile(s["without"], 0)), percent(quantile(s[name], 0.5), quantile(s["without"], 0.5))})
	}
	return []table{{Title: fmt.Sprintf("The helper with and without mode declared (n=%d)", 5*b.rounds),
		Header: []string{"helper", "bytes", "more", "start, min ms", "median ms", "more at min", "more at median"}, Rows: cells}}, nil
}

// starts takes samples of the starts of both, and of one twice.
func (h helpers) starts(rounds int) (samples, error) {
	start := func(path string) func() error {
		return func() error {
			var refused *exec.ExitError // it does nothing without a role, and says so
			if err := exec.Command(path).Run(); !errors.As(err, &refused) {
				return fmt.Errorf("start %s: %v", path, err)
			}
			return nil
		}
	}
	return interleave([]row{
		{name: "without", do: timed(start(h.without))}, {name: "without again", do: timed(start(h.without))}, {name: "with", do: timed(start(h.with))},
	}, rounds)
}
