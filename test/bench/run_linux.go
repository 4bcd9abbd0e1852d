package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/policyfile"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
	"syscall"
)

// wall is a started helper and the skill it runs.
type wall struct {
	*runner.Runner
	root   string
	digest string
	hosts  []string // that each run declares
	helper *os.Process
}

// newWall starts the built helper with a policy that has one interpreter.
func newWall(bin, shipped, program string, network policy.Network) (*wall, error) {
	p, err := policyfile.Shipped(shipped)
	if err != nil {
		return nil, err
	}
	p.Network = network
	p.Interpreters = []policy.Interpreter{{Name: "program", Path: program, Why: "what is measured"}}
	root, err := os.MkdirTemp("", "skill-mcp-bench-")
	if err != nil {
		return nil, err
	}
	w := &wall{root: root, hosts: []string{}}
	if err := os.Chmod(root, 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(root, "s"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(root, "s", "empty.js"), nil, 0o644); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(nil)
	w.digest = hex.EncodeToString(sum[:])
	conn, helper, err := startMonitor(bin, wire.Boot{
		Policy: p, Grants: grant.Grants{From: grant.FromDeclaration}, Roots: []string{root}, FrontUID: -1,
	})
	if err != nil {
		return nil, err
	}
	w.Runner, w.helper = runner.New(conn), helper
	_, err = w.Ready(context.Background())
	return w, err
}

// close ends the helper and removes the skill.
func (w *wall) close() {
	w.Close()
	_, _ = w.helper.Wait()
	os.RemoveAll(w.root)
}

func (w *wall) request() wire.Request {
	return wire.Request{
		Dir: "s", Skill: "s", Script: "empty.js", Args: []string{}, Interpreter: "program", Env: []string{}, TimeoutMs: 10_000,
		ScriptSHA256: w.digest, BundleSHA256: w.digest, Hosts: w.hosts,
	}
}

// one is a whole run, from the request to the result.
func (w *wall) one() error {
	r, err := w.Run(context.Background(), w.request(), nil, nil)
	if err == nil && (r.Result.ExitCode == nil || *r.Result.ExitCode != 0) {
		err = fmt.Errorf("the run ended with %+v: %s", r.Result, r.Stderr)
	}
	return err
}

// bare starts a program with a clean environment and waits for it.
func bare(argv ...string) func() error {
	return func() error {
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
		return c.Run()
	}
}

// runTables compares a run with a bare start and with bubblewrap.
func runTables(bin string, rounds int) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return err
	}
	if node, err = filepath.EvalSymlinks(node); err != nil {
		return err
	}
	for _, program := range []string{"/bin/true", node} {
		if err := runTable(bin, program, rounds); err != nil {
			return err
		}
	}
	return nil
}

func runTable(bin, program string, rounds int) error {
	rows := []row{}
	var script string
	for _, shipped := range []string{"standalone", "portable"} {
		w, err := newWall(bin, shipped, program, policy.NetNone)
		if err != nil {
			return err
		}
		defer w.close()
		script = filepath.Join(w.root, "s", "empty.js")
		rows = append(rows, row{shipped, timed(w.one)})
		if shipped == "standalone" {
			rows = append(rows, row{"standalone, after 50 ms idle", func() (time.Duration, error) {
				time.Sleep(50 * time.Millisecond) // what is measured is a start after idleness
				return timed(w.one)()
			}})
		}
	}
	rows = append(rows, row{"bare", timed(bare(program, script))}, row{"bare again", timed(bare(program, script))})
	wrapped := []string{"--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", program, script}
	if path, err := exec.LookPath("bwrap"); err == nil && bare(append([]string{path}, wrapped...)...)() == nil {
		rows = append(rows, row{"bubblewrap", timed(bare(append([]string{path}, wrapped...)...))})
	}
	s, err := interleave(rows, rounds)
	if err != nil {
		return err
	}
	var cells [][]string
	wrap := 0.0
	if s["bubblewrap"] != nil {
		wrap = quantile(s.less("bubblewrap", "bare"), 0.5)
	}
	for _, name := range []string{"bare again", "portable", "standalone", "standalone, after 50 ms idle", "bubblewrap"} {
		if s[name] == nil {
			continue
		}
		added := s.less(name, "bare")
		ratio := ""
		if wrap > 0 {
			ratio = ms(quantile(added, 0.5) / wrap)
		}
		cells = append(cells, []string{name, ms(quantile(added, 0.5)), ms(quantile(added, 0.9)), ratio})
	}
	printTable(fmt.Sprintf("Run of %s as uid %d: added to a bare start of %s ms (n=%d)", filepath.Base(program), os.Getuid(), ms(quantile(s["bare"], 0.5)), rounds),
		[]string{"row", "median ms", "p90 ms", "of bubblewrap"}, cells)
	return nil
}

// startMonitor starts bin/skill-exec as the launch phase does.
func startMonitor(bin string, boot wire.Boot) (*os.File, *os.Process, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	// A blocking file cannot be closed while it is read.
	if err := syscall.SetNonblock(pair[0], true); err != nil {
		return nil, nil, err
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "wire"), os.NewFile(uintptr(pair[1]), "wire")
	defer theirs.Close()
	memory, err := bootFile(boot)
	if err != nil {
		return nil, nil, err
	}
	defer memory.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	p, err := os.StartProcess(filepath.Join(bin, "skill-exec"), []string{"skill-exec", "monitor"}, &os.ProcAttr{
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Files: []*os.File{null, os.Stderr, os.Stderr, theirs, memory},
	})
	return mine, p, err
}
