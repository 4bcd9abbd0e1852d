package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/config"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// shelf is a root folder with skills.
type shelf struct {
	tb   testing.TB
	root string
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{t, root}
}

// write makes or changes a file of a skill.
func (c *shelf) write(skill, path, text string) {
	c.tb.Helper()
	full := filepath.Join(c.root, skill, path)
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	if err == nil {
		err = os.WriteFile(full, []byte(text), 0o644)
	}
	if err != nil {
		c.tb.Fatal(err)
	}
}

func (c *shelf) remove(skill, path string) {
	c.tb.Helper()
	if err := os.Remove(filepath.Join(c.root, skill, path)); err != nil {
		c.tb.Fatal(err)
	}
}

// put makes a skill with a frontmatter beyond its name, a body and more files.
func (c *shelf) put(name, front, body string, files map[string]string) {
	c.tb.Helper()
	c.write(name, manifestName, "---\nname: "+name+"\n"+front+"---\n"+body)
	for p, text := range files {
		c.write(name, p, text)
	}
}

// scan gives the catalog of the shelf as it is now.
func (c *shelf) scan() *catalog.Catalog {
	return catalog.Scan(context.Background(), catalog.Options{Roots: []string{c.root}, MaxSkills: 4096, Reserved: grant.Reserved})
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// wall is a runner without a helper. It remembers what it ran.
type wall struct {
	ready  wire.Ready
	env    map[string]bool // variables that are set
	refuse *wire.Refused   // answer of Plan
	out    runner.Outcome
	hold   chan struct{} // when set, Run waits for it or for the end of ctx

	asked   atomic.Int32 // calls of Begin
	mu      sync.Mutex
	began   chan struct{} // closed when a run began
	runs    []wire.Request
	configs [][]byte
}

func (w *wall) Begin() { w.asked.Add(1) }

func (w *wall) Ready(context.Context) (wire.Ready, error) { return w.ready, nil }

func (w *wall) Plan(_ context.Context, r wire.Request) (wire.Planned, error) {
	if w.refuse != nil {
		return wire.Planned{}, &runner.RefusedError{Refused: *w.refuse}
	}
	p := wire.Planned{CWD: "/cwd/" + r.Dir, TimeoutMs: r.TimeoutMs, Fence: w.ready.Fence}
	for n := range w.env {
		if slices.Contains(grant.Ambient(), n) || slices.Contains(r.Env, n) {
			p.EnvNames = append(p.EnvNames, n)
		}
	}
	for _, n := range r.Env {
		if !w.env[n] {
			p.EnvNotSet = append(p.EnvNotSet, n)
		}
	}
	sort.Strings(p.EnvNames)
	return p, nil
}

func (w *wall) Run(ctx context.Context, r wire.Request, config []byte, progress func(wire.Progress)) (runner.Outcome, error) {
	w.mu.Lock()
	w.runs = append(w.runs, r)
	w.configs = append(w.configs, config)
	if w.began != nil {
		close(w.began)
		w.began = nil
	}
	w.mu.Unlock()
	progress(wire.Progress{ElapsedMs: 1000, StdoutBytes: 2, LastLine: "half way"})
	out := w.out
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-ctx.Done():
			out.Verdict = report.Cancelled
		}
	}
	p, _ := w.Plan(ctx, r)
	out.EnvNames, out.TimeoutMs, out.Fence = p.EnvNames, r.TimeoutMs, w.ready.Fence
	return out, nil
}

func (w *wall) ran() []wire.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs)
}

func zero() *int { n := 0; return &n }

// bench is a server over the fakes.
type bench struct {
	*Server
	shelf *shelf
	wall  *wall
	clock *clock
	tb    testing.TB
}

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// setup may change what the bench is made of.
type setup struct {
	front    config.Front
	settings confirm.Settings
	view     View // its catalog is a scan of the shelf unless it is set
}

const demoFront = `description: Counts things.
when-to-use: When counting.
mcp-host:
  version: 1
  run:
    - {script: scripts/a.js, interpreter: node, env: [A_KEY, B_KEY]}
    - {script: scripts/b.js, interpreter: node, timeout: 5}
    - {script: scripts/c.py, interpreter: python3}
  egress: [example.com]
`

func demoShelf(t testing.TB) *shelf {
	c := newShelf(t)
	c.put("demo", demoFront, "\n# Title\n", map[string]string{"scripts/a.js": "a", "scripts/b.js": "b", "scripts/c.py": "c", "docs/a b.md": "x"})
	c.put("plain", "", "Hello.\n", nil)
	return c
}

func newBench(t testing.TB, change func(*setup, *shelf, *wall)) *bench {
	t.Helper()
	b := &bench{shelf: demoShelf(t), clock: &clock{t: time.UnixMilli(1_800_000_000_000)}}
	b.wall = &wall{
		env: map[string]bool{"PATH": true, "HOME": true, "A_KEY": true},
		ready: wire.Ready{
			Interpreters: []wire.Interpreter{{Name: "node", Path: "/usr/bin/node"}},
			Scrub:        wire.Scrub{State: "scrubbed"},
			Fence: report.Fence{Policy: "standalone", Network: "open", Layers: []report.Row{
				{Layer: report.Environ, Want: report.Require, Got: report.Enforced},
				{Layer: report.CgroupMemory, Want: report.Prefer, Got: report.Absent, Reason: "no cgroup v2"},
			}},
		},
		out: runner.Outcome{Result: wire.Result{ExitCode: zero(), DurationMs: 7, Verdict: report.Exited}, Stdout: []byte("out\n")},
	}
	set := &setup{
		front: config.Front{
			Version: "1.2.3", Roots: []string{b.shelf.root}, RootsFrom: config.RootsSkillsDir, Grants: grant.Grants{From: grant.FromDeclaration},
		},
		settings: confirm.Settings{Mode: confirm.AskUser, Prompts: true, TTL: time.Minute, Wait: 5 * time.Second},
	}
	if change != nil {
		change(set, b.shelf, b.wall)
	}
	if set.view.Catalog == nil {
		set.view.Catalog = b.shelf.scan()
	}
	gate, err := confirm.New(confirm.Config{Settings: set.settings, Key: bytes.Repeat([]byte{3}, 32), Now: b.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	b.Server, err = New(Deps{Front: set.front, View: set.view, Runner: b.wall, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
