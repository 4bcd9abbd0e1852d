package mcpserver

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
