package spawn

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skill-mcp/internal/fence"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// TestMain lets this binary be the child, through the same entry as
// skill-exec. A test may leave steps out of it, to show that the attack then
// works; nothing in production reads that variable.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		without := strings.Split(os.Getenv("FENCE_WITHOUT"), ",")
		os.Exit(fence.Run(slices.DeleteFunc(fence.Steps(), func(s fence.Step) bool { return slices.Contains(without, s.Name) })))
	}
	if err := degrade(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// testPolicy prefers every layer, so that what is missing shows in the report
// and a test can switch layers off.
func testPolicy(off ...report.Layer) policy.Policy {
	p := policy.Policy{Name: "test", Network: policy.NetNone}
	for _, l := range report.Layers() {
		w := report.Prefer
		if slices.Contains(off, l) {
			w = report.Off
		}
		p.Layers = append(p.Layers, policy.Layer{Layer: l, Want: w})
	}
	return p
}

// probePath builds the probe program once, where every user may run it.
var probePath = sync.OnceValue(func() string {
	if p := os.Getenv("FENCE_PROBE"); p != "" {
		return p // a parent of another user built it
	}
	dir, err := os.MkdirTemp("/var/tmp", "fence-probe")
	if err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	at := filepath.Join(dir, "probe")
	c := exec.Command("go", "build", "-o", at, "./testdata/probe")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return at
})

// newHost probes this machine for a test.
func newHost(t testing.TB, p policy.Policy) *Host {
	root, err := os.MkdirTemp("", "fence-root")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil { // a run of another uid has to get to its directory
		t.Fatal(err)
	}
	h := Probe(p, ProbeOptions{TmpRoot: root, LockDir: lockDir(t)})
	if h.broken != nil {
		t.Fatal(h.broken)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func lockDir(t testing.TB) string {
	dir := t.TempDir()
	os.Chmod(dir, 0o700)
	return dir
}

// outcome is a finished run of the probe.
type outcome struct {
	acts   map[string]string
	text   string
	leader Exit
	fence  report.Fence
	usage  Usage
	names  []string
}

// probe runs acts behind a fence of its own and waits for the end.
func probe(t testing.TB, h *Host, s Spec, acts ...string) outcome {
	t.Helper()
	s.Args = acts
	r, out := start(t, h, s)
	return finish(t, r, out)
}

// start begins a run whose output can be read.
func start(t testing.TB, h *Host, s Spec) (*Run, *os.File) {
	t.Helper()
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.Stdout, s.Stderr = pw, pw
	r, err := h.Start(s)
	pw.Close()
	if err != nil {
		t.Fatal(err)
	}
	return r, pr
}

// finish waits for the script's own end and ends the rest.
func finish(t testing.TB, r *Run, out *os.File) outcome {
	t.Helper()
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(out)
		text <- string(b)
	}()
	select {
	case <-r.Done():
	case <-time.After(30 * time.Second):
		t.Error("the run did not end")
	}
	if left := r.Kill(5 * time.Second); left != nil {
		t.Errorf("survivors: %+v", left)
	}
	o := outcome{acts: map[string]string{}, text: <-text, leader: r.Leader(), fence: r.Fence(), usage: r.Usage(), names: r.EnvNames()}
	if left := r.Close(); left != nil {
		t.Errorf("leftovers: %v", left)
	}
	r.Next()
	for _, l := range strings.Split(o.text, "\n") {
		act, result, _ := strings.Cut(l, "\t")
		o.acts[act] = result
	}
	return o
}

// probeSpec is a run of the probe program.
func probeSpec(t testing.TB, p policy.Policy) Spec { return testSpec(t, p, probePath(), "") }
