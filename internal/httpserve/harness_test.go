package httpserve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"skill-mcp/internal/rpc"
)

// patience bounds every wait of a test: only a failure waits that long.
const patience = 10 * time.Second

// site is a server on a free loopback port.
type site struct {
	t       *testing.T
	s       *Server
	d       *rpc.Dispatcher
	url     string
	client  *http.Client
	stop    context.CancelFunc
	done    chan error
	began   chan struct{} // "wait" runs
	ended   chan struct{} // its context ended
	release chan struct{} // closed: "wait" returns
}

func open(t *testing.T, opts Options) *site {
	t.Helper()
	st := &site{t: t, client: &http.Client{Timeout: patience}, began: make(chan struct{}, 128), ended: make(chan struct{}, 128),
		release: make(chan struct{}), done: make(chan error, 1)}
	srv := server.NewMCPServer("test", "1", server.WithToolCapabilities(true), server.WithElicitation())
	for name, handler := range map[string]server.ToolHandlerFunc{"wait": st.wait, "talk": st.talk, "ask": st.ask, "quick": st.quick} {
		srv.AddTool(mcp.NewToolWithRawSchema(name, "a tool", json.RawMessage(`{"type":"object","properties":{}}`)), handler)
	}
	st.d = rpc.New(rpc.Config{Handler: srv, Identity: mcp.Implementation{Name: "test", Version: "1"}})
	ln, err := Listen("127.0.0.1:0", opts.Token)
	if err != nil {
		t.Fatal(err)
	}
	st.url = "http://" + ln.Addr().String() + "/mcp"
	st.s = New(st.d, ln.Addr(), opts)
	ctx, cancel := context.WithCancel(context.Background())
	st.stop = cancel
	go func() { st.done <- st.s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		st.client.CloseIdleConnections()
	})
	return st
}

func (st *site) quick(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("quick"), nil
}

func (st *site) wait(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	st.began <- struct{}{}
	select {
	case <-st.release:
		return mcp.NewToolResultText("released"), nil
	case <-ctx.Done():
		st.ended <- struct{}{}
		return mcp.NewToolResultText("ended"), nil
	}
}

func (st *site) talk(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range 3 {
		rpc.FromContext(ctx).Progress(fmt.Sprint(i))
	}
	return mcp.NewToolResultText("said"), nil
}

func (st *site) ask(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(r.Params.InputResponses, "q"); answer != nil {
		return mcp.NewToolResultText(string(answer.Action)), nil
	}
	return server.NewInputRequestBuilder("").Elicit("q", mcp.ElicitationParams{Message: "sure?", RequestedSchema: map[string]any{}}).ToolResult(), nil
}

type headers map[string]string

// request makes one HTTP request.
func (st *site) request(ctx context.Context, method, body string, h headers) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, st.url, strings.NewReader(body))
	if err != nil {
		panic(err) // the tests' own texts
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range h {
		req.Header.Set(k, v)
		if v == "" {
			req.Header.Del(k)
		}
	}
	req.Host = h["Host"]
	return req
}

// do sends one HTTP request; the body is closed at the end of the test.
func (st *site) do(method, body string, h headers) *http.Response {
	st.t.Helper()
	req := st.request(st.t.Context(), method, body, h)
	resp, err := st.client.Do(req)
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// session initializes one and gives its headers.
func (st *site) session() headers {
	st.t.Helper()
	resp := st.do("POST", initialize, nil)
	if body := text(st.t, resp); resp.StatusCode != 200 || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		st.t.Fatalf("%s: %s", resp.Status, body)
	}
	h := headers{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	if len(h["Mcp-Session-Id"]) < 32 {
		st.t.Fatalf("the session id is %q", h["Mcp-Session-Id"])
	}
	return h
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	ping       = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	modernList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
)

func call(id int, tool, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s}}`, id, tool, more)
}

func modern(method, name string) headers {
	h := headers{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	return h
}

// event reads the next message of a stream.
func event(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ended: %v", err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSpace(data)
		}
	}
}

func within(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("%s: not in time", what)
	}
}
