package spawn

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"sort"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/policy"
)

// BenchmarkCost compares one program started bare, behind bubblewrap and
// behind the whole fence: samples interleaved in random order, differences
// taken within a round, with a second bare row to show the noise. The script
// is empty; `true` shows the start alone, node what people run.
func BenchmarkCost(b *testing.B) {
	p := testPolicy()
	h := newHost(b, p)
	for _, program := range []string{"/bin/true", "/usr/bin/node"} {
		b.Run(program, func(b *testing.B) {
			s := testSpec(b, p, program, "")
			rows := map[string]func(){
				"bare": func() { bare(b, program, s.ScriptPath) },
				"same": func() { bare(b, program, s.ScriptPath) },
				"bwrap": func() {
					bare(b, "bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", program, s.ScriptPath)
				},
				"fence": func() { fenced(b, h, s) },
			}
			added := map[string][]float64{}
			for b.Loop() {
				order := []string{"bare", "same", "bwrap", "fence"}
				rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				took := map[string]float64{}
				for _, n := range order {
					begin := time.Now()
					rows[n]()
					took[n] = time.Since(begin).Seconds() * 1e3
				}
				for n, ms := range took {
					if n != "bare" {
						ms -= took["bare"]
					}
					added[n] = append(added[n], ms)
				}
			}
			for n, l := range added {
				sort.Float64s(l)
				b.ReportMetric(l[len(l)/2], n+"-ms")
			}
		})
	}
}

// bare runs a program with an empty environment and waits for it.
func bare(b *testing.B, name string, args ...string) {
	c := exec.Command(name, args...)
	c.Env = []string{"PATH=/usr/bin:/bin"}
	if err := c.Run(); err != nil {
		b.Fatal(err)
	}
}

// fenced is one whole run: from the request to nothing being left of it.
func fenced(b *testing.B, h *Host, s Spec) {
	r, err := h.Start(s)
	if err != nil {
		b.Fatal(err)
	}
	<-r.Done()
	if left := r.Kill(2 * time.Second); left != nil || r.Leader() != (Exit{}) {
		b.Fatal(left, r.Leader())
	}
	if left := r.Close(); left != nil {
		b.Fatal(left)
	}
	r.Next()
}

// testSpec is a run of a program over a script with the given text, in a skill
// directory of the test's own.
func testSpec(t testing.TB, p policy.Policy, program, text string) Spec {
	dir, err := os.MkdirTemp("", "skill-mcp-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // without a mount view, another uid has to get here
		t.Fatal(err)
	}
	script := dir + "/script.js"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(); exe.Close() })
	name := "node"
	if program != "/usr/bin/node" {
		name = "other"
	}
	return Spec{
		Policy: p, Limits: policy.Defaults(), Network: policy.NetNone, SkillDir: d, SkillPath: dir, ScriptPath: script,
		Exec: Program{Name: name, Path: program, File: exe, Read: closure(program)}, Env: []string{"PATH=/usr/bin:/bin"}, Timeout: time.Minute,
	}
}

// closure lists the libraries of a program as the loader finds them.
func closure(program string) []string {
	out, _ := exec.Command("/bin/sh", "-c", `ldd "$1" | grep -o '/[^ ]*'`, "sh", program).Output() // fails for a static one
	return strings.Fields(string(out))
}
