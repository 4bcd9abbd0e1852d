package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/policyfile"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// scriptName is the one script of the skill.
const scriptName = "script.js"

// wall is a started helper and the skill it runs.
type wall struct {
	*runner.Runner
	root   string
	digest string
	hosts  []string // that each run declares
	helper *os.Process
}

// newWall starts the built helper with a shipped policy that has one
// interpreter, and a skill with one script of the given text.
func newWall(bin, shipped, program, script string, network policy.Network) (*wall, error) {
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
	if err := os.WriteFile(filepath.Join(root, "s", scriptName), []byte(script), 0o644); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(script))
	w.digest = hex.EncodeToString(sum[:])
	conn, helper, err := startMonitor(bin, wire.Boot{
		Policy: p, Grants: grant.Grants{From: grant.FromDeclaration}, Roots: []string{root}, FrontUID: -1,
	})
	if err != nil {
		return nil, err
	}
	w.Runner, w.helper = runner.New(conn), helper
	if _, err = w.Ready(context.Background()); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// close ends the helper and removes the skill.
func (w *wall) close() {
	w.Close()
	slow := time.AfterFunc(10*time.Second, func() { w.helper.Kill() })
	_, _ = w.helper.Wait()
	slow.Stop()
	os.RemoveAll(w.root)
}

func (w *wall) request() wire.Request {
	return wire.Request{
		Dir: "s", Skill: "s", Script: scriptName, Args: []string{}, Interpreter: "program", Env: []string{}, TimeoutMs: 60_000,
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

// bootFile writes the owner's half into a file that is gone when it is closed.
func bootFile(boot wire.Boot) (*os.File, error) {
	text, err := json.Marshal(boot)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "skill-mcp-bench-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(text); err != nil {
		return nil, err
	}
	_, err = f.Seek(0, 0)
	return f, err
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
		Env: []string{pathOnly}, Files: []*os.File{null, os.Stderr, os.Stderr, theirs, memory},
	})
	return mine, p, err
}
