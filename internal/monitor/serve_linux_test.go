package monitor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/beneath"
	"skill-mcp/internal/environ"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/plain"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

func TestAScriptRunsAndGetsWhatWasPlanned(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, env: []string{"TOKEN=value", "UNGRANTED=x", "LANG=C", "TZ=:/usr/share/zoneinfo/Asia/Tokyo"}})
		req := s.script("node", `console.log(JSON.stringify({argv: process.argv.slice(1), cwd: process.cwd(), env: Object.keys(process.env).sort(),
			token: process.env.TOKEN, tz: process.env.TZ, stdin: require('fs').readFileSync(0).length}))`, "a b", "")
		req.Env = []string{"TOKEN", "NOT_SET"}
		plan, err := s.Plan(within(t), req)
		if err != nil {
			t.Fatal(err)
		}
		if plan.CWD != filepath.Join(s.root, "demo") || !slices.Equal(plan.EnvNotSet, []string{"NOT_SET"}) || plan.Interpreter.Version == "" || plan.Interpreter.Path == "" {
			t.Errorf("%+v", plan)
		}
		out := s.run(req)
		if out.ExitCode == nil || *out.ExitCode != 0 || out.Verdict != report.Exited {
			t.Fatalf("%+v\n%s", out.Result, out.Stderr)
		}
		if !slices.Equal(plan.EnvNames, out.EnvNames) {
			t.Errorf("planned %v, received %v", plan.EnvNames, out.EnvNames)
		}
		names := `["` + strings.Join(plan.EnvNames, `","`) + `"]`
		for _, want := range []string{
			`"argv":["` + filepath.Join(s.root, "demo", "run.cjs") + `","a b",""]`, `"cwd":"` + plan.CWD + `"`,
			`"env":` + names, `"token":"value"`, `"tz":"Asia/Tokyo"`, `"stdin":0`,
		} {
			if !strings.Contains(string(out.Stdout), want) {
				t.Errorf("no %s in %s", want, out.Stdout)
			}
		}
	})
}

func TestReadyTellsWhatHolds(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, env: []string{"SENTINEL=abc"}, boot: func(b *wire.Boot) { b.Roots = append(b.Roots, "/nonexistent/root") }})
		r := s.ready
		if r.Scrub.State != environ.Scrubbed || r.Scrub.Bytes < 10 {
			t.Errorf("scrub: %+v", r.Scrub)
		}
		if len(r.Roots) != 2 || r.Roots[0].Real != s.root || r.Roots[1].Error == "" {
			t.Errorf("roots: %+v", r.Roots)
		}
		if len(r.Fence.Layers) != len(report.Layers()) || r.Fence.Row(report.Environ).Got != report.Enforced || r.Fence.Row(report.Deadline).Got != report.Enforced {
			t.Errorf("fence: %+v", r.Fence)
		}
		if !r.EnvNames["PATH"] || r.EnvNames["LANG"] {
			t.Errorf("names: %v", r.EnvNames)
		}
		left, err := os.ReadFile("/proc/" + itoa(s.cmd.Process.Pid) + "/environ")
		if err == nil && strings.Trim(string(left), "\x00") != "" {
			t.Errorf("the helper's environ reads %q", left)
		}
	})
}

// TestForgedRequests plays a front that was taken over.
func TestForgedRequests(t *testing.T) {
	s := serve(t, options{env: []string{"TOKEN=t", "OTHER=o", "MCP_CONFIRM_SECRET=c"}, boot: func(b *wire.Boot) {
		b.Hosted = true
		b.Grants = grant.Grants{From: grant.FromVariable, Rows: []grant.Row{
			{Skill: "demo", Script: "run.cjs", Env: []string{"TOKEN", "MCP_CONFIRM_SECRET"}}, {Skill: "demo", Script: "link"},
			{Skill: "demo", Script: "dir"}, {Skill: "demo", Script: "fifo"}, {Skill: "demo", Script: "../other/run.cjs"}, {Skill: "off", Script: "run.cjs"},
		}}
		b.Policy.DisabledSkills = []string{"off"}
	}})
	good := s.script("bash", "exit 0")
	other := request(t, s.root, "other", "run.cjs", "bash", "exit 0")
	deep := request(t, s.root, "other/demo", "run.cjs", "bash", "exit 0")
	off := request(t, s.root, "off", "run.cjs", "bash", "exit 0")
	for _, l := range [][2]string{{filepath.Join(s.root, "other", "run.cjs"), "demo/link"}, {s.root + "/other", "alias"}} {
		if err := os.Symlink(l[0], filepath.Join(s.root, l[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(s.root, "demo/dir"), 0o755), mkfifo(filepath.Join(s.root, "demo/fifo"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		base   wire.Request
		change func(*wire.Request)
		code   string
	}{
		"a script without a grant":             {good, func(r *wire.Request) { r.Script = "else" }, wire.CodeNotGranted},
		"another skill's script":               {other, func(*wire.Request) {}, wire.CodeNotGranted},
		"another skill under a granted name":   {other, func(r *wire.Request) { r.Skill = "demo" }, wire.CodePath},
		"a copy deep in another skill":         {deep, func(*wire.Request) {}, wire.CodePath},
		"a link to another skill":              {other, func(r *wire.Request) { r.Skill, r.Dir = "demo", "alias" }, wire.CodePath},
		"a variable without a grant":           {good, func(r *wire.Request) { r.Env = []string{"OTHER"} }, wire.CodeNotGranted},
		"a reserved variable with a grant":     {good, func(r *wire.Request) { r.Env = []string{"MCP_CONFIRM_SECRET"} }, wire.CodeNotGranted},
		"a variable that smuggles a value":     {good, func(r *wire.Request) { r.Env = []string{"TOKEN=x"} }, wire.CodeInvalid},
		"an interpreter outside the set":       {good, func(r *wire.Request) { r.Interpreter = "constructor" }, wire.CodeInterpreter},
		"an interpreter by path":               {good, func(r *wire.Request) { r.Interpreter = "/bin/bash" }, wire.CodeInterpreter},
		"a root that is none":                  {good, func(r *wire.Request) { r.Root = 1 }, wire.CodePath},
		"a negative root":                      {good, func(r *wire.Request) { r.Root = -1 }, wire.CodePath},
		"a directory above the root":           {good, func(r *wire.Request) { r.Dir = "../demo" }, wire.CodePath},
		"a directory by its full path":         {good, func(r *wire.Request) { r.Dir = filepath.Join(s.root, "demo") }, wire.CodePath},
		"a script that is a link out":          {good, func(r *wire.Request) { r.Script = "link" }, wire.CodePath},
		"a script above the skill":             {good, func(r *wire.Request) { r.Script = "../other/run.cjs" }, wire.CodePath},
		"a script that is a directory":         {good, func(r *wire.Request) { r.Script = "dir" }, wire.CodePath},
		"a script that is a FIFO":              {good, func(r *wire.Request) { r.Script = "fifo" }, wire.CodePath},
		"a script that changed":                {good, func(r *wire.Request) { r.ScriptSHA256 = strings.Repeat("0", 64) }, wire.CodeChanged},
		"a disabled skill":                     {off, func(*wire.Request) {}, wire.CodeDisabled},
		"a NUL in an argument":                 {good, func(r *wire.Request) { r.Args = []string{"\x00"} }, wire.CodeArgs},
		"a configuration that was not sent":    {good, func(r *wire.Request) { r.Config = true }, wire.CodeInvalid},
		"more time than there can be":          {good, func(r *wire.Request) { r.TimeoutMs = 1 << 40 }, wire.CodeInvalid},
		"a directory by way of the root again": {good, func(r *wire.Request) { r.Dir = "demo/../demo" }, wire.CodePath},
	} {
		req := c.base
		c.change(&req)
		var refused *runner.RefusedError
		if out, err := s.Run(within(t), req, nil, nil); !errors.As(err, &refused) || refused.Code != c.code {
			t.Errorf("%s: %v %+v, want %s", name, err, out.Result, c.code)
		} else if refused.Message == "" {
			t.Errorf("%s: refused without a reason", name)
		}
	}
	good.Env = []string{"TOKEN"}
	if out := s.run(good); out.ExitCode == nil || *out.ExitCode != 0 {
		t.Errorf("the granted request does not run: %+v", out.Result)
	}
	config := []byte(`{"headers":"0123456789"}`)
	s2 := serve(t, options{env: []string{"TOKEN=0123456789"}})
	leak := s2.script("bash", "exit 0")
	leak.Env, leak.Config = []string{"TOKEN"}, true
	var refused *runner.RefusedError
	if _, err := s2.Run(within(t), leak, config, nil); !errors.As(err, &refused) || strings.Contains(refused.Message, "0123456789") {
		t.Errorf("a configuration that holds a secret: %v", err)
	}
}

// TestABrokenFrontEndsTheMonitor: no frame out of order is forgiven.
func TestABrokenFrontEndsTheMonitor(t *testing.T) {
	for name, bytes := range map[string]string{
		"an unknown message":       "?\x00\x00\x00\x00",
		"a message of its own":     "R\x00\x00\x00\x02{}",
		"a cancel of nothing":      "c\x00\x00\x00\x00",
		"a frame over the bound":   "p\x7f\xff\xff\xff",
		"a request that is sloppy": "r\x00\x00\x00\x02{}",
	} {
		t.Run(name, func(t *testing.T) {
			cmd, sock, _ := startHelper(t, options{})
			defer sock.Close()
			cmd.Stderr = nil
			front := wire.NewConn(wire.Front, sock)
			if err := front.Send(wire.KindBegin, nil); err != nil {
				t.Fatal(err)
			}
			if _, _, err := front.Receive(); err != nil {
				t.Fatal(err)
			}
			if _, err := sock.WriteString(bytes); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestRestsUntilItIsAsked(t *testing.T) {
	cmd, sock, _ := startHelper(t, options{})
	if err := sock.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := sock.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it said %d bytes, %v, without Begin", n, err)
	}
	_ = sock.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("a front that never asked ends it with %v", err)
	}
}

func TestHostedWithoutScrubRunsNothing(t *testing.T) {
	m := &monitor{scrub: wire.Scrub{State: environ.Failed, Reason: "mem: EPERM"}}
	for _, c := range []struct{ hosted, allow, refused bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		m.boot.Hosted, m.boot.AllowUnscrubbed = c.hosted, c.allow
		no := m.checkScrub(nil)
		if (no != nil) != c.refused {
			t.Errorf("%+v: %v", c, no)
		}
		if no != nil && (no.Code != wire.CodeUnscrubbed || !strings.Contains(no.Message, "environ") || !strings.Contains(no.Message, "MCP_SKILL_ALLOW_UNSCRUBBED=1") || !strings.Contains(no.Message, "EPERM")) {
			t.Errorf("%+v", no)
		}
	}
	row := m.own(plain.Host{}.Report(testPolicy(), policy.NetNone)).Row(report.Environ)
	if row.Got != report.Absent || !strings.Contains(row.Reason, "EPERM") {
		t.Errorf("%+v", row)
	}
}

func TestARequiredLayerThatIsMissingRefuses(t *testing.T) {
	m := &monitor{fences: map[policy.Network]report.Fence{}}
	f := report.Fence{Policy: "p", Layers: []report.Row{
		{Layer: report.Environ, Want: report.Require, Got: report.Absent},
		{Layer: report.Seccomp, Want: report.Require, Got: report.Partial, Reason: "ENOSYS", Remedy: "a newer kernel"},
	}}
	a := &approved{network: "none"}
	m.fences["none"] = f
	no := m.checkFence(a)
	if no == nil || no.Code != wire.CodeFence || !strings.Contains(no.Message, "seccomp") || !strings.Contains(no.Message, "ENOSYS") || no.Hint != "a newer kernel" {
		t.Errorf("%+v", no)
	}
	f.Layers = f.Layers[:1]
	m.fences["none"] = f
	if no := m.checkFence(a); no != nil {
		t.Errorf("the environ row is judged twice: %+v", no)
	}
}

// TestASkillOutOfReachIsRefused: without a view of its own a run has to reach
// the skill as the user it is, and the preview says when it cannot.
func TestASkillOutOfReachIsRefused(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "reach-") // below nothing that is closed itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	script := filepath.Join(dir, "run.js")
	if err := os.WriteFile(script, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		uid, mount report.Got
		mode       os.FileMode
		refused    bool
	}{
		{"closed to others", report.Enforced, report.Absent, 0o700, true},
		{"open to others", report.Enforced, report.Absent, 0o755, false},
		{"the view brings it", report.Enforced, report.Enforced, 0o700, false},
		{"the run is the owner", report.Absent, report.Absent, 0o700, false},
	} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		m := &monitor{fences: map[policy.Network]report.Fence{"none": {Policy: "p", Layers: []report.Row{
			{Layer: report.UID, Want: report.Prefer, Got: c.uid}, {Layer: report.NSMount, Want: report.Prefer, Got: c.mount},
		}}}}
		no := m.checkFence(&approved{network: "none", script: beneath.Place{Path: script}})
		if (no != nil) != c.refused || no != nil && (!strings.Contains(no.Message, "chmod o+x") || no.Code != wire.CodePath) {
			t.Errorf("%s: %+v", c.name, no)
		}
	}
}

func TestProgressComesEverySecond(t *testing.T) {
	s := serve(t, options{})
	var seen []wire.Progress
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req := s.script("bash", "echo step one >&2; echo half >&1; read -t 3.3 <> <(:)")
	out, err := s.Run(ctx, req, nil, func(p wire.Progress) { seen = append(seen, p) })
	if err != nil || len(seen) < 2 {
		t.Fatalf("%v, %d of progress, %+v %s", err, len(seen), out.Result, out.Stderr)
	}
	if p := seen[0]; p.LastLine != "step one" || p.StdoutBytes != 5 || time.Duration(p.ElapsedMs)*time.Millisecond > time.Second {
		t.Errorf("%+v", p)
	}
}

// TestOtherInterpretersRun needs nothing readable but what is computed for each.
func TestOtherInterpretersRun(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, boot: func(b *wire.Boot) {
			b.Policy.Read = nil
			b.Policy.Interpreters = append(b.Policy.Interpreters, policy.Interpreter{Name: "python3", Args: []string{"-I"}, MinVersion: "3", Why: "test"})
		}})
		for interpreter, c := range map[string]struct{ script, want string }{
			"node":    {`console.log(new Intl.DateTimeFormat('de', {month: 'long', timeZone: 'Asia/Tokyo'}).format(0), require('crypto').randomBytes(2).length)`, "Januar 2"},
			"bash":    {`declare -A m=([k]=v); echo "${m[k]} $(printf %03d 7) $0"`, "v 007 "},
			"python3": {"import sys, json, hashlib, sqlite3, ssl, zlib, ctypes\nprint(json.dumps({'v': sys.version_info[0], 'a': sys.argv[1:]}), hashlib.sha256(b'').hexdigest()[:4])", `{"v": 3, "a": ["x"]} e3b0`},
		} {
			out := s.run(s.script(interpreter, c.script, "x"))
			if !strings.HasPrefix(string(out.Stdout), c.want) || out.ExitCode == nil || *out.ExitCode != 0 {
				t.Errorf("%s: %q %q %s", interpreter, out.Stdout, out.Stderr, out.Verdict)
			}
		}
	})
}
