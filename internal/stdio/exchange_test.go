package stdio

import (
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/rpc"
)

// ways are the two ways a tools/call takes; what a client sees is the same.
var ways = map[string]func(*setup){
	"directly":       func(*setup) {},
	"through mcp-go": func(s *setup) { s.cfg.Tools = nil },
}

func TestElicitation(t *testing.T) {
	for _, tc := range []struct{ name, capabilities, reply, want string }{
		{"accept is passed on", `{"elicitation":{}}`, `"result":{"action":"accept","content":{"confirmed":true}}`, "accept"},
		{"decline is passed on", `{"elicitation":{"form":{}}}`, `"result":{"action":"decline"}`, "decline"},
		{"cancel is passed on", `{"elicitation":{"form":{},"url":{}}}`, `"result":{"action":"cancel"}`, "cancel"},
		{"an action nobody knows is a failure", `{"elicitation":{}}`, `"result":{"action":"yes"}`, "failed"},
		{"an action of ours is a failure too", `{"elicitation":{}}`, `"result":{"action":"unanswered"}`, "failed"},
		{"an action given twice is a failure", `{"elicitation":{}}`, `"result":{"action":"decline","action":"accept"}`, "failed"},
		{"a confirmation given twice is a failure", `{"elicitation":{}}`, `"result":{"action":"accept","content":{"confirmed":false,"confirmed":true}}`, "failed"},
		{"an error is a failure", `{"elicitation":{}}`, `"error":{"code":-32601,"message":"no"}`, "failed"},
		{"an answer that is no object is a failure", `{"elicitation":{}}`, `"result":true`, "failed"},
		{"a client that declared nothing of the kind is not asked", `{}`, "", "cannot ask"},
		{"nor one that only opens addresses", `{"elicitation":{"url":{}}}`, "", "cannot ask"},
		{"nor one whose declaration is no object", `{"elicitation":true}`, "", "cannot ask"},
	} {
		for way, change := range ways {
			t.Run(tc.name+", "+way, func(t *testing.T) {
				c := start(t, change)
				c.initialize(tc.capabilities)
				c.call(1, "ask", "{}")
				if tc.reply != "" {
					ask := c.method("elicitation/create")
					if ask.Params["message"] != "sure?" {
						t.Errorf("asked %s", ask.raw)
					}
					c.send(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,` + tc.reply + "}\n")
				}
				if m := c.next(); m.text() != tc.want {
					t.Errorf("got %s, want %q", m.raw, tc.want)
				}
			})
		}
	}
}

func TestPromptNobodyAnswersIsAbandonedInTime(t *testing.T) {
	for way, change := range ways {
		t.Run(way, func(t *testing.T) {
			c := start(t, func(s *setup) { change(s); s.cfg.ElicitWait = 30 * time.Millisecond })
			c.initialize(`{"elicitation":{}}`)
			c.call(1, "ask", "{}")
			ask := c.method("elicitation/create")
			told := c.method("notifications/cancelled")
			if !strings.Contains(told.raw, `"requestId":`+string(ask.ID)) {
				t.Errorf("the client was told %s, the prompt was %s", told.raw, ask.ID)
			}
			if m := c.next(); m.text() != string(rpc.ActionUnanswered) {
				t.Errorf("got %s", m.raw)
			}
			c.send(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":{"action":"accept"}}` + "\n") // too late
			c.quiet()
		})
	}
}

func TestWaitForAPersonIsShownAsProgress(t *testing.T) {
	c := start(t, func(s *setup) { s.cfg.Heartbeat = time.Millisecond })
	c.initialize(`{"elicitation":{}}`)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"progressToken":"p"}}}` + "\n")
	ask := c.method("elicitation/create")
	for range 3 {
		if m := c.method("notifications/progress"); !strings.Contains(m.raw, "waiting for confirmation") {
			t.Errorf("got %s", m.raw)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":{"action":"decline"}}` + "\n")
	c.answer("1")
	c.quiet()
}

func TestPromptEndsWithTheCallOrTheClient(t *testing.T) {
	t.Run("a cancelled call takes its prompt away", func(t *testing.T) {
		c := start(t, nil)
		c.initialize(`{"elicitation":{}}`)
		c.call(1, "ask", "{}")
		c.method("elicitation/create")
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
		c.method("notifications/cancelled")
		c.quiet()
	})
	t.Run("a client that is gone has not confirmed", func(t *testing.T) {
		c := start(t, nil)
		c.initialize(`{"elicitation":{}}`)
		c.call(1, "ask", "{}")
		c.method("elicitation/create")
		_ = c.in.Close()
		if m := c.next(); m.text() != string(rpc.ActionFailed) {
			t.Errorf("got %s", m.raw)
		}
		if err := c.ended(); err != nil {
			t.Error(err)
		}
	})
}

func TestModernClientGetsTheQuestionInTheResult(t *testing.T) {
	for way, change := range ways {
		t.Run(way, func(t *testing.T) {
			c := start(t, change)
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",` +
				strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1) + `}}` + "\n")
			m := c.next()
			if m.Result["resultType"] != "input_required" || m.Result["requestState"] != "state" || m.Result["inputRequests"] == nil {
				t.Errorf("got %s", m.raw)
			}
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask",` + modernMeta +
				`,"inputResponses":{"q":{"action":"accept"}},"requestState":"state"}}` + "\n")
			if m := c.next(); m.text() != "accept" || m.Result["resultType"] != "complete" {
				t.Errorf("got %s", m.raw)
			}
			// Capabilities are taken from each request, never remembered.
			c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask",` + modernMeta + `}}` + "\n")
			if m := c.next(); m.text() != "cannot ask" {
				t.Errorf("got %s", m.raw)
			}
		})
	}
}

func TestListChangesGoToWhoMayHaveThem(t *testing.T) {
	changed := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	t.Run("a client before initialize hears nothing", func(t *testing.T) {
		c := start(t, nil)
		c.quiet()
		c.d.Broadcast(changed)
		c.quiet()
	})
	t.Run("a client of the old era hears of all", func(t *testing.T) {
		c := start(t, nil)
		c.initialize(`{}`)
		c.quiet()
		c.d.Broadcast(changed)
		for _, want := range []string{"tools", "prompts", "resources"} {
			if m := c.next(); m.Method != "notifications/"+want+"/list_changed" {
				t.Errorf("got %s", m.raw)
			}
		}
	})
	t.Run("a stream hears of what it asked for, with its id", func(t *testing.T) {
		c := start(t, nil)
		c.send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{` + modernMeta +
			`,"notifications":{"promptsListChanged":true,"resourceSubscriptions":["a:b"]}}}` + "\n")
		ack := c.next()
		if ack.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(ack.raw, `"notifications":{"promptsListChanged":true}`) {
			t.Fatalf("got %s", ack.raw)
		}
		c.d.Broadcast(changed)
		if m := c.next(); m.Method != "notifications/prompts/list_changed" || !strings.Contains(m.raw, `"io.modelcontextprotocol/subscriptionId":"s"`) {
			t.Errorf("got %s", m.raw)
		}
		c.quiet()
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}` + "\n")
		c.quiet()
		c.d.Broadcast(changed)
		c.quiet()
	})
	t.Run("a stream ends with the server", func(t *testing.T) {
		c := start(t, nil)
		c.send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{` + modernMeta + `,"notifications":{"toolsListChanged":true}}}` + "\n")
		c.method("notifications/subscriptions/acknowledged")
		began := time.Now()
		_ = c.in.Close()
		if m := c.next(); m.Result["resultType"] != "complete" {
			t.Errorf("got %s", m.raw)
		}
		if err := c.ended(); err != nil || time.Since(began) > time.Second {
			t.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
	t.Run("a stream of nothing ends at once", func(t *testing.T) {
		c := start(t, nil)
		c.send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{` + modernMeta + `,"notifications":{}}}` + "\n")
		c.method("notifications/subscriptions/acknowledged")
		c.answer(`"s"`)
	})
}

func TestLogLinesFollowTheEra(t *testing.T) {
	c := start(t, nil)
	c.initialize(`{}`)
	c.call(1, "log", "{}")
	if m := c.next(); m.text() != "done" {
		t.Errorf("a client that set no level got %s", m.raw)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}` + "\n")
	c.answer("2")
	c.call(3, "log", "{}")
	if m := c.next(); m.Method != "notifications/message" || m.Params["data"] != "note" {
		t.Errorf("got %s", m.raw)
	}
	c.answer("3")
	for level, want := range map[string]bool{"debug": true, "error": false, "": false} {
		meta := modernMeta
		if level != "" {
			meta = strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+level+`",`, 1)
		}
		c.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"log",` + meta + `}}` + "\n")
		if m := c.next(); (m.Method == "notifications/message") != want {
			t.Errorf("level %q: got %s", level, m.raw)
		} else if want {
			c.answer("4")
		}
	}
}
