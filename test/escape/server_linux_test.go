package escape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/doctor"
	"skill-mcp/internal/report"
	"skill-mcp/test/mcpclient"
)

// plainUser is the ordinary user of the tests: it owns nothing on any machine.
const plainUser = 65534

// users are those who start servers. A suite that is not root has itself only.
func users() map[string]int {
	if os.Geteuid() == 0 {
		return map[string]int{"root": 0, "plain user": plainUser}
	}
	return map[string]int{"plain user": os.Geteuid()}
}

// scripts are the probes with the time each may take in seconds.
var scripts = map[string]float64{
	"self.js": 20, "fs-read.js": 20, "fs-write.js": 30, "net.js": 20, "sig.js": 20, "tree.js": 3,
	"mem.js": 20, "cpu.js": 3, "out.js": 20, "files.js": 30,
	"patient.js": 30, // cpu.js with more time: workers start slowly on a busy machine
}

// server is one started server with the machine around it.
type server struct {
	t       *testing.T
	uid     int
	m       *doctor.Machine
	c       *mcpclient.Client
	log     bytes.Buffer
	monitor int
	home    string
	deny    string // what the kernel around the server lacks, see launchDegraded
	ended   map[*mcpclient.Client]bool
}

// start starts a server as a user under an owner's policy; "" is the shipped
// one for a person's own machine.
func start(t *testing.T, uid int, policy string) *server {
	t.Helper()
	return startOn(t, uid, policy, "")
}

// startOn starts a server in a kernel that lacks something.
func startOn(t *testing.T, uid int, policy, deny string) *server {
	t.Helper()
	m, err := doctor.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	s := &server{t: t, uid: uid, m: m, deny: deny, home: filepath.Join(m.Dir, "home"), ended: map[*mcpclient.Client]bool{}}
	s.must(os.MkdirAll(filepath.Join(s.home, ".ssh"), 0o755))
	s.must(os.Chown(s.home, uid, uid))
	for _, skill := range []string{"probe", "small", "few"} {
		dir := filepath.Join(m.Root, skill)
		s.must(doctor.WriteSkill(dir, skill, declaration()))
		text, err := os.ReadFile(filepath.Join(dir, "scripts", "cpu.js"))
		s.must(err)
		s.must(os.WriteFile(filepath.Join(dir, "scripts", "patient.js"), text, 0o644))
	}
	if uid != 0 && os.Geteuid() == 0 {
		s.must(exec.Command("chown", "-R", strconv.Itoa(uid), m.Root).Run())
	}
	file := filepath.Join(m.Dir, "policy.yaml")
	s.must(os.WriteFile(file, []byte(policyText(policy)), 0o644))
	s.must(os.Chmod(file, 0o644))
	s.launch(file)
	return s
}

// declaration declares every probe for node, and sys for the raw calls.
func declaration() string {
	var b strings.Builder
	b.WriteString("mcp-host:\n  version: 1\n  run:\n")
	for name, seconds := range scripts {
		fmt.Fprintf(&b, "    - {script: scripts/%s, interpreter: node, timeout: %g}\n", name, seconds)
	}
	b.WriteString("    - {script: SKILL.md, interpreter: sys, timeout: 10}\n")
	return b.String()
}

// policyText adds the raw-call probe and the small limits to a policy.
func policyText(more string) string {
	return fmt.Sprintf(`name: escape
interpreters:
  sys: {path: %s, why: raw system calls}
skills:
  few:
    limits: {pids: 32}
  small:
    limits: {memoryBytes: 160MiB, pids: 64, cpuPercent: 40, tmpBytes: 8MiB, tmpInodes: 2000}
%s`, filepath.Join(bin, "sys"), more)
}

// launch starts the server as the user, through setpriv as a service manager
// would, and opens a session.
func (s *server) launch(policyFile string) {
	s.t.Helper()
	command := []string{filepath.Join(bin, "skill-mcp")}
	var env []string
	if s.deny != "" {
		command, env = append([]string{filepath.Join(bin, "launcher")}, command...), []string{denyVariable + "=" + s.deny}
	}
	if s.uid != os.Geteuid() {
		id := strconv.Itoa(s.uid)
		command = append([]string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups"}, command...)
	}
	c, err := mcpclient.Start(mcpclient.Options{
		Command: command, Dir: "/", Stderr: &s.log,
		Env: append(env,
			"PATH="+os.Getenv("PATH"), "HOME="+s.home, "SKILLS_DIR="+s.m.Root,
			"MCP_SKILL_POLICY="+policyFile, "SECRET_OF_THE_OWNER="+s.m.Sentinel,
		),
	})
	s.must(err)
	s.c = c
	s.t.Cleanup(func() { s.stop(c) })
	_, err = c.Initialize("2025-11-25", nil)
	s.must(err)
	s.monitor = s.find("skill-exec\x00monitor")
}

// stop ends a session and its server, once, and checks that nothing is left.
func (s *server) stop(c *mcpclient.Client) {
	if s.ended[c] {
		return
	}
	s.ended[c] = true
	if err := c.Close(20 * time.Second); err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, s.log.String())
	}
	if n := s.marked(); n != 0 {
		s.t.Errorf("%d marked processes outlive the server", n)
	}
}

// must ends the test on an error of its own doing.
func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log.String())
	}
}

// find gives the pid of the server's child whose command line begins so.
func (s *server) find(command string) int {
	s.t.Helper()
	parent := "PPid:\t" + strconv.Itoa(s.c.Process().Pid) + "\n"
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	s.must(err)
	for _, p := range list {
		text, _ := os.ReadFile(p)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "status"))
		if strings.HasPrefix(string(text), command) && strings.Contains(string(status), parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			return pid
		}
	}
	s.t.Fatalf("the server has no child %q\n%s", command, s.log.String())
	return 0
}

// marked counts processes that carry the mark in their arguments.
func (s *server) marked() int {
	n := 0
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	s.must(err)
	for _, p := range list {
		text, _ := os.ReadFile(p)
		if strings.Contains(string(text), "\x00"+s.m.Mark) {
			n++
		}
	}
	return n
}

// result is what skill_run answers.
type result struct {
	ExitCode  *int            `json:"exitCode"`
	Signal    *string         `json:"signal"`
	TimedOut  bool            `json:"timedOut"`
	Stdout    string          `json:"stdout"`
	Stderr    string          `json:"stderr"`
	Verdict   report.Verdict  `json:"verdict"`
	Evidence  report.Evidence `json:"evidence"`
	Fence     report.Fence    `json:"fence"`
	Elapsed   time.Duration   `json:"-"`
	Error     string          `json:"-"` // the text of a refusal
	Truncated struct {
		Stdout bool `json:"stdout"`
		Stderr bool `json:"stderr"`
	} `json:"truncated"`
}

// run runs a probe with one JSON argument.
func (s *server) run(skill, script string, args map[string]any) result {
	s.t.Helper()
	if !strings.Contains(script, "SKILL") {
		script = "scripts/" + script
	}
	if args == nil {
		return s.runArgs(skill, script)
	}
	text, err := json.Marshal(args)
	s.must(err)
	return s.runArgs(skill, script, string(text))
}

// runArgs previews a script, confirms and runs it, as a client does.
func (s *server) runArgs(skill, script string, args ...string) result {
	s.t.Helper()
	call := map[string]any{"name": skill, "script": script, "args": append([]string{}, args...)}
	preview, err := s.c.Tool("skill_run", call, 30*time.Second)
	s.must(err)
	var p struct {
		ConfirmToken string `json:"confirmToken"`
	}
	if preview.IsError || json.Unmarshal([]byte(preview.Text()), &p) != nil || p.ConfirmToken == "" {
		return result{Error: preview.Text()}
	}
	call["confirmToken"] = p.ConfirmToken
	began := time.Now()
	answer, err := s.c.Tool("skill_run", call, 60*time.Second)
	s.must(err)
	var r result
	if err := json.Unmarshal([]byte(answer.Text()), &r); err != nil {
		return result{Error: answer.Text()}
	}
	r.Elapsed = time.Since(began)
	return r
}

// args gives the probes' argument with the pids of this server.
func (s *server) args(pairs ...any) map[string]any {
	return s.m.Args(append([]any{"monitor", s.monitor, "front", s.c.Process().Pid, "home", s.home, "system", true}, pairs...)...)
}

// acts runs a probe that prints acts.
func (s *server) acts(script string, pairs ...any) map[string]string {
	s.t.Helper()
	r := s.run("probe", script, s.args(pairs...))
	var said struct {
		Acts  map[string]string `json:"acts"`
		Leaks []string          `json:"leaks"`
	}
	if err := json.Unmarshal([]byte(r.Stdout), &said); err != nil || r.Error != "" {
		s.t.Fatalf("%s said %q, %q, verdict %s: %s\n%s", script, r.Stdout, r.Stderr, r.Verdict, r.Error, s.log.String())
	}
	if len(said.Leaks) > 0 {
		s.t.Errorf("the owner's value is seen in %v", said.Leaks)
	}
	return said.Acts
}
