package stdio

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/rpc"
)

func TestLinesThatAreNotRequestsGetOneClearErrorAndTheServerLivesOn(t *testing.T) {
	for _, tc := range []struct {
		name, line, id, mentions string
		code                     int
	}{
		{"a line that is not JSON", `{"jsonrpc":`, "null", "not one JSON value", -32700},
		{"two values on a line", `{} {}`, "null", "not one JSON value", -32700},
		{"bytes that are not UTF-8", "{\"a\":\"\xff\"}", "null", "UTF-8", -32700},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", "batches", -32600},
		{"an empty batch", `[]`, "null", "batches", -32600},
		{"a number", `7`, "null", "object", -32600},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", "id must be", -32600},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", "id must be", -32600},
		{"another version of JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", "jsonrpc", -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", "method", -32600},
		{"neither id nor method", `{"jsonrpc":"2.0"}`, "null", "method", -32600},
		{"params that are an array", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, "1", "params", -32602},
		{"the method given twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, "null", "more than once", -32600},
		{"the method in capitals", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/list"}`, "null", `"Method"`, -32600},
		{"the tool's name twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"wait"}}`, "1", "more than once", -32602},
		{"the arguments re-cased", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Arguments":{}}}`, "1", "Arguments", -32602},
		{"the revision twice", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"a":2}}}`, "1", "more than once", -32602},
		{"a person's answer twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","inputResponses":{"q":{"action":"decline"},"q":{"action":"accept"}}}}`,
			"1", "more than once", -32602},
		{"a method that does not exist", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "1", "no/such", -32601},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, nil)
			c.send(tc.line + "\n")
			m := c.next()
			if string(m.ID) != tc.id && !(tc.id == "null" && m.ID == nil) {
				t.Errorf("id %s, want %s", m.ID, tc.id)
			}
			if m.Error == nil || m.Error.Code != tc.code || !strings.Contains(m.Error.Message, tc.mentions) {
				t.Errorf("got %s, want code %d and %q", m.raw, tc.code, tc.mentions)
			}
			c.quiet()
		})
	}
}

func TestLineEndsAndBlankLines(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, text := range map[string]string{
		"blank lines are ignored":                  "\n\r\n  \t\n" + ping + "\n\n",
		"CRLF ends a line":                         ping + "\r\n",
		"a last line without line end is answered": ping,
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, nil)
			c.send(text)
			_ = c.in.Close()
			if m := c.next(); string(m.ID) != "1" || m.Error != nil {
				t.Errorf("got %s", m.raw)
			}
			if err := c.ended(); err != nil {
				t.Error(err)
			}
			if m, more := <-c.lines; more {
				t.Errorf("and then %s", m.raw)
			}
		})
	}
}

func TestOversizedLineIsAnsweredAndSkipped(t *testing.T) {
	filler := strings.Repeat("y", rpc.MaxMessage)
	for _, tc := range []struct{ name, line, id string }{
		{"the id stands first", `{"jsonrpc":"2.0","id":"a\"b","method":"x","params":{"id":9,"f":"` + filler + `"}}`, `"a\"b"`},
		{"the id stands last", `{"method":"x","params":{"id":9,"f":"` + filler + `"},"jsonrpc":"2.0","id":42}`, "42"},
		{"there is no id", `{"method":"x","params":{"id":9,"f":"` + filler + `"}}`, "null"},
		{"it is no JSON", filler + filler, "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, nil)
			c.send(tc.line + "\n")
			m := c.next()
			if m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.raw, `"id":`+tc.id+`,`) {
				t.Errorf("got %s, want an error with id %s", m.raw, tc.id)
			}
			c.quiet()
		})
	}
}

func TestLineOfExactlyTheLimitIsServed(t *testing.T) {
	c := start(t, nil)
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"f":"`, `"}}`
	c.send(head + strings.Repeat("y", rpc.MaxMessage-len(head)-len(tail)) + tail + "\r\n")
	if m := c.answer("1"); m.Error != nil {
		t.Error(m.raw)
	}
}

func TestResponsesNobodyWaitsForAndNotificationsAreNotAnswered(t *testing.T) {
	c := start(t, nil)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","method":"notifications/nothing"}`,
		`{"jsonrpc":"1.0","method":"notifications/odd"}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	} {
		c.send(line + "\n")
	}
	c.quiet()
}

func TestIDsComeBackAsTheyWereWritten(t *testing.T) {
	c := start(t, nil)
	for _, id := range []string{`1`, `-3`, `9007199254740993`, `1.5`, `"1"`, `""`, `"é\u00e9\n"`} {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n")
		if m := c.next(); !strings.Contains(m.raw, `"id":`+id+`,`) {
			t.Errorf("sent %s, got %s", id, m.raw)
		}
	}
}

func TestSlowCallsDelayNothing(t *testing.T) {
	c := start(t, nil)
	for i := range 20 {
		c.call(i, "wait", "{}")
	}
	for range 20 {
		c.event(c.tool.began)
	}
	best := time.Hour
	for range 10 { // a single one is also delayed by whatever else the machine does
		began := time.Now()
		c.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n")
		c.answer(`"p"`)
		best = min(best, time.Since(began))
	}
	if best > 50*time.Millisecond {
		t.Errorf("the quickest of ten pings took %v behind 20 slow calls", best)
	}
	close(c.tool.release)
	for range 20 {
		if m := c.next(); m.text() != "released" {
			t.Errorf("got %s", m.raw)
		}
	}
}

func TestCancelledCallIsEndedAndSilent(t *testing.T) {
	for _, id := range []any{7, "seven"} {
		t.Run(fmt.Sprint(id), func(t *testing.T) {
			c := start(t, nil)
			raw := fmt.Sprintf("%v", id)
			if s, ok := id.(string); ok {
				raw = `"` + s + `"`
			}
			c.send(`{"jsonrpc":"2.0","id":` + raw + `,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}` + "\n")
			c.event(c.tool.began)
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + raw + `}}` + "\n")
			c.event(c.tool.cancelled)
			c.quiet()
			c.call(id, "echo", "{}") // the id is free again once its call has ended
			for {
				m := c.answer(raw)
				if m.Error == nil {
					break
				}
				c.call(id, "echo", "{}")
			}
		})
	}
}

func TestCallCancelledBeforeItStartsIsSilentToo(t *testing.T) {
	c := start(t, nil)
	for i := range 200 {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", i, i))
	}
	for range 200 {
		c.event(c.tool.cancelled)
	}
	c.quiet()
}

func TestSecondRequestWithAnIDInUseIsRefused(t *testing.T) {
	c := start(t, nil)
	c.call(1, "wait", "{}")
	c.event(c.tool.began)
	c.call(1, "echo", "{}")
	if m := c.next(); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("got %s", m.raw)
	}
	close(c.tool.release)
	if m := c.next(); m.text() != "released" {
		t.Errorf("got %s", m.raw)
	}
}

func TestProgressComesBeforeTheResultWithTheClientsTokenAndRises(t *testing.T) {
	for _, token := range []string{`"tok"`, `5`} {
		c := start(t, nil)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"lines":1000},"_meta":{"progressToken":` + token + `}}}` + "\n")
		last := -1.0
		for i := range 1000 {
			m := c.next()
			if m.Method != "notifications/progress" || !strings.Contains(m.raw, `"progressToken":`+token+`,`) || m.Params["message"] != fmt.Sprint(i) {
				t.Fatalf("line %d is %s", i, m.raw)
			}
			if v := m.Params["progress"].(float64); v <= last {
				t.Fatalf("progress %v after %v", v, last)
			} else {
				last = v
			}
		}
		if m := c.next(); m.text() != "done" {
			t.Errorf("got %s", m.raw)
		}
	}
}

func TestNoTokenNoProgress(t *testing.T) {
	c := start(t, nil)
	c.call(1, "progress", `{"lines":3}`)
	if m := c.next(); m.text() != "done" {
		t.Errorf("got %s", m.raw)
	}
}

func TestNotificationsSentThroughMcpGoComeBeforeTheResultToo(t *testing.T) {
	c := start(t, nil)
	c.call(1, "late", "{}")
	for i := range 50 {
		if m := c.next(); m.Method != "notifications/test" || m.Params["n"] != float64(i) {
			t.Fatalf("line %d is %s", i, m.raw)
		}
	}
	if m := c.next(); m.text() != "done" {
		t.Errorf("got %s", m.raw)
	}
}

func TestPanicIsAnInternalErrorAndTheServerLivesOn(t *testing.T) {
	c := start(t, nil)
	c.call(1, "panic", "{}")
	if m := c.next(); m.Error == nil || m.Error.Code != -32603 || strings.Contains(m.raw, "on purpose") {
		t.Errorf("got %s", m.raw)
	}
	c.quiet()
}

func TestHandlersOwnErrorIsSentAsItStands(t *testing.T) {
	for name, change := range map[string]func(*setup){
		"called directly":       nil,
		"called through mcp-go": func(s *setup) { s.cfg.Tools = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, change)
			c.call(1, "fault", "{}")
			if m := c.next(); !strings.Contains(m.raw, `"error":{"code":-32050,"message":"own","data":7}`) {
				t.Errorf("got %s", m.raw)
			}
		})
	}
}

func TestNothingAboveTheLimitIsSent(t *testing.T) {
	c := start(t, nil)
	c.call(1, "big", `{"bytes":8388608}`)
	m := c.next()
	if m.Result["isError"] != true || !strings.Contains(m.text(), "ask for less") {
		t.Errorf("got %.200s", m.raw)
	}
	c.call(2, "big", `{"bytes":8388000}`)
	if m := c.next(); len(m.text()) != 8388000 {
		t.Errorf("got %.200s", m.raw)
	}
}

func TestAmbiguousArgumentsOfARunAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, arguments, mentions string }{
		{"a key twice", `{"name":"a","script":"x","script":"y"}`, `"script"`},
		{"a key in capitals", `{"name":"a","script":"x","Script":"y"}`, `"Script"`},
		{"a key with a letter that folds", `{"name":"a","\u017fcript":"y"}`, "script"},
		{"a key twice, once escaped", `{"name":"a","script":"x","\u0073cript":"y"}`, `"script"`},
		{"a key twice deep inside", `{"name":"a","script":"x","more":[{"k":1,"k":2}]}`, `"k"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, nil)
			c.call(1, "skill_run", tc.arguments)
			if m := c.next(); m.Result["isError"] != true || !strings.Contains(m.text(), tc.mentions) {
				t.Errorf("got %s", m.raw)
			}
		})
	}
	c := start(t, nil)
	c.call(1, "skill_run", `{"name":"a","script":"x","args":["{\"k\":1,\"k\":2}"],"confirm":true,"more":[{"k":1},{"k":2}]}`)
	if m := c.next(); m.Result["isError"] == true {
		t.Errorf("unambiguous arguments were refused: %s", m.raw)
	}
}
