package doctor

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// fenced are facts of a machine where everything holds.
func fenced() facts {
	f := facts{
		network: "none", own: map[string]string{"pid": "pid:[1]", "mnt": "mnt:[1]", "net": "net:[1]", "ipc": "ipc:[1]"}, uid: 0,
		acts: map[string]map[string]string{
			"fs-read": {
				"open own-bundle": "ok", "open self-status": "ok", "open outside": "EACCES", "open outside-through-root": "EACCES", "stat outside": "ENOENT",
				"open monitor/environ": "ENOENT", "open monitor/mem": "ENOENT", "open monitor/maps": "ENOENT", "open monitor/fd/1": "ENOENT", "write monitor/exe": "ENOENT",
			},
			"fs-write": {"create tmpdir": "ok", "create slash-tmp": "ok"},
			"fill":     {"fill-some tmpdir": "ok", "fill tmpdir": "ENOSPC"},
			"net":      {"own unix socket": "ok", "tcp decoy": "EACCES", "metadata": "ENETUNREACH", "abstract decoy": "EPERM"},
			"sig":      {"signal self": "ok", "nice self": "ok", "signal monitor": "ESRCH", "signal front": "ESRCH", "nice monitor": "EPERM", "nice front": "EPERM", "see monitor": "ENOENT"},
		},
		runs: map[string]outcome{}, left: map[string]int{}, environ: "closed to other processes",
	}
	f.limits.files, f.limits.cpuPercent = 1024, 40
	zero := 0
	exited := func(stdout string) outcome {
		return outcome{Outcome: runner.Outcome{Result: wire.Result{ExitCode: &zero, Verdict: report.Exited}, Stdout: []byte(stdout)}}
	}
	f.self = exited("")
	f.self.Posture.UID = 60001
	f.self.Posture.NS = map[string]string{"pid": "pid:[2]", "mnt": "mnt:[2]", "net": "net:[2]", "ipc": "ipc:[2]"}
	f.self.Posture.Status = map[string]string{"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0000000000000000"}
	f.self.Posture.Files.Count, f.self.Posture.Files.Stopped = 1000, "EMFILE"
	for _, run := range []string{"group", "session"} {
		f.runs[run] = exited(`{"children":2,"alive":2}`)
	}
	f.runs["memory-some"] = exited("x")
	for run, change := range map[string]func(*outcome){
		"deadline": func(o *outcome) {
			o.Stdout, o.TimedOut, o.DurationMs, o.Verdict = []byte("x"), true, 1000, report.Timeout
		},
		"out": func(o *outcome) {
			o.Stdout, o.StdoutTruncated, o.Evidence.StdoutBytes = make([]byte, 1<<20), true, outBytes
		},
		"memory": func(o *outcome) { o.Verdict = report.OOMCgroup },
		"pids":   func(o *outcome) { o.Stdout = []byte("x\n{\"started\":20,\"stopped\":\"EAGAIN\"}") },
		"cpu":    func(o *outcome) { o.Evidence.WallMs, o.Evidence.CPUMs = 2000, 800 },
	} {
		o := exited("")
		change(&o)
		f.runs[run] = o
	}
	return f
}

// TestEveryLayerHasAProof judges a machine where all holds, then one where the
// attack on each layer works.
func TestEveryLayerHasAProof(t *testing.T) {
	for _, l := range report.Layers() {
		got := judge(l, fenced())
		if got.state != stateRefused || got.control == "" || got.witness == "" {
			t.Errorf("%s on a fenced machine: %+v", l, got)
		}
	}
	broken := map[report.Layer]func(*facts){
		report.Environ:         func(f *facts) { f.leaks = []string{"environ of 1"} },
		report.ProcessGroup:    func(f *facts) { f.left["group"] = 1 },
		report.Deadline:        func(f *facts) { o := f.runs["deadline"]; o.TimedOut = false; f.runs["deadline"] = o },
		report.Capture:         func(f *facts) { o := f.runs["out"]; o.StdoutTruncated = false; f.runs["out"] = o },
		report.Rlimits:         func(f *facts) { f.self.Posture.Files.Stopped = "unlimited" },
		report.NoNewPrivs:      func(f *facts) { f.self.Posture.Status["NoNewPrivs"] = "0" },
		report.Capabilities:    func(f *facts) { f.self.Posture.Status["CapEff"] = "000001ffffffffff" },
		report.UID:             func(f *facts) { f.self.Posture.UID = 0 },
		report.LandlockFS:      func(f *facts) { f.acts["fs-read"]["open outside"] = "ok" },
		report.LandlockNet:     func(f *facts) { f.acts["net"]["tcp decoy"] = "ok" },
		report.LandlockScope:   func(f *facts) { f.acts["net"]["abstract decoy"] = "ok" },
		report.Seccomp:         func(f *facts) { f.self.Posture.Status["Seccomp"] = "0" },
		report.CgroupMemory:    func(f *facts) { f.runs["memory"] = f.runs["memory-some"] },
		report.CgroupPids:      func(f *facts) { f.runs["pids"] = f.runs["memory-some"] },
		report.CgroupCPU:       func(f *facts) { o := f.runs["cpu"]; o.Evidence.CPUMs = 4000; f.runs["cpu"] = o },
		report.CgroupKill:      func(f *facts) { f.left["session"] = 1 },
		report.NSPid:           func(f *facts) { f.self.Posture.NS["pid"] = "pid:[1]" },
		report.NSMount:         func(f *facts) { f.acts["fs-read"]["stat outside"] = "ok" },
		report.NSNet:           func(f *facts) { f.self.Posture.NS["net"] = "net:[1]" },
		report.NSIpc:           func(f *facts) { f.self.Posture.NS["ipc"] = "ipc:[1]" },
		report.PrivateTmp:      func(f *facts) { f.tmpLeft = true },
		report.ParentProtected: func(f *facts) { f.acts["fs-read"]["open monitor/mem"] = "ok" },
	}
	for _, l := range report.Layers() {
		f := fenced()
		spoil, ok := broken[l]
		if !ok {
			t.Errorf("no attack on %s is known here", l)
			continue
		}
		spoil(&f)
		if got := judge(l, f); got.state != stateWorked {
			t.Errorf("%s with its attack working: %+v", l, got)
		}
		said := report.Row{Layer: l, Want: report.Require, Got: report.Enforced}
		if row := merge(said, judge(l, f)); row.Got != report.Absent || row.Proved || row.Reason == "" {
			t.Errorf("%s is still claimed: %+v", l, row)
		}
	}
}

// TestTheBoundingSetOfAnOrdinaryUser: without a user namespace it cannot be
// emptied, and is no fault after no_new_privs; root's is one.
func TestTheBoundingSetOfAnOrdinaryUser(t *testing.T) {
	for _, c := range []struct {
		uid       int
		bnd, nnp  string
		effective string
		want      state
	}{
		{1000, "000001ffffffffff", "1", "0000000000000000", stateRefused},
		{1000, "000001ffffffffff", "0", "0000000000000000", stateWorked},
		{1000, "000001ffffffffff", "1", "0000000000000400", stateWorked},
		{1000, "0000000000000000", "1", "0000000000000000", stateRefused},
		{0, "000001ffffffffff", "1", "0000000000000000", stateWorked},
	} {
		f := fenced()
		f.uid = c.uid
		f.self.Posture.Status["CapBnd"], f.self.Posture.Status["NoNewPrivs"], f.self.Posture.Status["CapEff"] = c.bnd, c.nnp, c.effective
		if got := judge(report.Capabilities, f); got.state != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestNothingTriedProvesNothing(t *testing.T) {
	for _, l := range report.Layers() {
		if got := judge(l, facts{}); got.state == stateRefused {
			t.Errorf("%s is proved by no probe: %+v", l, got)
		}
	}
}

func TestProvedNeedsEveryRequiredLayer(t *testing.T) {
	good := Row{Row: report.Row{Want: report.Require, Got: report.Enforced}, Proved: true}
	for _, c := range []struct {
		name string
		rows []Row
		want bool
	}{
		{"nothing", nil, false},
		{"all proved", []Row{good, {Row: report.Row{Want: report.Prefer, Got: report.Absent}}}, true},
		{"claimed and not seen", []Row{good, {Row: report.Row{Want: report.Require, Got: report.Enforced}}}, false},
		{"partial", []Row{good, {Row: report.Row{Want: report.Require, Got: report.Partial}, Proved: true}}, false},
	} {
		if got := proved(c.rows); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestProbesPrintOneLineOutsideTheFence runs the quick ones as they are.
func TestProbesPrintOneLineOutsideTheFence(t *testing.T) {
	m, err := NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	arg, err := json.Marshal(m.Args())
	if err != nil {
		t.Fatal(err)
	}
	for _, probe := range []string{"self.js", "fs-read.js", "net.js", "sig.js", "files.js"} {
		if probe == "sig.js" { // reniceing its parent would renice this test
			continue
		}
		c := exec.Command("node", filepath.Join(m.Root, Skill, "scripts", probe), string(arg))
		c.Env = append(c.Environ(), "TMPDIR="+t.TempDir())
		out, err := c.Output()
		var line map[string]any
		if err != nil || strings.Count(string(out), "\n") != 1 || json.Unmarshal(out, &line) != nil {
			t.Errorf("%s: %v %q", probe, err, out)
		}
	}
	// Outside the fence the attacks work: the decoys are real.
	c := exec.Command("node", filepath.Join(m.Root, Skill, "scripts", "net.js"), string(arg))
	c.Env = append(c.Environ(), "TMPDIR="+t.TempDir())
	out, err := c.Output()
	var said struct{ Acts map[string]string }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"tcp decoy", "udp decoy", "unix decoy", "abstract decoy", "listen any"} {
		if said.Acts[a] != "ok" {
			t.Errorf("%s outside the fence: %s", a, said.Acts[a])
		}
	}
}

func TestEveryProbeIsShipped(t *testing.T) {
	list, err := fs.Glob(Probes, "probes/*.js")
	if err != nil || len(list) != 10 {
		t.Errorf("%v %v", list, err)
	}
}
