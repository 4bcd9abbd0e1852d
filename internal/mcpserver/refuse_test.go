package mcpserver

import (
	"strings"
	"testing"

	"skill-mcp/internal/grant"
	"skill-mcp/internal/wire"
)

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
