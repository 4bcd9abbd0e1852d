package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"skill-mcp/internal/rpc"
)

// patience bounds every wait of a test: only a failure waits that long.
const patience = 10 * time.Second

// surface is a small MCP server with one tool for each way a call can go.
type surface struct {
	began     chan string   // a tool started: its name
	cancelled chan string   // a tool's context ended
	release   chan struct{} // closed: "wait" returns
}

func newSurface() *surface {
	return &surface{began: make(chan string, 256), cancelled: make(chan string, 256), release: make(chan struct{})}
}

func (f *surface) tools() map[string]server.ToolHandlerFunc {
	return map[string]server.ToolHandlerFunc{
		"echo": f.echo, "wait": f.wait, "big": f.big, "panic": f.panic, "progress": f.progress, "ask": f.ask,
		"skill_run": f.echo, "fault": f.fault, "log": f.log,
	}
}

func (f *surface) server() *server.MCPServer {
	srv := server.NewMCPServer("test", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true),
		server.WithElicitation(), server.WithLogging())
	tools := f.tools()
	tools["late"] = f.late
	for name, handler := range tools {
		srv.AddTool(mcp.NewToolWithRawSchema(name, "a tool", json.RawMessage(`{"type":"object","properties":{}}`)), handler)
	}
	return srv
}

func (f *surface) echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := json.Marshal(r.Params.Arguments)
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(string(text)), nil
}

func (f *surface) wait(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	f.began <- "wait"
	select {
	case <-f.release:
		return mcp.NewToolResultText("released"), nil
	case <-ctx.Done():
		f.cancelled <- "wait"
		rpc.FromContext(ctx).Progress("after the end")
		return mcp.NewToolResultText("ended"), nil
	}
}

func (f *surface) big(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	n := int(r.GetFloat("bytes", 0))
	return mcp.NewToolResultText(strings.Repeat("x", n)), nil
}

func (f *surface) panic(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	panic("on purpose")
}

func (f *surface) progress(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range int(r.GetFloat("lines", 0)) {
		rpc.FromContext(ctx).Progress(fmt.Sprint(i))
	}
	return mcp.NewToolResultText("done"), nil
}

func (f *surface) late(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	// Through mcp-go's channel, which is read by another goroutine.
	for i := range 50 {
		if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/test", map[string]any{"n": i}); err != nil {
			return nil, err
		}
	}
	return mcp.NewToolResultText("done"), nil
}

func (f *surface) ask(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(r.Params.InputResponses, "q"); answer != nil {
		return mcp.NewToolResultText(string(answer.Action)), nil
	}
	if rpc.FromContext(ctx).Elicitation() == rpc.Absent {
		return mcp.NewToolResultText("cannot ask"), nil
	}
	return server.NewInputRequestBuilder("state").Elicit("q", mcp.ElicitationParams{
		Message: "sure?", RequestedSchema: map[string]any{"type": "object"},
	}).ToolResult(), nil
}

func (f *surface) fault(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, fmt.Errorf("look: %w", &rpc.Error{Code: -32050, Message: "own", Data: 7})
}

func (f *surface) log(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	rpc.FromContext(ctx).Log(mcp.LoggingLevelInfo, "t", "note")
	return mcp.NewToolResultText("done"), nil
}

// client drives Serve over pipes.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan reply
	done  chan error // what Serve returned
	stop  context.CancelFunc
	tool  *surface
	d     *rpc.Dispatcher
	seen  []reply // everything received so far
}

// reply is a message from the server.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result map[string]any  `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
	raw string
}

func (r reply) text() string {
	content, _ := r.Result["content"].([]any)
	if len(content) == 0 {
		return ""
	}
	first, _ := content[0].(map[string]any)
	text, _ := first["text"].(string)
	return text
}

type setup struct {
	cfg  rpc.Config
	opts Options
}

func start(t *testing.T, change func(*setup)) *client {
	t.Helper()
	tool := newSurface()
	s := setup{cfg: rpc.Config{
		Handler: tool.server(), Identity: mcp.Implementation{Name: "test", Version: "1"},
		Arguments: map[string][]string{"skill_run": {"name", "script", "args", "confirmToken"}},
		Tools:     func(name string) server.ToolHandlerFunc { return tool.tools()[name] },
	}}
	if change != nil {
		change(&s)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{t: t, in: inW, lines: make(chan reply, 4096), done: make(chan error, 1), stop: cancel, tool: tool, d: rpc.New(s.cfg)}
	go func() {
		err := Serve(ctx, c.d, inR, outW, s.opts)
		_ = outW.Close()
		c.done <- err
	}()
	go c.collect(outR)
	t.Cleanup(func() {
		cancel()
		_ = inW.Close()
		_ = inR.Close()
	})
	return c
}

func (c *client) collect(out io.Reader) {
	defer close(c.lines)
	r := bufio.NewReader(out)
	for {
		text, err := r.ReadString('\n')
		if text != "" {
			var m reply
			if jsonErr := json.Unmarshal([]byte(text), &m); jsonErr != nil {
				m.Method = "NOT JSON: " + text
			}
			m.raw = text
			c.lines <- m
		}
		if err != nil {
			return
		}
	}
}

// send writes text as it is; the caller ends the line.
func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

func (c *client) call(id any, tool, arguments string) {
	c.t.Helper()
	raw, _ := json.Marshal(id)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", raw, tool, arguments))
}

// next gives the next message whatever it is.
func (c *client) next() reply {
	c.t.Helper()
	select {
	case m, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server closed its output")
		}
		c.seen = append(c.seen, m)
		return m
	case <-time.After(patience):
		c.t.Fatal("no message in time")
	}
	return reply{}
}

// answer skips to the answer to id (as written).
func (c *client) answer(id string) reply {
	c.t.Helper()
	for {
		if m := c.next(); m.Method == "" && string(m.ID) == id {
			return m
		}
	}
}

// method skips to a request or notification.
func (c *client) method(name string) reply {
	c.t.Helper()
	for {
		if m := c.next(); m.Method == name {
			return m
		}
	}
}

// quiet proves that nothing is pending: a ping is the next thing answered.
func (c *client) quiet() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"quiet","method":"ping"}` + "\n")
	if m := c.next(); string(m.ID) != `"quiet"` {
		c.t.Fatalf("got %s where nothing but the ping's answer should come", m.raw)
	}
}

// ended waits for Serve to return.
func (c *client) ended() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case <-time.After(patience):
		c.t.Fatal("Serve did not return")
	}
	return errors.New("unreachable")
}

func (c *client) event(ch <-chan string) {
	c.t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		c.t.Fatal("the tool did not get there")
	}
}

func (c *client) initialize(capabilities string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities +
		`,"clientInfo":{"name":"c","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	if m := c.answer(`"init"`); m.Error != nil {
		c.t.Fatalf("initialize: %s", m.raw)
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
