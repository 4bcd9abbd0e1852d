package main

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"
)

// peer is a client of either kind.
type peer interface {
	request(method string, params map[string]any, cancelAfter time.Duration) answer
}

// toolText is what a tool said, and whether it said no.
func toolText(a answer) (text string, isError bool) {
	var r struct {
		Content []struct{ Text string } `json:"content"`
		IsError bool                    `json:"isError"`
	}
	if json.Unmarshal(a.Result, &r) != nil {
		return "", true
	}
	for _, c := range r.Content {
		text += c.Text
	}
	return text, r.IsError
}

// tool calls one.
func tool(p peer, name string, arguments map[string]any, cancelAfter time.Duration) (answer, string, bool) {
	a := p.request("tools/call", map[string]any{"name": name, "arguments": arguments}, cancelAfter)
	text, isError := toolText(a)
	return a, text, isError
}

// maybeCancel gives a moment to take a request back at, mostly none.
func maybeCancel(most time.Duration) time.Duration {
	if rand.IntN(6) != 0 {
		return 0
	}
	return time.Duration(1 + rand.Int64N(int64(most)))
}

// client says what a peer may expect of its server.
type client struct {
	led    *ledger
	mark   string // in the arguments of every script that it runs
	kinds  []string
	strain bool // the server is short of something, or one of its parties is being killed: refusals are fine
}

// act does one thing at random.
func (c *client) act(p peer) {
	switch n := rand.IntN(20); {
	case n < 2:
		c.plain(p, "tools/list")
	case n < 3:
		c.plain(p, []string{"ping", "prompts/list", "resources/list", "resources/templates/list"}[rand.IntN(4)])
	case n < 5:
		c.say(p, "skill_list", map[string]any{}, `"worker"`)
	case n < 7:
		c.say(p, "skill_load", map[string]any{"name": "worker"}, "# Worker")
	case n < 10:
		c.say(p, "skill_file", map[string]any{"name": "worker", "paths": []string{"references/big.txt"}}, "0123456789")
	case n < 11:
		c.refused(p, "skill_file", map[string]any{"name": "worker", "paths": []string{"../../../etc/passwd"}})
	case n < 12:
		if a := p.request("no/such", nil, 0); a.Result != nil {
			c.led.violate("a method that does not exist was answered")
		}
	default:
		c.run(p, c.kinds[rand.IntN(len(c.kinds))])
	}
}

// plain asks for a method that always has a result.
func (c *client) plain(p peer, method string) {
	a := p.request(method, nil, maybeCancel(5*time.Millisecond))
	if a.Result == nil && a.Error != nil && !c.strain && a.Error.Code == -32603 {
		c.led.violate("%s: %+v", method, *a.Error)
	}
}

// say calls a reading tool and looks for a part of its answer.
func (c *client) say(p peer, name string, arguments map[string]any, want string) {
	cancel := maybeCancel(20 * time.Millisecond)
	a, text, isError := tool(p, name, arguments, cancel)
	if a.lost || a.cancelled || c.strain || cancel > 0 {
		return
	}
	if isError || !strings.Contains(text, want) {
		c.led.violate("%s: %.300q %+v", name, text, a.Error)
	}
}

// refused calls a tool with what it must never give.
func (c *client) refused(p peer, name string, arguments map[string]any) {
	if _, text, _ := tool(p, name, arguments, 0); strings.Contains(text, "root:x:") {
		c.led.violate("%s gave a file outside the skill", name)
	}
}

// outcome is what the soak reads of a run's result.
type outcome struct {
	ConfirmToken string
	Verdict      string
	ExitCode     *int
	Stdout       string
	Evidence     struct {
		Survivors, Leftovers   []json.RawMessage
		SetupStage, SetupErrno string
	}
}

// verdicts are those a kind may end with, when nobody interferes.
var verdicts = map[string][]string{
	"quick": {"exited"}, "fail": {"exited"}, "flood": {"exited"}, "tree": {"exited", "timeout-after-exit"},
	"late": {"timeout"}, "memory": {"oom-cgroup", "oom-heap", "oom-child"}, "disk": {"exited", "disk"}, "talk": {"exited"},
}

// run previews, approves and runs; then it tries the approval once more.
func (c *client) run(p peer, kind string) {
	script := "scripts/act.js"
	if kind == "late" {
		script = "scripts/late.js"
	}
	call := map[string]any{"name": "worker", "script": script, "args": []string{kind, c.mark}}
	first, text, isError := tool(p, "skill_run", call, 0)
	var o outcome
	_ = json.Unmarshal([]byte(text), &o)
	if o.Verdict != "" { // a person was asked and agreed
		c.judge(kind, o, 0)
		return
	}
	if o.ConfirmToken == "" {
		c.noToken(first, text, isError)
		return
	}
	c.led.count("previews")
	call["confirmToken"] = o.ConfirmToken
	cancel := maybeCancel(400 * time.Millisecond)
	done, text, isError := tool(p, "skill_run", call, cancel)
	var r outcome
	_ = json.Unmarshal([]byte(text), &r)
	if r.Verdict == "" {
		c.noResult(done, text, isError, cancel)
		return
	}
	c.judge(kind, r, cancel)
	if rand.IntN(4) == 0 {
		c.led.count("used approvals tried again")
		if _, text, _ := tool(p, "skill_run", call, 0); strings.Contains(text, `"verdict"`) {
			c.led.violate("one approval ran a script twice: %.200q", text)
		}
	}
}

// noToken sorts what came instead of a preview.
func (c *client) noToken(a answer, text string, isError bool) {
	switch {
	case a.lost || a.cancelled:
		c.led.count("runs: the server or the client went first")
	case strings.Contains(text, "declined") || strings.Contains(text, "cancelled") || strings.Contains(text, "dismissed") || strings.Contains(text, "no answer"):
		c.led.count("runs: a person said no")
	case strings.Contains(text, "in flight"):
		c.led.count("runs: another was in flight")
	case isError && c.strain:
		c.led.count("runs: refused under strain")
	case !isError && !strings.Contains(text, `"verdict"`):
		c.led.count("runs: a person said no")
	default:
		c.led.violate("skill_run gave no preview: %.400q %+v", text, a.Error)
	}
}

// noResult sorts what came instead of a result.
func (c *client) noResult(a answer, text string, isError bool, cancel time.Duration) {
	switch {
	case a.lost || a.cancelled || cancel > 0:
		c.led.count("runs: the server or the client went first")
	case strings.Contains(text, "in flight"):
		c.led.count("runs: another was in flight")
	case isError && c.strain:
		c.led.count("runs: refused under strain")
	default:
		c.led.violate("an approved call gave no result: %.400q %+v", text, a.Error)
	}
}

// judge compares how a run ended with its kind.
func (c *client) judge(kind string, r outcome, cancel time.Duration) {
	c.led.count("runs that ended: " + r.Verdict)
	for _, l := range r.Evidence.Leftovers {
		if strings.Contains(string(l), "still being cleared away") {
			c.led.count("results that came before everything was cleared away") // what stays is looked for in the end
		} else {
			c.led.violate("%s left %s", kind, l)
		}
	}
	if r.Verdict == "kill-incomplete" && len(r.Evidence.Survivors)+len(r.Evidence.Leftovers) == 0 {
		c.led.violate("%s: kill-incomplete that names nothing", kind)
	}
	if c.strain || cancel > 0 || r.Verdict == "kill-incomplete" {
		return
	}
	for _, v := range verdicts[kind] {
		if r.Verdict == v {
			if kind == "quick" && (r.ExitCode == nil || *r.ExitCode != 0 || !strings.Contains(r.Stdout, "done")) {
				c.led.violate("quick ended with %v and %.100q", r.ExitCode, r.Stdout)
			}
			return
		}
	}
	c.led.violate("%s ended with %s %s %s", kind, r.Verdict, r.Evidence.SetupStage, r.Evidence.SetupErrno)
}
