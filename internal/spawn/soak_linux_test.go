package spawn

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// TestManyRuns: what a run takes it gives back.
func TestManyRuns(t *testing.T) {
	h := newHost(t, testPolicy())
	s := probeSpec(t, testPolicy())
	s.Args = []string{"pid"}
	count := func() int {
		h.dismiss()
		fds, _ := os.ReadDir("/proc/self/fd")
		return len(fds)
	}
	before := 0
	for i := 0; i < 60; i++ {
		if i == 5 {
			before = count()
		}
		r, err := h.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		if i%7 == 3 {
			r.Kill(5 * time.Second) // at whatever moment
		}
		<-r.Done()
		if left := r.Kill(5 * time.Second); left != nil {
			t.Fatal(left)
		}
		if left := r.Close(); left != nil {
			t.Fatal(left)
		}
		r.Next()
	}
	if after := count(); after > before+2 { // the runtime's own
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	nothingLeft(t, h)
	if b, _ := os.ReadFile("/proc/thread-self/children"); strings.TrimSpace(string(b)) != "" {
		t.Errorf("children left: %s", b)
	}
}

// TestSweep kills a monitor in the middle of a run; the next one's start
// removes what is left, and only that.
func TestSweep(t *testing.T) {
	h := newHost(t, testPolicy())
	c := exec.Command("/proc/self/exe", "-test.run=^TestStandInMonitor$")
	c.Env = append(os.Environ(), "FENCE_MONITOR=all.", "FENCE_PROBE="+probePath(), "TMPDIR="+h.tmpRoot)
	if os.Getuid() != 0 {
		c.Env = append(c.Env, "FENCE_OFF=ns-mount")
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 16))
	pid := c.Process.Pid
	name := prefix() + strconv.Itoa(pid) + "-" + startTicks(pid)
	if len(left(h, name)) == 0 {
		t.Fatalf("nothing of %s is there to be left", name)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	c.Wait()
	for end := time.Now().Add(5 * time.Second); len(left(h, name)) > 0 && time.Now().Before(end); {
		h.Sweep()
	}
	if l := left(h, name); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// left lists groups and directories by the beginning of their names.
func left(h *Host, name string) (out []string) {
	places := []string{h.tmpRoot, h.groups.v2}
	for _, d := range h.groups.v1 {
		places = append(places, d)
	}
	for _, p := range places {
		entries, _ := os.ReadDir(p)
		for _, e := range entries {
			if p != "" && strings.HasPrefix(e.Name(), name) {
				out = append(out, p+"/"+e.Name())
			}
		}
	}
	return out
}

// TestStale: a name says whose it was.
func TestStale(t *testing.T) {
	mine := prefix() + strconv.Itoa(os.Getpid()) + "-" + startTicks(os.Getpid()) + "-3"
	for name, want := range map[string]bool{
		mine:                     false,
		prefix() + "4194999-1-1": true,
		prefix() + strconv.Itoa(os.Getpid()) + "-7-1": true,
		"skill-mcp-00000000-1-1-1":                    true,
		"skill-mcp-notes":                             false,
		"skill-mcp-":                                  false,
		"other-" + mine:                               false,
		"skill-mcp-00000000-x-1-1":                    false,
		strings.TrimSuffix(mine, "-3"):                false,
		prefix() + "4194999-1-1-and-something":        false,
	} {
		if stale(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestReportIsWhole: every layer has its row, and what is not enforced a reason.
func TestReportIsWhole(t *testing.T) {
	h := newHost(t, testPolicy())
	for _, n := range []policy.Network{policy.NetNone, policy.NetProxy, policy.NetDeclared, policy.NetOpen} {
		f := h.Report(testPolicy(), n)
		if len(f.Layers) != len(report.Layers()) {
			t.Fatalf("%d rows", len(f.Layers))
		}
		for i, r := range f.Layers {
			if r.Layer != report.Layers()[i] || (r.Got != report.Enforced && r.Reason == "") {
				b, _ := json.Marshal(r)
				t.Errorf("%s: %s", n, b)
			}
		}
	}
}
