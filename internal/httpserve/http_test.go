package httpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

func TestRequestsAreJudgedBeforeTheyAreRead(t *testing.T) {
	long := strings.Repeat("x", rpc.MaxMessage+1)
	for _, tc := range []struct {
		name, method, body string
		h                  headers
		status             int
	}{
		{"a foreign Origin", "POST", initialize, headers{"Origin": "https://evil.example"}, 403},
		{"the Origin of a page without one", "POST", initialize, headers{"Origin": "null"}, 403},
		{"an Origin that begins like ours", "POST", initialize, headers{"Origin": "http://localhost.evil.example"}, 403},
		{"a page on this machine", "POST", initialize, headers{"Origin": "http://localhost:3000"}, 200},
		{"a foreign Host", "POST", initialize, headers{"Host": "evil.example:80"}, 403},
		{"a Host of this machine", "POST", initialize, headers{"Host": "localhost"}, 200},
		{"an address of this machine", "POST", initialize, headers{"Host": "[::1]:9"}, 200},
		{"a body over the limit", "POST", long, nil, 413},
		{"a body that is no JSON by its type", "POST", initialize, headers{"Content-Type": "text/plain"}, 415},
		{"a client that takes no JSON", "POST", initialize, headers{"Accept": "text/html"}, 406},
		{"a body that is no JSON", "POST", "{", nil, 400},
		{"a batch", "POST", "[" + ping + "]", nil, 400},
		{"a request outside of a session", "POST", ping, nil, 400},
		{"a session nobody has", "POST", ping, headers{"Mcp-Session-Id": "0123456789abcdef0123456789abcdef"}, 404},
		{"an unknown revision", "POST", initialize, headers{"Mcp-Protocol-Version": "1999-01-01"}, 400},
		{"a stream outside of a session", "GET", "", nil, 400},
		{"the end of a session nobody has", "DELETE", "", headers{"Mcp-Session-Id": "x"}, 404},
		{"another method", "PUT", initialize, nil, 405},
		{"a stream of the new era", "GET", "", headers{"Mcp-Protocol-Version": "2026-07-28"}, 405},
		{"the end of a session of the new era", "DELETE", "", headers{"Mcp-Protocol-Version": "2026-07-28"}, 405},
		{"a modern list", "POST", modernList, modern("tools/list", ""), 200},
		{"a modern list without its method's header", "POST", modernList, headers{"Mcp-Protocol-Version": "2026-07-28"}, 400},
		{"a modern list under another method's header", "POST", modernList, modern("ping", ""), 400},
		{"a modern list without the revision's header", "POST", modernList, headers{"Mcp-Method": "tools/list"}, 400},
		{"a modern header on an old body", "POST", ping, modern("ping", ""), 400},
		{"a modern method that is not there", "POST", strings.Replace(modernList, "tools/list", "no/such", 1), modern("no/such", ""), 404},
		{"a modern call under another tool's name", "POST", call(1, "quick", ","+modernMeta), modern("tools/call", "wait"), 400},
		{"a modern call", "POST", call(1, "quick", ","+modernMeta), modern("tools/call", "quick"), 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := open(t, Options{})
			resp := st.do(tc.method, tc.body, tc.h)
			body := text(t, resp)
			if resp.StatusCode != tc.status {
				t.Errorf("%s, want %d: %s", resp.Status, tc.status, body)
			}
			if tc.status >= 400 && (!json.Valid([]byte(body)) || !strings.Contains(body, `"message"`)) {
				t.Errorf("the refusal says %q", body)
			}
			if tc.h["Mcp-Method"] != "" && resp.Header.Get("Mcp-Session-Id") != "" {
				t.Error("a request that stands alone was given a session")
			}
		})
	}
}

func TestBodyOverTheLimitIsRefusedBeforeItIsSent(t *testing.T) {
	st := open(t, Options{})
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(st.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", rpc.MaxMessage+1)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestBodyOfUnknownLengthIsCutAtTheLimit(t *testing.T) {
	st := open(t, Options{})
	endless := io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(zeroes{}, rpc.MaxMessage+100))
	req, err := http.NewRequestWithContext(t.Context(), "POST", st.url, io.NopCloser(endless))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := st.client.Do(req)
	if err != nil {
		return // the server closed the connection while we were still sending
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("0"), len(p))), nil }

func TestTokenIsNeeded(t *testing.T) {
	token := "0123456789abcdef-token"
	st := open(t, Options{Token: token})
	for given, status := range map[string]int{
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer wrong": 401, "Basic " + token: 401, token: 401, "Bearer " + token + "x": 401, "Bearer " + token: 200,
	} {
		resp := st.do("POST", initialize, headers{"Authorization": given})
		if resp.StatusCode != status || (status == 401) != (resp.Header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%q: %s", given, resp.Status)
		}
	}
}

func TestAddressThatOthersReachNeedsAToken(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.invalid:0"} {
		if ln, err := Listen(address, ""); !errors.Is(err, ErrOpenToAll) {
			t.Errorf("%s: %v, %v", address, ln, err)
		}
	}
	ln, err := Listen("0.0.0.0:0", "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}

func TestHostAndOriginOfAServerOnANetwork(t *testing.T) {
	for _, tc := range []struct {
		name, host, origin string
		hosts              []string
		ok                 bool
	}{
		{"any name while none is given", "anything.example", "", nil, true},
		{"a page of the server's own", "a.example", "https://a.example", nil, true},
		{"a page of another", "a.example", "https://b.example", nil, false},
		{"a page on the visitor's machine", "a.example", "http://localhost:1", nil, false},
		{"a name that was given", "a.example:80", "", []string{"a.example"}, true},
		{"a name that was not", "b.example", "", []string{"a.example"}, false},
		{"an origin that was given", "a.example", "https://app.example:8443", nil, true},
		{"its other port", "a.example", "https://app.example", nil, false},
	} {
		r, _ := http.NewRequest("POST", "http://"+tc.host+"/mcp", nil)
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if no := (access{hosts: tc.hosts, origins: []string{"https://app.example:8443/"}}).check(r); (no == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, no)
		}
	}
}

func TestTokenFileIsReadStrictly(t *testing.T) {
	good := strings.Repeat("k", 16)
	for _, tc := range []struct {
		name, text string
		mode       os.FileMode
		ok         bool
	}{
		{"a line", good + "\n", 0o600, true},
		{"a file others can read", good, 0o644, false},
		{"a short one", "short", 0o600, false},
		{"an empty one", "", 0o600, false},
		{"two lines", good + "\n" + good, 0o600, false},
		{"a very long one", strings.Repeat("k", maxToken+1), 0o600, false},
	} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		if token, err := ReadToken(path); (err == nil) != tc.ok || tc.ok && token != good {
			t.Errorf("%s: %q, %v", tc.name, token, err)
		}
	}
	if _, err := ReadToken(t.TempDir()); err == nil {
		t.Error("a directory is no token")
	}
}

func TestSessionFromBeginningToEnd(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	if resp := st.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h); resp.StatusCode != 202 || text(t, resp) != "" {
		t.Error(resp.Status)
	}
	resp := st.do("POST", call(2, "quick", ""), h)
	if body := text(t, resp); resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, "quick") {
		t.Errorf("%s: %s", resp.Status, body)
	}
	if resp := st.do("DELETE", "", h); resp.StatusCode != 204 {
		t.Error(resp.Status)
	}
	if resp := st.do("POST", ping, h); resp.StatusCode != 404 {
		t.Errorf("after its end the session answers %s", resp.Status)
	}
}

func TestProgressMakesAStream(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	for _, more := range []struct {
		h    headers
		body string
	}{
		{h, call(2, "talk", `,"_meta":{"progressToken":"p"}`)},
		{modern("tools/call", "talk"), call(2, "talk", `,`+strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"progressToken":"p",`, 1))},
	} {
		resp := st.do("POST", more.body, more.h)
		if resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s %s: %s", resp.Status, resp.Header.Get("Content-Type"), text(t, resp))
		}
		r := bufio.NewReader(resp.Body)
		for i := range 3 {
			if e := event(t, r); !strings.Contains(e, fmt.Sprintf(`"message":"%d"`, i)) {
				t.Errorf("event %d is %s", i, e)
			}
		}
		if e := event(t, r); !strings.Contains(e, "said") {
			t.Errorf("the last event is %s", e)
		}
		if rest, err := io.ReadAll(r); err != nil || strings.TrimSpace(string(rest)) != "" {
			t.Errorf("and then %q, %v", rest, err)
		}
	}
	resp := st.do("POST", call(3, "talk", `,"_meta":{"progressToken":"p"}`), headers{"Mcp-Session-Id": h["Mcp-Session-Id"], "Accept": "application/json"})
	if body := text(t, resp); !strings.Contains(body, "said") || strings.Contains(body, "progress") {
		t.Errorf("a client that takes no stream gets %s", body)
	}
}

func TestPromptIsAnsweredByAnotherRequest(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	resp := st.do("POST", call(2, "ask", ""), h)
	r := bufio.NewReader(resp.Body)
	var ask struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal([]byte(event(t, r)), &ask); err != nil || ask.Method != "elicitation/create" {
		t.Fatalf("%+v, %v", ask, err)
	}
	if answered := st.do("POST", `{"jsonrpc":"2.0","id":`+string(ask.ID)+`,"result":{"action":"accept"}}`, h); answered.StatusCode != 202 {
		t.Error(answered.Status)
	}
	if e := event(t, r); !strings.Contains(e, "accept") {
		t.Error(e)
	}
}

func TestCallEndsWithItsClient(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	t.Run("by a cancelled notification", func(t *testing.T) {
		done := make(chan int, 1)
		go func() {
			resp, err := st.client.Do(st.request(t.Context(), "POST", call(5, "wait", ""), h))
			if err != nil {
				done <- 0
				return
			}
			_ = resp.Body.Close()
			done <- resp.StatusCode
		}()
		within(t, "the tool begins", st.began)
		st.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, h)
		within(t, "the tool ends", st.ended)
		if status := <-done; status != 204 {
			t.Errorf("the cancelled call was answered with %d", status)
		}
	})
	t.Run("by a closed connection", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		req := st.request(ctx, "POST", call(6, "wait", ","+modernMeta), modern("tools/call", "wait"))
		go func() { _, _ = st.client.Do(req) }() //nolint:bodyclose // there is no response
		within(t, "the tool begins", st.began)
		cancel()
		within(t, "the tool ends", st.ended)
	})
	t.Run("by the end of its session", func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = st.client.Do(st.request(t.Context(), "POST", call(7, "wait", ""), h))
		}() //nolint:bodyclose // ends with the test
		within(t, "the tool begins", st.began)
		st.do("DELETE", "", h)
		within(t, "the tool ends", st.ended)
		within(t, "the call is answered", done)
	})
}

func TestListChangesReachTheStreams(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	get := st.do("GET", "", h)
	if second := st.do("GET", "", h); second.StatusCode != 409 {
		t.Errorf("a second stream: %s", second.Status)
	}
	listen := st.do("POST", `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"toolsListChanged":true}}}`,
		modern("subscriptions/listen", ""))
	old, young := bufio.NewReader(get.Body), bufio.NewReader(listen.Body)
	if e := event(t, young); !strings.Contains(e, "acknowledged") {
		t.Fatal(e)
	}
	st.d.Broadcast(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
	if e := event(t, old); !strings.Contains(e, "tools/list_changed") {
		t.Error(e)
	}
	if e := event(t, young); !strings.Contains(e, "tools/list_changed") || !strings.Contains(e, `"io.modelcontextprotocol/subscriptionId":"s"`) {
		t.Error(e)
	}
	st.stop()
	if e := event(t, young); !strings.Contains(e, `"resultType":"complete"`) {
		t.Errorf("the stream ends with %s", e)
	}
	if err := <-st.done; err != nil {
		t.Error(err)
	}
}

func TestManyClientsAtOnceWhileOneRuns(t *testing.T) {
	st := open(t, Options{})
	slow := st.session()
	done := make(chan string, 1)
	go func() { done <- text(t, st.do("POST", call(1, "wait", ""), slow)) }()
	within(t, "the tool begins", st.began)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			h := st.session()
			for i := range 5 {
				if body := text(t, st.do("POST", call(i, "quick", ""), h)); !strings.Contains(body, "quick") {
					t.Error(body)
				}
			}
		})
	}
	all.Wait()
	close(st.release)
	if body := <-done; !strings.Contains(body, "released") {
		t.Error(body)
	}
}

func TestEndOfTheServer(t *testing.T) {
	st := open(t, Options{Grace: 50 * time.Millisecond})
	h := st.session()
	done := make(chan string, 1)
	go func() { done <- text(t, st.do("POST", call(1, "wait", ""), h)) }()
	within(t, "the tool begins", st.began)
	began := time.Now()
	st.stop()
	if body := <-done; !strings.Contains(body, "ended") {
		t.Errorf("the call in flight is answered with %s", body)
	}
	if err := <-st.done; err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("ended with %v after %v", err, time.Since(began))
	}
}

func TestSessionsAreBoundedAndExpire(t *testing.T) {
	st := open(t, Options{MaxSessions: 2})
	first, second, third := st.session(), st.session(), st.session()
	for name, tc := range map[string]struct {
		h      headers
		status int
	}{"the one unused for longest": {first, 404}, "the second": {second, 200}, "the third": {third, 200}} {
		if resp := st.do("POST", ping, tc.h); resp.StatusCode != tc.status {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	st.s.sessions.sweep(time.Now().Add(29 * time.Minute))
	if resp := st.do("POST", ping, second); resp.StatusCode != 200 {
		t.Errorf("after 29 minutes: %s", resp.Status)
	}
	st.s.sessions.sweep(time.Now().Add(31 * time.Minute))
	if resp := st.do("POST", ping, second); resp.StatusCode != 404 {
		t.Errorf("after 31 minutes: %s", resp.Status)
	}
}
