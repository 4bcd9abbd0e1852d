package doctor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// facts are what the probes saw, by name.
type facts struct {
	network string
	limits  struct{ files, cpuPercent int64 }
	own     map[string]string // the doctor's own namespaces
	uid     int
	self    outcome
	acts    map[string]map[string]string // probe -> act -> "ok" or an errno
	leaks   []string
	runs    map[string]outcome
	left    map[string]int // run -> processes that outlived it
	tmpLeft bool           // a file of the run's /tmp is seen outside
	environ string         // how reading the helper's environment from outside ended
}

// outcome is one probe run.
type outcome struct {
	runner.Outcome
	Posture posture
}

// posture is what self.js prints.
type posture struct {
	UID    int               `json:"uid"`
	PPID   int               `json:"ppid"`
	Status map[string]string `json:"status"`
	NS     map[string]string `json:"ns"`
	Files  struct {
		Count   int    `json:"count"`
		Stopped string `json:"stopped"`
	} `json:"files"`
}

// probeWait is the deadline of a probe that should end by itself.
const probeWait = 15 * time.Second

// step is one run of a probe.
type step struct {
	name, skill, script string
	args                map[string]any
	timeout             time.Duration
	layer               report.Layer // the run shows nothing where this one is absent
}

// steps are all runs of an examination, short ones first.
func (s *session) steps() []step {
	m := s.m
	at := m.Args("monitor", s.helper.Pid, "front", os.Getpid(), "leave", m.Mark)
	arg := func(pairs ...any) map[string]any { return with(map[string]any{"mark": m.Mark}, pairs) }
	fill := map[string]any{"fill": 32 << 20}
	return []step{
		{"fs-read", Skill, "fs-read.js", at, probeWait, ""},
		{"fs-write", Skill, "fs-write.js", at, probeWait, ""},
		{"net", Skill, "net.js", at, probeWait, ""},
		{"sig", Skill, "sig.js", at, probeWait, ""},
		{"out", Skill, "out.js", arg("mode", "some", "bytes", outBytes), probeWait, ""},
		{"group", Skill, "tree.js", arg("mode", "group exit"), probeWait, ""},
		{"session", Skill, "tree.js", arg("mode", "session exit"), probeWait, ""},
		{"deadline", Skill, "cpu.js", arg("mode", "sleep"), time.Second, ""},
		{"fill", Small, "fs-write.js", fill, probeWait, report.PrivateTmp},
		{"memory-some", Small, "mem.js", arg("mode", "none", "bytes", 8<<20), probeWait, report.CgroupMemory},
		{"memory", Small, "mem.js", arg("mode", "buffers"), probeWait, report.CgroupMemory},
		{"pids", Small, "cpu.js", arg("mode", "forks", "most", 80), probeWait, report.CgroupPids},
		{"cpu", Small, "cpu.js", arg("mode", "four", "ms", 1000), probeWait, report.CgroupCPU},
	}
}

// busyDeadline is the time limit of a second try, on a machine so busy that the
// script had not begun within the first: that shows nothing of the deadline.
const busyDeadline = 3 * time.Second

// outBytes is more than a result keeps of one stream.
const outBytes = 3 << 20

// probe runs everything. The error is the first run's: when that cannot run,
// none can.
func (s *session) probe(ctx context.Context) (facts, error) {
	f := s.before()
	self, err := s.run(ctx, step{"self", Skill, "self.js", nil, probeWait, ""})
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(self.Stdout, &self.Posture); err != nil {
		return f, fmt.Errorf("the first probe said %q and not what it is: %s", short(self.Stderr), self.Verdict)
	}
	f.self = self
	for _, st := range s.steps() {
		if st.layer != "" && self.Fence.Row(st.layer).Got != report.Enforced {
			continue
		}
		o, err := s.run(ctx, st)
		if err == nil && st.name == "deadline" && o.TimedOut && len(o.Stdout) == 0 {
			st.timeout = busyDeadline
			o, err = s.run(ctx, st)
		}
		if err != nil {
			return f, fmt.Errorf("probe %s: %w", st.name, err)
		}
		f.runs[st.name] = o
		f.take(st.name, o)
		f.left[st.name] = marked(s.m.Mark)
	}
	_, err = os.Stat("/tmp/" + s.m.Mark)
	if f.tmpLeft = err == nil; f.tmpLeft {
		os.Remove("/tmp/" + s.m.Mark)
	}
	return f, nil
}

// before gives what is known before the first probe.
func (s *session) before() facts {
	f := facts{
		network: string(s.boot.Policy.NetworkFor(Skill)), own: ownNamespaces(), uid: os.Getuid(),
		acts: map[string]map[string]string{}, runs: map[string]outcome{}, left: map[string]int{},
		environ: readEnviron(s.helper.Pid, s.m.Sentinel),
	}
	f.limits.files, f.limits.cpuPercent = s.boot.Policy.LimitsFor(Skill).OpenFiles, s.boot.Policy.LimitsFor(Small).CPUPercent
	return f
}

// take keeps the acts that a probe printed.
func (f *facts) take(name string, o outcome) {
	var said struct {
		Acts  map[string]string `json:"acts"`
		Leaks []string          `json:"leaks"`
	}
	if json.Unmarshal(o.Stdout, &said) == nil {
		f.acts[name], f.leaks = said.Acts, append(f.leaks, said.Leaks...)
	}
}

// run carries out one probe through the wall, as a tool call would.
func (s *session) run(ctx context.Context, st step) (outcome, error) {
	text, err := fs.ReadFile(Probes, "probes/"+st.script)
	if err != nil {
		return outcome{}, err
	}
	sum := sha256.Sum256(text)
	args := []string{}
	if st.args != nil {
		one, err := json.Marshal(st.args)
		if err != nil {
			return outcome{}, err
		}
		args = append(args, string(one))
	}
	out, err := s.runner.Run(ctx, wire.Request{
		Dir: st.skill, Skill: st.skill, Script: "scripts/" + st.script, Args: args, Interpreter: "node",
		Env: []string{}, Hosts: []string{}, TimeoutMs: st.timeout.Milliseconds(),
		ScriptSHA256: hex.EncodeToString(sum[:]), BundleSHA256: hex.EncodeToString(sum[:]),
	}, nil, nil)
	return outcome{Outcome: out}, err
}

// short gives the beginning of what a script wrote.
func short(b []byte) string {
	s := strings.ToValidUTF8(strings.TrimSpace(string(b)), "\ufffd")
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}

// ownNamespaces gives the doctor's namespaces as /proc shows them.
func ownNamespaces() map[string]string {
	out := map[string]string{}
	for _, n := range []string{"pid", "mnt", "net", "ipc"} {
		out[n], _ = os.Readlink("/proc/self/ns/" + n)
	}
	return out
}

// readEnviron reads the helper's environment from outside, as another process
// of the same user could, and says how that ended.
func readEnviron(pid int, sentinel string) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	switch {
	case err != nil:
		return "closed to other processes"
	case strings.Contains(string(text), sentinel):
		return "readable, with the owner's values in it"
	}
	return "readable, and wiped"
}

// marked counts processes with the mark in their arguments.
func marked(mark string) int {
	n := 0
	list, _ := os.ReadDir("/proc") // no /proc: none is seen
	for _, p := range list {
		text, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err == nil && p.Name() != "self" && strings.Contains(string(text), "\x00"+mark) {
			n++
		}
	}
	return n
}

// ok reports whether a run ended well.
func (o outcome) ok() bool {
	return o.Verdict == report.Exited && o.ExitCode != nil && *o.ExitCode == 0
}
