package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/rpc"
)

// client is one end of a session without a transport.
type client struct {
	t      testing.TB
	s      *rpc.Session
	modern bool
	caps   string // JSON of the client's capabilities, for modern requests
	// answer is asked for requests of the server; "" means no answer.
	answer func(method string, params json.RawMessage) string
	asked  chan string // ids of the server's requests, when somebody listens

	mu      sync.Mutex
	frames  []string // notifications, in order
	waiting map[int]chan json.RawMessage
	last    int
	longest int
}

func (b *bench) open(t testing.TB) *client {
	c := &client{t: t, waiting: map[int]chan json.RawMessage{}, caps: "{}"}
	c.s = b.Dispatcher().Open(c)
	t.Cleanup(func() { c.s.HangUp(); c.s.CancelAll(); <-c.s.Done() })
	return c
}

// legacy opens a session of the old era with these capabilities.
func (b *bench) legacy(t testing.TB, caps string) *client {
	c := b.open(t)
	c.ok("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+caps+`,"clientInfo":{"name":"t","version":"1"}}`)
	return c
}

// stateless opens a client of the new era with these capabilities.
func (b *bench) stateless(t testing.TB, caps string) *client {
	c := b.open(t)
	c.modern, c.caps = true, caps
	return c
}

func (c *client) Flush() {}

func (c *client) Wake() {}

func (c *client) Queue(frame []byte, _ bool) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(frame, &m); err != nil || bytes.ContainsRune(frame, '\n') {
		c.t.Errorf("not one line of JSON: %v: %.200s", err, frame)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, len(frame))
	switch {
	case m.Method != "" && m.ID != nil:
		if c.answer == nil {
			c.t.Errorf("the server asked: %s", m.Method)
			return
		}
		if c.asked != nil {
			c.asked <- string(m.ID)
		}
		if a := c.answer(m.Method, m.Params); a != "" {
			go c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, a))
		}
	case m.Method != "":
		c.frames = append(c.frames, string(frame))
	default:
		var id int
		if err := json.Unmarshal(m.ID, &id); err != nil || c.waiting[id] == nil {
			c.t.Errorf("an answer nobody waits for: %.200s", frame)
			return
		}
		c.waiting[id] <- append(json.RawMessage(nil), frame...)
	}
}

// send starts a request.
func (c *client) send(method, params string) (int, chan json.RawMessage) {
	if c.modern {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + c.caps + `,"progressToken":"p"}`
		if params == "{}" || params == "" {
			params = "{" + meta + "}"
		} else {
			params = "{" + meta + "," + params[1:]
		}
	}
	if params == "" {
		params = "{}"
	}
	c.mu.Lock()
	c.last++
	id := c.last
	ch := make(chan json.RawMessage, 1)
	c.waiting[id] = ch
	c.mu.Unlock()
	c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id, ch
}

// receive is one line from the client.
func (c *client) receive(line string) {
	if call := c.s.Receive(context.Background(), []byte(line), c); call != nil {
		go call.Run()
	}
}

// reply is a JSON-RPC answer.
type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

func (c *client) wait(ch chan json.RawMessage) reply {
	c.t.Helper()
	select {
	case frame := <-ch:
		var r reply
		if err := json.Unmarshal(frame, &r); err != nil {
			c.t.Fatal(err)
		}
		return r
	case <-time.After(20 * time.Second):
		c.t.Fatal("no answer in 20 s")
		return reply{}
	}
}

func (c *client) call(method, params string) reply {
	c.t.Helper()
	_, ch := c.send(method, params)
	return c.wait(ch)
}

// ok is a call that must succeed.
func (c *client) ok(method, params string) json.RawMessage {
	c.t.Helper()
	r := c.call(method, params)
	if r.Error != nil {
		c.t.Fatalf("%s: %+v", method, *r.Error)
	}
	return r.Result
}

// toolResult is a result of tools/call.
type toolResult struct {
	ResultType        string
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
	InputRequests     map[string]struct {
		Method string
		Params mcp.ElicitationParams
	}
	RequestState string
}

func (r toolResult) text() string {
	if len(r.Content) != 1 {
		return fmt.Sprintf("%d blocks", len(r.Content))
	}
	return r.Content[0].Text
}

// object decodes the text of a result.
func (r toolResult) object(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.text()), &v); err != nil {
		t.Fatalf("%v: %.300s", err, r.text())
	}
	return v
}

// tool calls a tool; more is added to the params.
func (c *client) tool(name, args string, more ...string) toolResult {
	c.t.Helper()
	return readTool(c.t, c.ok("tools/call", toolParams(name, args, more...)))
}

func toolParams(name, args string, more ...string) string {
	return `{"name":"` + name + `","arguments":` + args + strings.Join(more, "") + "}"
}

func readTool(t testing.TB, raw json.RawMessage) toolResult {
	t.Helper()
	var r toolResult
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// has fails when text lacks one of the wanted parts.
func has(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %.600s", w, text)
		}
	}
}
