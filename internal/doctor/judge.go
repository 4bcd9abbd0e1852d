package doctor

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"skill-mcp/internal/report"
)

// state is how an attack ended.
type state int

// The states. The zero value claims nothing.
const (
	stateNotTried state = iota
	stateRefused        // the control worked and the attack was refused
	stateWorked         // the attack worked, or the control did not
)

// finding is what the probes say of one layer.
type finding struct {
	state            state
	control, witness string
}

// judge decides what the probes say of a layer.
func judge(l report.Layer, f facts) finding {
	if j, ok := judges()[l]; ok {
		return j(f)
	}
	return finding{}
}

// judges are the layers and what proves them.
func judges() map[report.Layer]func(facts) finding {
	return map[report.Layer]func(facts) finding{
		report.Environ:         judgeEnviron,
		report.ProcessGroup:    func(f facts) finding { return judgeTree(f, "group") },
		report.CgroupKill:      func(f facts) finding { return judgeTree(f, "session") },
		report.Deadline:        judgeDeadline,
		report.Capture:         judgeCapture,
		report.Rlimits:         judgeRlimits,
		report.NoNewPrivs:      func(f facts) finding { return judgeStatus(f, map[string]string{"NoNewPrivs": "1"}) },
		report.Capabilities:    judgeCapabilities,
		report.UID:             judgeUID,
		report.LandlockFS:      judgeFiles,
		report.LandlockNet:     judgeNet,
		report.LandlockScope:   judgeScope,
		report.Seccomp:         judgeSeccomp,
		report.CgroupMemory:    judgeMemory,
		report.CgroupPids:      judgePids,
		report.CgroupCPU:       judgeCPU,
		report.NSPid:           func(f facts) finding { return judgeNamespace(f, "pid") },
		report.NSMount:         func(f facts) finding { return judgeNamespace(f, "mnt") },
		report.NSNet:           func(f facts) finding { return judgeNamespace(f, "net") },
		report.NSIpc:           func(f facts) finding { return judgeNamespace(f, "ipc") },
		report.PrivateTmp:      judgeTmp,
		report.ParentProtected: judgeParent,
	}
}

// found makes a finding from a control and an attack.
func found(control string, controlled bool, witness string, refused bool) finding {
	s := stateWorked
	if controlled && refused {
		s = stateRefused
	}
	if !controlled {
		witness += "; and the control failed: " + control
	}
	return finding{s, control, witness}
}

// act gives how an act of a probe ended.
func (f facts) act(probe, act string) string {
	if r, ok := f.acts[probe][act]; ok {
		return r
	}
	return "not tried"
}

// allowed reports whether all acts worked, and says how they ended.
func (f facts) allowed(probe string, acts ...string) (string, bool) {
	all := true
	for _, a := range acts {
		all = all && f.act(probe, a) == "ok"
	}
	return f.say(probe, acts), all
}

// refused reports whether all acts were tried and failed.
func (f facts) refused(probe string, acts ...string) (string, bool) {
	all := true
	for _, a := range acts {
		r := f.act(probe, a)
		all = all && r != "ok" && r != "not tried"
	}
	return f.say(probe, acts), all
}

// say lists acts with their outcomes.
func (f facts) say(probe string, acts []string) string {
	out := make([]string, 0, len(acts))
	for _, a := range acts {
		out = append(out, a+": "+f.act(probe, a))
	}
	return strings.Join(out, ", ")
}

// acted joins a control and an attack of one or two probes.
func (f facts) acted(controlProbe, control, attackProbe string, attacks ...string) finding {
	c, cok := f.allowed(controlProbe, control)
	w, wok := f.refused(attackProbe, attacks...)
	return found(c, cok, w, wok)
}

func judgeEnviron(f facts) finding {
	leaks := "no value of the helper's environment in any process the run sees"
	if len(f.leaks) > 0 {
		leaks = "found in " + strings.Join(f.leaks, ", ")
	}
	return found("a value was in the environment the helper was started with, and the run looked for it", len(f.acts["fs-read"]) > 0,
		"its environment from outside: "+f.environ+"; "+leaks, len(f.leaks) == 0 && !strings.Contains(f.environ, "owner"))
}

func judgeTree(f facts, run string) finding {
	var said struct {
		Children int    `json:"children"`
		Alive    int    `json:"alive"`
		Denied   string `json:"denied"`
	}
	json.Unmarshal(f.runs[run].Stdout, &said) // nothing said: no child, which fails the control
	return found(fmt.Sprintf("%d processes started", said.Children), said.Children > 0,
		fmt.Sprintf("left alive after the result: %d", f.left[run]), f.left[run] == 0)
}

func judgeDeadline(f facts) finding {
	o := f.runs["deadline"]
	return found("the script had begun", len(o.Stdout) > 0,
		fmt.Sprintf("a script that never ends: %s after %d ms", o.Verdict, o.DurationMs), o.TimedOut && o.DurationMs < 6000)
}

func judgeCapture(f facts) finding {
	o := f.runs["out"]
	return found(fmt.Sprintf("%d of %d bytes read", o.Evidence.StdoutBytes, outBytes), o.Evidence.StdoutBytes == outBytes && o.ok(),
		fmt.Sprintf("kept: %d bytes", len(o.Stdout)), len(o.Stdout) <= 1<<20 && o.StdoutTruncated)
}

func judgeRlimits(f facts) finding {
	files := f.self.Posture.Files
	return found(fmt.Sprintf("%d files opened", files.Count), files.Count >= 20,
		fmt.Sprintf("one more: %s (limit %d)", files.Stopped, f.limits.files), files.Stopped == "EMFILE" && int64(files.Count) < f.limits.files)
}

// judgeStatus compares fields of /proc/self/status.
func judgeStatus(f facts, want map[string]string) finding {
	names := []string{}
	for n := range want {
		names = append(names, n)
	}
	sort.Strings(names)
	all, said := true, []string{}
	for _, n := range names {
		got := f.self.Posture.Status[n]
		all = all && strings.Trim(got, "0") == strings.Trim(want[n], "0")
		said = append(said, n+" "+got)
	}
	return found("the script read its own status", len(f.self.Posture.Status) > 0, strings.Join(said, ", "), all)
}

// judgeCapabilities wants every set empty. An ordinary user without a user
// namespace may not empty the bounding set, which after no_new_privs gives
// nothing: it bounds what an execve could add.
func judgeCapabilities(f facts) finding {
	want := map[string]string{"CapInh": "", "CapPrm": "", "CapEff": "", "CapAmb": "", "CapBnd": ""}
	if kept := f.self.Posture.Status["CapBnd"]; f.uid != 0 && strings.Trim(kept, "0") != "" {
		delete(want, "CapBnd")
		want["NoNewPrivs"] = "1"
		r := judgeStatus(f, want)
		r.witness += ", CapBnd " + kept + " (an ordinary user's, of no use after no_new_privs)"
		return r
	}
	return judgeStatus(f, want)
}

func judgeUID(f facts) finding {
	got := f.self.Posture.UID
	return found("the script ran", f.self.ok(), fmt.Sprintf("it ran as uid %d, the helper as uid %d", got, f.uid), got != f.uid)
}

func judgeFiles(f facts) finding {
	return f.acted("fs-read", "open own-bundle", "fs-read", "open outside", "open outside-through-root")
}

func judgeNet(f facts) finding {
	if f.network == "open" {
		return finding{witness: "not tried: the policy's network is open"}
	}
	return f.acted("net", "own unix socket", "net", "tcp decoy", "metadata")
}

func judgeScope(f facts) finding {
	c, cok := f.allowed("sig", "signal self")
	w1, ok1 := f.refused("sig", "signal monitor", "signal front")
	w2, ok2 := f.refused("net", "abstract decoy")
	return found(c, cok, w1+", "+w2, ok1 && ok2)
}

func judgeSeccomp(f facts) finding {
	status := judgeStatus(f, map[string]string{"Seccomp": "2"})
	attacks := []string{"nice monitor", "nice front"}
	w, ok := f.refused("sig", attacks...)
	c, cok := f.allowed("sig", "nice self")
	return found(c, cok, status.witness+", "+w, ok && status.state == stateRefused)
}

func judgeMemory(f facts) finding {
	o := f.runs["memory"]
	c := f.runs["memory-some"]
	return found("8 MiB held: "+string(c.Verdict), c.ok(),
		fmt.Sprintf("memory without end: %s, killed %d", o.Verdict, o.Evidence.OOMKills), o.Verdict == report.OOMCgroup || o.Verdict == report.OOMChild || o.Verdict == report.OOMWatch)
}

func judgePids(f facts) finding {
	o := f.runs["pids"]
	var said struct {
		Started int    `json:"started"`
		Stopped string `json:"stopped"`
	}
	lines := strings.Split(strings.TrimSpace(string(o.Stdout)), "\n")
	json.Unmarshal([]byte(lines[len(lines)-1]), &said) // not said: the verdict decides
	started := fmt.Sprintf("%d processes started", said.Started)
	refused := o.Verdict == report.Pids || (said.Stopped != "" && said.Stopped != "ENONE")
	return found(started, len(o.Stdout) > 0, fmt.Sprintf("one more: %s, verdict %s", orNothing(said.Stopped), o.Verdict), refused)
}

// orNothing names an empty word.
func orNothing(s string) string {
	if s == "" {
		return "no answer"
	}
	return s
}

func judgeCPU(f facts) finding {
	o := f.runs["cpu"]
	wall, cpu := o.Evidence.WallMs, o.Evidence.CPUMs
	// Room for the period in which the limit first counts and for the clock's grain.
	most := wall*f.limits.cpuPercent*3/200 + 200
	return found(fmt.Sprintf("%d ms of processor used", cpu), cpu > 50,
		fmt.Sprintf("four busy processes: %d ms in %d ms (limit %d %%)", cpu, wall, f.limits.cpuPercent), cpu <= most)
}

func judgeNamespace(f facts, kind string) finding {
	theirs, ours := f.self.Posture.NS[kind], f.own[kind]
	differ := theirs != "" && ours != "" && theirs != ours
	out := found("the script ran", f.self.ok(), fmt.Sprintf("%s there, %s here", theirs, ours), differ)
	attack := map[string][2]string{"pid": {"sig", "see monitor"}, "mnt": {"fs-read", "stat outside"}}[kind]
	if attack[0] == "" {
		return out
	}
	w, ok := f.refused(attack[0], attack[1])
	out.witness += ", " + w
	if !ok {
		out.state = stateWorked
	}
	return out
}

func judgeTmp(f facts) finding {
	c, cok := f.allowed("fs-write", "create tmpdir", "create slash-tmp")
	small, sok := f.allowed("fill", "fill-some tmpdir")
	w, ok := f.refused("fill", "fill tmpdir")
	seen := "its /tmp is not seen outside"
	if f.tmpLeft {
		seen = "its /tmp is seen outside"
	}
	return found(c+", "+small, cok && sok, w+", "+seen, ok && !f.tmpLeft)
}

func judgeParent(f facts) finding {
	return f.acted("fs-read", "open self-status", "fs-read", "open monitor/environ", "open monitor/mem", "open monitor/maps", "open monitor/fd/1", "write monitor/exe")
}
