package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/policyfile"
	"skill-mcp/internal/spawn"
)

// eight is a script that becomes a shell and seven children that would stay.
const eight = "for i in 1 2 3 4 5 6 7; do sleep 600 & done; echo ready; wait\n"

// killTable is the time from the order to end a run to its group being empty.
func killTable(b bench) ([]table, error) {
	p, err := policyfile.Shipped(rowFull)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "skill-mcp-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	skill, lock := filepath.Join(dir, "s"), filepath.Join(dir, "lock")
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(lock, 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(skill, 0o755); err != nil {
		return nil, err
	}
	script := filepath.Join(skill, "script.sh")
	if err := os.WriteFile(script, []byte(eight), 0o644); err != nil {
		return nil, err
	}
	h := spawn.Probe(p, spawn.ProbeOptions{Exe: filepath.Join(b.bin, "skill-exec"), TmpRoot: dir, LockDir: lock})
	defer h.Close()
	s, files, err := killSpec(p, skill, script)
	for _, f := range files {
		defer f.Close()
	}
	if err != nil {
		return nil, err
	}
	took, err := interleave([]row{{name: "kill", do: func() (time.Duration, error) { return killOne(h, s) }}}, b.rounds)
	if err != nil {
		return nil, err
	}
	l := took["kill"]
	return []table{{
		Title:  fmt.Sprintf("Eight processes, from the kill to an empty group, as uid %d (n=%d)", os.Getuid(), b.rounds),
		Header: []string{"median ms", "p90 ms", "most ms"}, Rows: [][]string{{ms(quantile(l, 0.5)), ms(quantile(l, 0.9)), ms(quantile(l, 1))}},
		Goals: []goal{{"kill to empty group of 8 processes", "under 5 ms", ms(quantile(l, 0.5)) + " ms", quantile(l, 0.5) < 5}},
	}}, nil
}

// killSpec is a run of the script by a shell.
func killSpec(p policy.Policy, skill, script string) (s spawn.Spec, files []*os.File, err error) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		return s, nil, err
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return s, nil, err
	}
	for _, path := range []string{skill, shell} {
		f, err := os.Open(path)
		if err != nil {
			return s, files, err
		}
		files = append(files, f)
	}
	read := []string{sleep}
	for _, program := range []string{shell, sleep} {
		out, _ := exec.Command("ldd", program).Output() // fails for a static one
		for _, f := range strings.Fields(string(out)) {
			if strings.HasPrefix(f, "/") {
				read = append(read, f)
			}
		}
	}
	return spawn.Spec{
		Policy: p, Limits: policy.Defaults(), Network: policy.NetNone, SkillDir: files[0], SkillPath: skill, ScriptPath: script,
		Exec: spawn.Program{Name: "sh", Path: shell, File: files[1], Read: read}, Env: []string{pathOnly}, Timeout: time.Minute,
	}, files, nil
}

// killOne starts the eight, waits until they are there, and ends them.
func killOne(h *spawn.Host, s spawn.Spec) (time.Duration, error) {
	out, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer out.Close()
	s.Stdout, s.Stderr = w, w
	r, err := h.Start(s)
	w.Close()
	if err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	begun := time.Now()
	left := r.Kill(2 * time.Second)
	took := time.Since(begun)
	leftovers := r.Close()
	r.Next()
	switch {
	case err != nil || line != "ready\n":
		return 0, fmt.Errorf("the script said %q: %v", line, err)
	case len(left)+len(leftovers) > 0:
		return 0, fmt.Errorf("left: %v %v", left, leftovers)
	}
	return took, nil
}
