package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/catalog"
	"skill-mcp/internal/report"
)

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

func TestTheAuditHasEveryStepAndNoValue(t *testing.T) {
	var lines bytes.Buffer
	b := newBench(t, nil)
	b.deps.Audit = audit.New(unclosed{&lines})
	c := b.legacy(t, "{}")
	secret := `{"name":"demo","script":"scripts/b.js","args":["hunter2"]}`
	c.tool(toolRun, `{"name":"demo","script":"none.js"}`)
	tok := tokenOf(t, c.tool(toolRun, secret))
	c.tool(toolRun, withToken(secret, "wrong"))
	c.tool(toolRun, withToken(secret, tok))
	c.tool(toolRun, withToken(secret, tok))
	p := b.legacy(t, `{"elicitation":{}}`)
	p.answer = func(string, json.RawMessage) string { return decline }
	p.tool(toolRun, secret)
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{e.Event, e.Rail, e.Verdict}, " "))
	}
	want := "refusal  ,preview token ,refusal token ,approval token ,run token exited,refusal token ,preview prompt ,refusal prompt "
	if strings.Join(got, ",") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ","), want)
	}
	for _, no := range []string{"hunter2", tok, "out\\n"} {
		if strings.Contains(lines.String(), no) {
			t.Errorf("%q is in the audit", no)
		}
	}
	b.deps.Audit = audit.New(failingWriter{})
	r := c.tool(toolRun, withToken(secret, tokenOf(t, c.tool(toolRun, secret))))
	if !r.IsError || len(b.wall.ran()) != 1 {
		t.Errorf("it ran without a record: %s", r.text())
	}
}

// unclosed is a writer that has nothing to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

type failingWriter struct{}

func (failingWriter) Close() error { return nil }

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }
