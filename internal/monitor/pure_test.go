package monitor

import (
	"slices"
	"strings"
	"testing"

	"skill-mcp/internal/environ"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/wire"
)

func TestVerdict(t *testing.T) {
	exit := func(code int) facts { return facts{ended: true, leader: spawn.Exit{Code: code}} }
	signal := func(s string) facts { return facts{ended: true, leader: spawn.Exit{Signal: s}} }
	with := func(f facts, change func(*facts)) facts { change(&f); return f }
	heap := "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n"
	for name, c := range map[string]struct {
		f    facts
		want report.Verdict
	}{
		"exit 0":                                 {exit(0), report.Exited},
		"exit 1":                                 {exit(1), report.Exited},
		"exit 134 without words of the heap":     {exit(134), report.Exited},
		"a signal":                               {signal("SIGSEGV"), report.Signaled},
		"a SIGKILL nobody accounts for":          {signal("SIGKILL"), report.Signaled},
		"the deadline":                           {with(signal("SIGTERM"), func(f *facts) { f.timedOut = true }), report.Timeout},
		"the deadline, and then exit 0":          {with(exit(0), func(f *facts) { f.timedOut = true }), report.Timeout},
		"pipes held after the leader":            {with(exit(0), func(f *facts) { f.pipesHeld = true }), report.TimeoutAfterExit},
		"memory took the leader":                 {with(signal("SIGKILL"), func(f *facts) { f.usage = spawn.Usage{OOMKills: 1, LeaderOOM: true} }), report.OOMCgroup},
		"memory took a child, exit 0":            {with(exit(0), func(f *facts) { f.usage.OOMKills = 2 }), report.OOMChild},
		"memory took a child, then the deadline": {with(exit(0), func(f *facts) { f.usage.OOMKills = 2; f.timedOut = true }), report.OOMChild},
		"V8's own end by exit code":              {with(exit(134), func(f *facts) { f.tail = heap }), report.OOMHeap},
		"V8's own end by signal":                 {with(signal("SIGABRT"), func(f *facts) { f.tail = heap }), report.OOMHeap},
		"a script that prints words of the heap": {with(exit(0), func(f *facts) { f.tail = heap }), report.Exited},
		"processor time":                         {signal("SIGXCPU"), report.CPU},
		"the process limit":                      {with(exit(1), func(f *facts) { f.usage.PidsHit = 3 }), report.Pids},
		"the process limit until the deadline":   {with(signal("SIGTERM"), func(f *facts) { f.usage.PidsHit = 3; f.timedOut = true }), report.Pids},
		"a full tmp":                             {with(exit(1), func(f *facts) { f.usage.DiskFull = true }), report.Disk},
		"a file over its size by signal":         {signal("SIGXFSZ"), report.Disk},
		"a file over its size by word":           {with(exit(1), func(f *facts) { f.tail = "Error: EFBIG: file too large, write" }), report.Disk},
		"a script that survives a full disk":     {with(exit(0), func(f *facts) { f.tail = "ENOSPC" }), report.Exited},
		"a flood":                                {with(signal("SIGKILL"), func(f *facts) { f.flooded = true }), report.OutputFlood},
		"a program it may not start, node":       {with(exit(1), func(f *facts) { f.tail = "Error: spawn /bin/ls EACCES" }), report.DeniedExec},
		"a program it may not start, shell":      {with(exit(126), func(f *facts) { f.tail = "ls: Permission denied" }), report.DeniedExec},
		"a set-up step":                          {facts{setup: &spawn.SetupError{Stage: "landlock", Errno: "EPERM"}}, report.SetupFailed},
		"the interpreter refused":                {facts{setup: &spawn.SetupError{Stage: "execve", Errno: "EACCES"}}, report.DeniedExec},
		"the interpreter missing":                {facts{setup: &spawn.SetupError{Stage: "execve", Errno: "ENOENT"}}, report.SetupFailed},
		"a cancel":                               {with(signal("SIGTERM"), func(f *facts) { f.cancelled = true }), report.Cancelled},
		"a cancel of a run over memory":          {with(signal("SIGTERM"), func(f *facts) { f.cancelled = true; f.usage.OOMKills = 1 }), report.Cancelled},
		"a lost network":                         {with(signal("SIGTERM"), func(f *facts) { f.netLost = true }), report.NetworkLost},
		"a lost network, and then the deadline":  {with(exit(0), func(f *facts) { f.netLost, f.timedOut = true, true }), report.NetworkLost},
		"something survived":                     {with(signal("SIGKILL"), func(f *facts) { f.survivors = 1; f.timedOut = true }), report.KillIncomplete},
		"a leader that never ended":              {facts{timedOut: true}, report.KillIncomplete},
	} {
		if got := c.f.verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNetworkNote(t *testing.T) {
	for name, c := range map[string]struct {
		failed bool
		mode   policy.Network
		proxy  bool
		want   string // "" = none
	}{
		"success has none":               {false, policy.NetNone, true, ""},
		"no network":                     {true, policy.NetNone, false, "mode none"},
		"no network beside a proxy":      {true, policy.NetNone, true, "mode none"},
		"declared hosts":                 {true, policy.NetDeclared, false, "api.example.org"},
		"a proxy":                        {true, policy.NetProxy, true, "403"},
		"the host's network":             {true, policy.NetOpen, false, ""},
		"the host's network and a proxy": {true, policy.NetOpen, true, "mode open"},
	} {
		got := networkNote(c.failed, c.mode, []string{"api.example.org"}, c.proxy, nil)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || (got != "" && !strings.Contains(got, "egress")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestHostPort(t *testing.T) {
	for in, want := range map[string]struct {
		host string
		port int
	}{
		"http://127.0.0.1:3128":        {"127.0.0.1", 3128},
		"http://u:p@proxy.test:8080/x": {"proxy.test", 8080},
		"https://proxy.test":           {"proxy.test", 443},
		"proxy.test":                   {"proxy.test", 80},
		"proxy.test:81":                {"proxy.test", 81},
		"http://[::1]:9":               {"::1", 9},
		"http://[::1]":                 {"::1", 80},
		"http://p:99999":               {"", 0},
		"http://p:x":                   {"", 0},
		"socks5://p":                   {"p", 0},
	} {
		if h, p := hostPort(in); h != want.host || p != want.port {
			t.Errorf("%s: %s %d", in, h, p)
		}
	}
}

func TestBuildEnv(t *testing.T) {
	e := environ.Environ{
		"PATH": "/bin", "HOME": "/h", "TZ": ":/usr/share/zoneinfo/Asia/Tokyo", "LANG": "",
		"TOKEN": "t", "OTHER": "o", "MCPORTER_KEEPALIVE": "*",
	}
	got := buildEnv(e, &approved{
		granted: []string{"TOKEN", "UNSET", "MCPORTER_KEEPALIVE"}, req: wire.Request{Config: true},
		prog: spawn.Program{Env: []string{"NEEDED=1"}},
	})
	want := []string{
		"HOME=/h", "LANG=", "MCPORTER_CONFIG=", "MCPORTER_DISABLE_KEEPALIVE=*", "MCPORTER_OAUTH_NO_BROWSER=1",
		"NEEDED=1", "PATH=/bin", "TMPDIR=/tmp", "TOKEN=t", "TZ=Asia/Tokyo",
	}
	if !slices.Equal(got.list, want) || !slices.Equal(got.notSet, []string{"UNSET"}) || len(got.names) != len(want) {
		t.Errorf("%+v", got)
	}
	none := &approved{}
	if got := buildEnv(environ.Environ{}, none); !slices.Equal(got.names, []string{"TMPDIR"}) {
		t.Errorf("an empty environment gives %v", got.names)
	}
}

func TestPreflightNamesTheLimitAndWhatItNeeds(t *testing.T) {
	if why := preflight(policy.Defaults()); why != "" {
		t.Error(why)
	}
	l := policy.Defaults()
	l.Pids = 4
	if why := preflight(l); !strings.Contains(why, "pids") || !strings.Contains(why, "32") {
		t.Error(why)
	}
}

func TestCheckShape(t *testing.T) {
	good := wire.Request{TimeoutMs: 1, ScriptSHA256: strings.Repeat("0", 64), Args: []string{strings.Repeat("a", maxArgsBytes)}}
	if no := checkShape(&approved{req: good}); no != nil {
		t.Fatal(no)
	}
	for name, c := range map[string]struct {
		change func(*wire.Request)
		code   string
	}{
		"a NUL in an argument":      {func(r *wire.Request) { r.Args = []string{"a\x00"} }, wire.CodeArgs},
		"arguments that are long":   {func(r *wire.Request) { r.Args = append(r.Args, "b") }, wire.CodeArgs},
		"arguments that are many":   {func(r *wire.Request) { r.Args = make([]string, maxArgs+1) }, wire.CodeArgs},
		"no time":                   {func(r *wire.Request) { r.TimeoutMs = 0 }, wire.CodeInvalid},
		"time over the ceiling":     {func(r *wire.Request) { r.TimeoutMs = maxTimeoutMs + 1 }, wire.CodeInvalid},
		"a variable that is none":   {func(r *wire.Request) { r.Env = []string{"A=B"} }, wire.CodeInvalid},
		"a variable given twice":    {func(r *wire.Request) { r.Env = []string{"A", "A"} }, wire.CodeInvalid},
		"a digest of another shape": {func(r *wire.Request) { r.ScriptSHA256 = "0" }, wire.CodeInvalid},
	} {
		r := good
		c.change(&r)
		if no := checkShape(&approved{req: r}); no == nil || no.Code != c.code {
			t.Errorf("%s: %+v", name, no)
		}
	}
}
