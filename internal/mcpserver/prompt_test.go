package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/confirm"
)

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
	// A no needs no state: it is no error, and nothing runs.
	for _, answer := range []string{no, `{"action":"cancel"}`, `{"action":"accept","content":{"confirmed":false}}`} {
		r := c.tool(toolRun, runB, `,"inputResponses":{"confirmation":`+answer+`}`)
		if r.IsError || r.object(t)["cancelled"] != true || len(b.wall.ran()) != 1 {
			t.Fatal(r.text())
		}
	}
	// An acceptance is not honoured where prompts are off.
	off := newBench(t, func(s *setup, _ *shelf, _ *wall) { s.settings.Prompts = false })
	r := off.stateless(t, `{"elicitation":{}}`).tool(toolRun, runB, `,"inputResponses":{"confirmation":`+yes+`},"requestState":"`+first.RequestState+`"`)
	if r.object(t)["confirmToken"] == nil || len(off.wall.ran()) != 0 {
		t.Fatal(r.text())
	}
}
