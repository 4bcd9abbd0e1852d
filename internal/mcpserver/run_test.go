package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/report"
	"skill-mcp/internal/wire"
)

const runB = `{"name":"demo","script":"scripts/b.js","args":["x"]}`

// tokenOf makes a preview and gives its token.
func tokenOf(t testing.TB, r toolResult) string {
	t.Helper()
	o := r.object(t)
	tok, ok := o["confirmToken"].(string)
	if !ok {
		t.Fatalf("no token in %s", r.text())
	}
	return tok
}

func withToken(args, tok string) string {
	return strings.TrimSuffix(args, "}") + fmt.Sprintf(`,"confirmToken":%q}`, tok)
}

func TestRunByToken(t *testing.T) {
	b := newBench(t, nil)
	c := b.legacy(t, "{}")
	r := c.tool(toolRun, `{"name":"demo","script":"scripts/a.js","args":["x y"],"confirm":true}`)
	if r.IsError || !strings.HasPrefix(r.text(), "{\n  \"status\": \"confirmation-required\"") {
		t.Fatal(r.text())
	}
	preview := r.object(t)["preview"].(map[string]any)
	will := preview["willRun"].(map[string]any)
	if preview["dryRun"] != true || fmt.Sprint(will["argv"]) != "[scripts/a.js x y]" || fmt.Sprint(will["envNotSet"]) != "[B_KEY]" ||
		fmt.Sprint(will["envNames"]) != "[A_KEY HOME PATH]" || len(will["digest"].(string)) != 64 {
		t.Errorf("%v", preview)
	}
	has(t, preview["note"].(string), "No process has been started")
	has(t, will["envWarning"].(string), "A_KEY", "MCP_SKILL_RUN")
	if strings.Contains(will["envWarning"].(string), "PATH") {
		t.Error("the warning names what was not declared")
	}
	at := -1
	for _, k := range []string{"skill", "interpreter", "argv", "cwd", "timeoutMs", "envNames", "envNotSet", "envWarning", "digest", "fence"} {
		i := strings.Index(r.text(), "\n      \""+k+"\"")
		if i < at {
			t.Errorf("%s is out of order", k)
		}
		at = i
	}
	if len(b.wall.ran()) != 0 {
		t.Fatal("a preview ran")
	}
	tok := tokenOf(t, r)
	r = c.tool(toolRun, withToken(`{"name":"demo","script":"scripts/a.js","args":["x y"]}`, tok))
	if r.IsError || strings.Contains(r.text(), "\n") {
		t.Fatal(r.text())
	}
	want := `{"skill":"demo","script":"scripts/a.js","interpreter":"node","exitCode":0,"signal":null,"stdout":"out\n","stderr":"",` +
		`"truncated":{"stdout":false,"stderr":false},"timedOut":false,"timeoutMs":60000,"durationMs":7,"env":["A_KEY","HOME","PATH"],"verdict":"exited",`
	if !strings.HasPrefix(r.text(), want) {
		t.Errorf("got  %s\nwant %s", r.text(), want)
	}
	if string(r.StructuredContent) != r.text() {
		t.Error("structuredContent is not the object of the text")
	}
	runs := b.wall.ran()
	if len(runs) != 1 || runs[0].BundleSHA256 != will["digest"] || runs[0].ScriptSHA256 != hash("a") || fmt.Sprint(runs[0].Env) != "[A_KEY B_KEY]" {
		t.Fatalf("%+v", runs)
	}
	r = c.tool(toolRun, withToken(`{"name":"demo","script":"scripts/a.js","args":["x y"]}`, tok))
	if !r.IsError || r.object(t)["error"] != "TOKEN_REUSED" || r.object(t)["dispatched"] != false {
		t.Error(r.text())
	}
}

func TestTokensAreForOneCall(t *testing.T) {
	b := newBench(t, nil)
	c := b.legacy(t, "{}")
	tok := tokenOf(t, c.tool(toolRun, runB))
	expect := func(what, args, code string) {
		t.Helper()
		r := c.tool(toolRun, args)
		if !r.IsError || r.object(t)["error"] != code {
			t.Errorf("%s: want %s, got %s", what, code, r.text())
			return
		}
		if code == "DRAFT_CHANGED" {
			o := r.object(t)
			if o["reason"] != "payload-changed" || o["confirmToken"] == "" || o["preview"] == nil {
				t.Errorf("%s: no fresh preview: %s", what, r.text())
			}
		}
	}
	expect("garbage", withToken(runB, "anything"), "TOKEN_INVALID")
	expect("other arguments", withToken(`{"name":"demo","script":"scripts/b.js"}`, tok), "DRAFT_CHANGED")
	expect("another script", withToken(`{"name":"demo","script":"scripts/a.js","args":["x"]}`, tok), "DRAFT_CHANGED")
	b.shelf.write("demo", "docs/a b.md", "y")
	expect("another file of the bundle", withToken(runB, tok), "DRAFT_CHANGED")
	b.shelf.write("demo", "docs/a b.md", "x")
	if n := len(b.wall.ran()); n != 0 {
		t.Fatalf("%d runs", n)
	}
	late := tokenOf(t, c.tool(toolRun, runB))
	if r := c.tool(toolRun, withToken(runB, tok)); r.IsError {
		t.Errorf("the token must still be good for its own call: %s", r.text())
	}
	b.clock.add(61 * time.Second)
	expect("too late", withToken(runB, late), "TOKEN_EXPIRED")
	if n := len(b.wall.ran()); n != 1 {
		t.Fatalf("%d runs", n)
	}
}

func TestRefusalsBeforeTheGate(t *testing.T) {
	hosted := func(s *setup, _ *shelf, w *wall) {
		s.front.Hosted = true
		w.ready.Scrub = wire.Scrub{State: "failed", Reason: "EPERM"}
	}
	rows := func(s *setup, _ *shelf, _ *wall) {
		s.front.Grants = grant.Grants{From: grant.FromVariable, Rows: []grant.Row{{Skill: "demo", Script: "scripts/a.js"}}}
	}
	long := strings.Repeat("x", 8193)
	for _, c := range []struct {
		name   string
		change func(*setup, *shelf, *wall)
		args   string
		want   []string
	}{
		{"an unknown skill", nil, `{"name":"nope","script":"x"}`, []string{`"nope"`, "demo", "Hint: "}},
		{"an undeclared script", nil, `{"name":"demo","script":"docs/a b.md"}`, []string{"not declared", "scripts/a.js"}},
		{"a script of another spelling", nil, `{"name":"demo","script":"scripts/a.js "}`, []string{"not declared"}},
		{"an ungranted script", rows, runB, []string{"not granted", "scripts/a.js"}},
		{"nothing granted in a hosted server", func(s *setup, _ *shelf, _ *wall) { s.front.Grants.From = grant.FromHosted }, runB, []string{"not granted", "mcp-host.run"}},
		{"a disabled skill", func(s *setup, _ *shelf, _ *wall) { s.view.Disabled = []string{"demo"} }, runB, []string{"disabled"}},
		{"an interpreter that is not there", nil, `{"name":"demo","script":"scripts/c.py"}`, []string{"python3", "node", "skill_load"}},
		{"a script that is gone", func(u *setup, s *shelf, _ *wall) {
			u.view.Catalog = s.scan()
			s.remove("demo", "scripts/b.js")
		}, runB, []string{"not a file in this skill", "relative to the skill"}},
		{"an unscrubbed environment", hosted, runB, []string{"no script may run", "environ", "MCP_SKILL_ALLOW_UNSCRUBBED=1"}},
		{"a helper that refuses", func(_ *setup, _ *shelf, w *wall) {
			w.refuse = &wire.Refused{Code: wire.CodeFence, Message: "landlock is missing", Hint: "choose portable"}
		}, runB, []string{"landlock is missing", "Hint: choose portable"}},
		{"a NUL in an argument", nil, `{"name":"demo","script":"scripts/b.js","args":["a\u0000"]}`, []string{"NUL"}},
		{"too many bytes of arguments", nil, `{"name":"demo","script":"scripts/b.js","args":["` + long + `"]}`, []string{"8192"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.change)
			// The client could be prompted: such a call must not get that far.
			r := b.legacy(t, `{"elicitation":{}}`).tool(toolRun, c.args)
			if !r.IsError {
				t.Fatalf("not refused: %s", r.text())
			}
			has(t, r.text(), c.want...)
			if len(b.wall.ran()) != 0 {
				t.Error("it ran")
			}
		})
	}
}

func TestInputViolationsAreResultsThatTeach(t *testing.T) {
	c := newBench(t, nil).legacy(t, "{}")
	many := strings.TrimSuffix(strings.Repeat(`"x",`, 65), ",")
	for _, x := range []struct{ tool, args, want string }{
		{toolLoad, `{}`, "name: is required"}, {toolLoad, `{"name":""}`, "name: must not be empty"}, {toolLoad, `{"name":7}`, "a number"},
		{toolLoad, `{"Name":"demo"}`, "Name"}, {toolLoad, `{"name":"demo","name":"plain"}`, "more than once"},
		{toolFile, `{"name":"demo","paths":[]}`, "1 to 8"}, {toolFile, `{"name":"demo","paths":"SKILL.md"}`, "a list"},
		{toolFile, `{"name":"demo","paths":["a",""]}`, "paths[1]"}, {toolFile, `{"name":"demo","paths":["1","2","3","4","5","6","7","8","9"]}`, "at most 8"},
		{toolRun, `{"name":"demo","script":"scripts/b.js","args":"x"}`, "args"}, {toolRun, `{"name":"demo","script":"scripts/b.js","args":[1]}`, "args[0]"},
		{toolRun, `{"name":"demo","script":"scripts/b.js","args":[` + many + `]}`, "at most 64"}, {toolRun, `{"name":"demo"}`, "script: is required"},
		{toolRun, `{"name":"demo","script":"scripts/b.js","Args":["x"]}`, "Args"}, {toolRun, `{"name":"demo","script":"scripts/b.js","confirmToken":5}`, "confirmToken"},
		{toolRun, `[]`, "arguments"},
	} {
		r := c.tool(x.tool, x.args)
		if !r.IsError {
			t.Errorf("%s %s: accepted: %s", x.tool, x.args, r.text())
			continue
		}
		has(t, r.text(), x.want)
		if x.args != `[]` {
			has(t, r.text(), "Input validation error", "Invalid arguments for tool "+x.tool)
		}
	}
	if r := readTool(t, c.ok("tools/call", `{"name":"skill_list"}`)); r.IsError {
		t.Error("skill_list without arguments: " + r.text())
	}
	if r := c.tool(toolLoad, `{"name":"demo","more":{"a":1}}`); r.IsError {
		t.Error("unknown arguments are ignored: " + r.text())
	}
}

// accept answers a prompt.
const (
	accept  = `"result":{"action":"accept","content":{"confirmed":true}}`
	decline = `"result":{"action":"decline"}`
)

func TestRunByPromptOldEra(t *testing.T) {
	for _, x := range []struct {
		name, answer string
		runs         int
	}{
		{"accepted", accept, 1}, {"declined", decline, 0}, {"cancelled", `"result":{"action":"cancel"}`, 0},
		{"accepted without the box", `"result":{"action":"accept","content":{}}`, 0},
		{"accepted with a text in the box", `"result":{"action":"accept","content":{"confirmed":"true"}}`, 0},
		{"accepted with false", `"result":{"action":"accept","content":{"confirmed":false}}`, 0},
		{"an unknown action", `"result":{"action":"unanswered","content":{"confirmed":true}}`, 0},
		{"an error", `"error":{"code":-32601,"message":"no"}`, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBench(t, nil)
			c := b.legacy(t, `{"elicitation":{}}`)
			var asked json.RawMessage
			c.answer = func(_ string, p json.RawMessage) string { asked = p; return x.answer }
			r := c.tool(toolRun, withToken(runB, "ignored"))
			if len(b.wall.ran()) != x.runs || r.IsError {
				t.Fatalf("%d runs: %s", len(b.wall.ran()), r.text())
			}
			has(t, string(asked), "scripts/b.js", "demo", "Review and confirm", `"requestedSchema"`, `"confirmed"`, "cgroup-memory (no cgroup v2)")
			if x.runs == 0 {
				o := r.object(t)
				if o["confirmed"] != false || o["cancelled"] != true || o["action"] != "skill.run" {
					t.Error(r.text())
				}
			}
		})
	}
}

func TestAPromptThatNobodyAnswersBecomesAToken(t *testing.T) {
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.settings.Wait = 50 * time.Millisecond })
	c := b.legacy(t, `{"elicitation":{"form":{}}}`)
	asked := 0
	c.answer = func(string, json.RawMessage) string { asked++; return "" }
	r := c.tool(toolRun, runB)
	if r.IsError || asked != 1 {
		t.Fatal(r.text())
	}
	has(t, r.object(t)["instruction"].(string), "Nobody answered")
	has(t, strings.Join(c.frames, "\n"), "notifications/cancelled")
	if r = c.tool(toolRun, withToken(runB, tokenOf(t, r))); r.IsError || len(b.wall.ran()) != 1 || asked != 1 {
		t.Fatalf("the token of the fallback must be good: asked %d: %s", asked, r.text())
	}

	b = newBench(t, func(s *setup, _ *shelf, _ *wall) {
		s.settings.Wait, s.settings.Mode = 50*time.Millisecond, confirm.Refuse
	})
	c = b.legacy(t, `{"elicitation":{}}`)
	c.answer = func(string, json.RawMessage) string { return "" }
	r = c.tool(toolRun, runB)
	if r.IsError || r.object(t)["reason"] != "confirmation-unsupported" {
		t.Fatal(r.text())
	}
}

func TestWhoIsPrompted(t *testing.T) {
	for _, x := range []struct {
		name, caps string
		settings   confirm.Settings
		want       string // prompt, token or refused
	}{
		{"any elicitation", `{"elicitation":{}}`, confirm.Settings{Mode: confirm.Refuse, Prompts: true}, "prompt"},
		{"form among the modes", `{"elicitation":{"form":{},"url":{}}}`, confirm.Settings{Mode: confirm.Auto, Prompts: true, TTL: time.Minute}, "prompt"},
		{"only url", `{"elicitation":{"url":{}}}`, confirm.Settings{Mode: confirm.AskUser, Prompts: true, TTL: time.Minute}, "token"},
		{"not an object", `{"elicitation":true}`, confirm.Settings{Mode: confirm.AskUser, Prompts: true, TTL: time.Minute}, "token"},
		{"nothing declared", `{}`, confirm.Settings{Mode: confirm.AskUser, Prompts: true, TTL: time.Minute}, "token"},
		{"prompts are off", `{"elicitation":{}}`, confirm.Settings{Mode: confirm.AskUser, TTL: time.Minute}, "token"},
		{"refuse", `{}`, confirm.Settings{Mode: confirm.Refuse, Prompts: true, TTL: time.Minute}, "refused"},
		{"no lifetime", `{}`, confirm.Settings{Mode: confirm.AskUser, Prompts: true}, "refused"},
	} {
		x.settings.Wait = 5 * time.Second
		for _, era := range []string{"legacy", "modern"} {
			t.Run(x.name+" "+era, func(t *testing.T) {
				b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.settings = x.settings })
				asked := false
				var r toolResult
				if era == "legacy" {
					c := b.legacy(t, x.caps)
					c.answer = func(string, json.RawMessage) string { asked = true; return decline }
					r = c.tool(toolRun, runB)
				} else {
					if x.caps == `{"elicitation":true}` {
						t.Log("such capabilities are malformed in this era; what matters is that nothing is asked")
					}
					r = b.stateless(t, x.caps).tool(toolRun, runB)
					asked = r.ResultType == "input_required"
				}
				got := "refused"
				if asked {
					got = "prompt"
				} else if r.object(t)["confirmToken"] != nil {
					got = "token"
				}
				if got != x.want || r.IsError || len(b.wall.ran()) != 0 {
					t.Errorf("got %s, want %s: %s", got, x.want, r.text())
				}
			})
		}
	}
}

func TestRunByPromptNewEra(t *testing.T) {
	b := newBench(t, nil)
	c := b.stateless(t, `{"elicitation":{"form":{}}}`)
	ask := func() toolResult {
		t.Helper()
		r := c.tool(toolRun, runB)
		if r.ResultType != "input_required" || r.RequestState == "" || r.InputRequests["confirmation"].Method != "elicitation/create" {
			t.Fatalf("%+v", r)
		}
		return r
	}
	retry := func(args, answer, state string) toolResult {
		t.Helper()
		return c.tool(toolRun, args, `,"inputResponses":{"confirmation":`+answer+`},"requestState":"`+state+`"`)
	}
	yes, no := `{"action":"accept","content":{"confirmed":true}}`, `{"action":"decline"}`
	first := ask()
	if r := retry(`{"name":"demo","script":"scripts/a.js"}`, yes, first.RequestState); r.ResultType != "input_required" || len(b.wall.ran()) != 0 {
		t.Fatalf("the state of another call: %+v", r)
	}
	if r := retry(runB, yes, first.RequestState); r.IsError || r.ResultType != "complete" || len(b.wall.ran()) != 1 {
		t.Fatalf("%+v", r)
	}
	if r := retry(runB, yes, first.RequestState); r.ResultType != "input_required" || len(b.wall.ran()) != 1 {
		t.Fatalf("one approval ran twice: %+v", r)
	}
	second := ask()
	if r := retry(runB, no, second.RequestState); r.object(t)["cancelled"] != true {
		t.Fatal(r.text())
	}
	if r := retry(runB, yes, second.RequestState); r.ResultType != "input_required" || len(b.wall.ran()) != 1 {
		t.Fatal("a no came back as a yes")
	}
	third := ask()
	b.shelf.write("demo", "new.md", "changed")
	if r := retry(runB, yes, third.RequestState); r.ResultType != "input_required" || len(b.wall.ran()) != 1 {
		t.Fatal("the skill changed while the person read")
	}
	fourth := ask()
	b.clock.add(2 * time.Minute)
	if r := retry(runB, yes, fourth.RequestState); r.ResultType != "input_required" || len(b.wall.ran()) != 1 {
		t.Fatal("an old approval ran")
	}
	if r := c.tool(toolRun, runB, `,"inputResponses":{"confirmation":`+yes+`}`); !r.IsError || !strings.Contains(r.text(), "requestState was not round-tripped") {
		t.Fatal(r.text())
	}
	// An acceptance is not honoured where prompts are off.
	off := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.settings.Prompts = false })
	r := off.stateless(t, `{"elicitation":{}}`).tool(toolRun, runB, `,"inputResponses":{"confirmation":`+yes+`},"requestState":"`+first.RequestState+`"`)
	if r.object(t)["confirmToken"] == nil || len(off.wall.ran()) != 0 {
		t.Fatal(r.text())
	}
}

func TestOneRunAtATimeAndTheTokenSurvives(t *testing.T) {
	b := newBench(t, func(_ *setup, _ *shelf, w *wall) { w.hold, w.began = make(chan struct{}), make(chan struct{}) })
	began := b.wall.began
	c := b.legacy(t, "{}")
	second := tokenOf(t, c.tool(toolRun, runB))
	first := tokenOf(t, c.tool(toolRun, runB))
	_, ch := c.send("tools/call", `{"name":"skill_run","arguments":`+withToken(runB, first)+`,"_meta":{"progressToken":"p"}}`)
	<-began
	r := c.tool(toolRun, withToken(runB, second))
	if !r.IsError {
		t.Fatal(r.text())
	}
	has(t, r.text(), "already in flight", "Hint: ")
	if r := c.tool(toolRun, runB); r.IsError {
		t.Errorf("a preview is possible while a script runs: %s", r.text())
	}
	close(b.wall.hold)
	if r := readTool(t, c.wait(ch).Result); r.IsError {
		t.Fatal(r.text())
	}
	has(t, strings.Join(c.frames, "\n"), "notifications/progress", "half way")
	if r := c.tool(toolRun, withToken(runB, second)); r.IsError {
		t.Errorf("the refusal for being busy spent the token: %s", r.text())
	}
}

func TestACancelledRunEndsAndIsSilent(t *testing.T) {
	b := newBench(t, func(_ *setup, _ *shelf, w *wall) { w.hold, w.began = make(chan struct{}), make(chan struct{}) })
	began := b.wall.began
	c := b.legacy(t, "{}")
	id, ch := c.send("tools/call", toolParams(toolRun, withToken(runB, tokenOf(t, c.tool(toolRun, runB)))))
	<-began
	c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	// The place of the run is free again once the runner has returned.
	select {
	case b.running <- struct{}{}:
	case <-time.After(10 * time.Second):
		t.Fatal("the run did not end")
	}
	select {
	case frame := <-ch:
		t.Fatalf("answered after the cancel: %s", frame)
	default:
	}
}

func TestAReloadLeavesRunsInFlightAlone(t *testing.T) {
	b := newBench(t, func(_ *setup, _ *shelf, w *wall) { w.hold, w.began = make(chan struct{}), make(chan struct{}) })
	began := b.wall.began
	c := b.legacy(t, "{}")
	_, ch := c.send("tools/call", toolParams(toolRun, withToken(runB, tokenOf(t, c.tool(toolRun, runB)))))
	<-began
	other := newShelf(t)
	other.put("new", "", "n", nil)
	b.Replace(View{Catalog: other.scan()})
	if r := c.tool(toolLoad, `{"name":"demo"}`); !r.IsError {
		t.Error("the old skill is still there")
	}
	has(t, c.tool(toolList, "{}").text(), `"new"`)
	has(t, strings.Join(c.frames, "\n"), "notifications/prompts/list_changed", "notifications/resources/list_changed")
	close(b.wall.hold)
	if r := readTool(t, c.wait(ch).Result); r.IsError || r.object(t)["skill"] != "demo" {
		t.Error(r.text())
	}
}

func TestNetworkNoteAndSignal(t *testing.T) {
	one := 1
	for _, x := range []struct {
		name    string
		proxy   bool
		network string
		exit    *int
		timeout bool
		want    bool
	}{
		{"a failure behind a proxy", true, "open", &one, false, true},
		{"a failure with a network of its own", false, "declared", &one, false, true},
		{"a failure on the open network", false, "open", &one, false, false},
		{"a success behind a proxy", true, "proxy", zero(), false, false},
		{"a timeout behind a proxy", true, "open", nil, true, true},
	} {
		b := newBench(t, func(s *setup, _ *shelf, w *wall) {
			s.front.ProxySet, w.ready.Fence.Network = x.proxy, x.network
			w.out.ExitCode, w.out.TimedOut = x.exit, x.timeout
			if x.exit == nil {
				w.out.Signal = "SIGTERM"
			}
		})
		c := b.legacy(t, "{}")
		r := c.tool(toolRun, withToken(runB, tokenOf(t, c.tool(toolRun, runB))))
		o := r.object(t)
		note, ok := o["networkNote"].(string)
		if r.IsError || ok != x.want || ok && !strings.Contains(note, "egress") {
			t.Errorf("%s: %s", x.name, r.text())
		}
		if x.exit == nil && (o["signal"] != "SIGTERM" || o["exitCode"] != nil) {
			t.Errorf("%s: %s", x.name, r.text())
		}
	}
}

func TestOutputOfControlCharactersFitsAMessage(t *testing.T) {
	b := newBench(t, func(_ *setup, _ *shelf, w *wall) {
		w.out.Stdout, w.out.Stderr = []byte(strings.Repeat("\x01", 1<<20)), []byte(strings.Repeat("\x02", 1<<20))
		w.out.Verdict = report.Exited
	})
	c := b.legacy(t, "{}")
	r := c.tool(toolRun, withToken(runB, tokenOf(t, c.tool(toolRun, runB))))
	o := r.object(t)
	if r.IsError || o["outputNote"] == nil || len(o["stdout"].(string)) < 400_000 || len(o["stderr"].(string)) < 400_000 {
		t.Errorf("%.200s", r.text())
	}
	if c.longest > 8<<20 {
		t.Errorf("a message of %d bytes", c.longest)
	}
}

// needs is a fixed set of dependencies.
type needs struct {
	list []Dependency
	run  RunConfig
	err  error
}

func (n needs) Of(skill string) []Dependency {
	if skill != "demo" {
		return nil
	}
	return n.list
}
func (n needs) Problems() []catalog.Problem {
	return []catalog.Problem{{Path: "/skills/demo", Reason: catalog.DependencyProblem, Detail: "x"}}
}
func (n needs) Run() (RunConfig, error) { return n.run, n.err }

func TestDependenciesReachTheRun(t *testing.T) {
	n := needs{list: []Dependency{{Name: "db", Transport: "stdio", Command: "x"}}, run: RunConfig{[]byte("{}"), []string{"h.example"}}}
	b := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.MCP = n })
	c := b.legacy(t, "{}")
	has(t, c.tool(toolLoad, `{"name":"demo"}`).text(), `"mcpDependencies":[{"name":"db","transport":"stdio","command":"x"}]`)
	has(t, c.tool(toolList, "{}").text(), `"mcpDependencies":1`, `"reason":"dependency"`)
	if r := c.tool(toolRun, withToken(runB, tokenOf(t, c.tool(toolRun, runB)))); r.IsError {
		t.Fatal(r.text())
	}
	if r := b.wall.ran()[0]; !r.Config || fmt.Sprint(r.Hosts) != "[example.com h.example]" || string(b.wall.configs[0]) != "{}" {
		t.Errorf("%+v", r)
	}
	n.err = fmt.Errorf("db is declared twice")
	b = newBench(t, func(s *setup, _ *shelf, _ *wall) { s.view.MCP = n })
	r := b.legacy(t, `{"elicitation":{}}`).tool(toolRun, runB)
	if !r.IsError {
		t.Fatal("previewed")
	}
	has(t, r.text(), "db is declared twice", "MCP_SKILL_DISABLE")
}
