package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// others are the rows of what a run is compared with, as far as it works here,
// and a remark for each that does not.
func (b bench) others(program, script string) (rows []row, notes []string) {
	target := []string{program}
	if script != "" {
		target = append(target, script)
	}
	drop := []string{"--no-new-privs"}
	if os.Getuid() == 0 {
		drop = append(drop, "--reuid", "65534", "--regid", "65534", "--clear-groups")
	}
	for _, o := range []struct {
		name, find string
		args       []string
		rare       int
	}{
		{"setpriv", "setpriv", drop, 0},
		{"landlock-restrict", filepath.Join(b.bin, "landlock-restrict"), []string{"-ro", "/", "-rw", "/tmp", "/dev", "--"}, 0},
		{rowWrap, "bwrap", []string{"--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"}, 0},
	} {
		path, err := exec.LookPath(o.find)
		argv := append(append([]string{path}, o.args...), target...)
		if err == nil {
			err = bare(argv...)()
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s is left out: it does not work here (%v).", o.name, err))
			continue
		}
		rows = append(rows, row{name: o.name, do: timed(bare(argv...)), rare: o.rare})
	}
	notes = append(notes, "landrun is left out: its Go module (github.com/zouuup/landrun) is not served by the module proxy. landlock-restrict is the "+
		"program of the same kind that go-landlock, the library below both, brings along.")
	row, err := b.sandboxRuntime(target)
	if err != nil {
		return rows, append(notes, fmt.Sprintf("sandbox-runtime is left out: it does not work here (%v).", err))
	}
	return append(rows, row), notes
}

// sandboxRuntime is the row of @anthropic-ai/sandbox-runtime. It starts in
// node, so it is measured in every sixth round.
func (b bench) sandboxRuntime(target []string) (row, error) {
	cli := filepath.Join(b.suites, "node_modules", "@anthropic-ai", "sandbox-runtime", "dist", "cli.js")
	if _, err := os.Stat(cli); err != nil {
		return row{}, fmt.Errorf("the package is not installed: make tools")
	}
	settings := filepath.Join(b.stage, "tmp", fmt.Sprintf("settings-%d.json", os.Getuid()))
	const text = `{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["/tmp"],"denyWrite":[]}}`
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		return row{}, err
	}
	argv := append([]string{b.node, cli, "--settings", settings}, target...)
	if err := bare(argv...)(); err != nil {
		return row{}, err
	}
	return row{name: "sandbox-runtime", do: timed(bare(argv...)), rare: 6}, nil
}
