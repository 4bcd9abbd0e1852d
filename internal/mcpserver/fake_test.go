package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/config"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/report"
	"skill-mcp/internal/rpc"
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

	mu      sync.Mutex
	began   chan struct{} // closed when a run began
	runs    []wire.Request
	configs [][]byte
}

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

// client is one end of a session without a transport.
type client struct {
	t      testing.TB
	s      *rpc.Session
	modern bool
	caps   string // JSON of the client's capabilities, for modern requests
	// answer is asked for requests of the server; "" means no answer.
	answer func(method string, params json.RawMessage) string

	mu      sync.Mutex
	frames  []string // notifications, in order
	waiting map[int]chan json.RawMessage
	last    int
	longest int
}

func (b *bench) open(t testing.TB) *client {
	c := &client{t: t, waiting: map[int]chan json.RawMessage{}, caps: "{}"}
	c.s = b.Dispatcher().Open(c)
	t.Cleanup(func() { c.s.HangUp(); c.s.CancelAll(); <-c.s.Done() })
	return c
}

// legacy opens a session of the old era with these capabilities.
func (b *bench) legacy(t testing.TB, caps string) *client {
	c := b.open(t)
	c.ok("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+caps+`,"clientInfo":{"name":"t","version":"1"}}`)
	return c
}

// stateless opens a client of the new era with these capabilities.
func (b *bench) stateless(t testing.TB, caps string) *client {
	c := b.open(t)
	c.modern, c.caps = true, caps
	return c
}

func (c *client) Flush() {}

func (c *client) Wake() {}

func (c *client) Queue(frame []byte, _ bool) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(frame, &m); err != nil || bytes.ContainsRune(frame, '\n') {
		c.t.Errorf("not one line of JSON: %v: %.200s", err, frame)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, len(frame))
	switch {
	case m.Method != "" && m.ID != nil:
		if c.answer == nil {
			c.t.Errorf("the server asked: %s", m.Method)
			return
		}
		if a := c.answer(m.Method, m.Params); a != "" {
			go c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, a))
		}
	case m.Method != "":
		c.frames = append(c.frames, string(frame))
	default:
		var id int
		if err := json.Unmarshal(m.ID, &id); err != nil || c.waiting[id] == nil {
			c.t.Errorf("an answer nobody waits for: %.200s", frame)
			return
		}
		c.waiting[id] <- append(json.RawMessage(nil), frame...)
	}
}

// send starts a request.
func (c *client) send(method, params string) (int, chan json.RawMessage) {
	if c.modern {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + c.caps + `,"progressToken":"p"}`
		if params == "{}" || params == "" {
			params = "{" + meta + "}"
		} else {
			params = "{" + meta + "," + params[1:]
		}
	}
	if params == "" {
		params = "{}"
	}
	c.mu.Lock()
	c.last++
	id := c.last
	ch := make(chan json.RawMessage, 1)
	c.waiting[id] = ch
	c.mu.Unlock()
	c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id, ch
}

// receive is one line from the client.
func (c *client) receive(line string) {
	if call := c.s.Receive(context.Background(), []byte(line), c); call != nil {
		go call.Run()
	}
}

// reply is a JSON-RPC answer.
type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

func (c *client) wait(ch chan json.RawMessage) reply {
	c.t.Helper()
	select {
	case frame := <-ch:
		var r reply
		if err := json.Unmarshal(frame, &r); err != nil {
			c.t.Fatal(err)
		}
		return r
	case <-time.After(20 * time.Second):
		c.t.Fatal("no answer in 20 s")
		return reply{}
	}
}

func (c *client) call(method, params string) reply {
	c.t.Helper()
	_, ch := c.send(method, params)
	return c.wait(ch)
}

// ok is a call that must succeed.
func (c *client) ok(method, params string) json.RawMessage {
	c.t.Helper()
	r := c.call(method, params)
	if r.Error != nil {
		c.t.Fatalf("%s: %+v", method, *r.Error)
	}
	return r.Result
}

// toolResult is a result of tools/call.
type toolResult struct {
	ResultType        string
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
	InputRequests     map[string]struct {
		Method string
		Params mcp.ElicitationParams
	}
	RequestState string
}

func (r toolResult) text() string {
	if len(r.Content) != 1 {
		return fmt.Sprintf("%d blocks", len(r.Content))
	}
	return r.Content[0].Text
}

// object decodes the text of a result.
func (r toolResult) object(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.text()), &v); err != nil {
		t.Fatalf("%v: %.300s", err, r.text())
	}
	return v
}

// tool calls a tool; more is added to the params.
func (c *client) tool(name, args string, more ...string) toolResult {
	c.t.Helper()
	return readTool(c.t, c.ok("tools/call", toolParams(name, args, more...)))
}

func toolParams(name, args string, more ...string) string {
	return `{"name":"` + name + `","arguments":` + args + strings.Join(more, "") + "}"
}

func readTool(t testing.TB, raw json.RawMessage) toolResult {
	t.Helper()
	var r toolResult
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// has fails when text lacks one of the wanted parts.
func has(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %.600s", w, text)
		}
	}
}
