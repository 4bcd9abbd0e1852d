package rpc

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// keeper is a Sink that keeps what it gets.
type keeper struct {
	mu     sync.Mutex
	frames []string
}

func (k *keeper) Queue(frame []byte, _ bool) {
	k.mu.Lock()
	k.frames = append(k.frames, string(frame))
	k.mu.Unlock()
}
func (k *keeper) Wake()  {}
func (k *keeper) Flush() {}

func testServer() *server.MCPServer {
	srv := server.NewMCPServer("test", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true),
		server.WithPromptCapabilities(true), server.WithLogging())
	srv.AddResourceTemplate(mcp.NewResourceTemplate("skill://{skill}/{+path}", "t"),
		func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return nil, ResourceNotFound(ctx, r.Params.URI)
		})
	return srv
}

// exchange sends one message in a new session and gives what came back.
func exchange(t *testing.T, cfg Config, line string) map[string]any {
	t.Helper()
	if cfg.Handler == nil {
		cfg.Handler = testServer()
	}
	cfg.Identity = mcp.Implementation{Name: "test", Version: "1"}
	k := &keeper{}
	s := New(cfg).Open(k)
	if call := s.Receive(t.Context(), []byte(line), k); call != nil {
		call.Run()
	}
	if len(k.frames) != 1 {
		t.Fatalf("got %d frames: %v", len(k.frames), k.frames)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(k.frames[0]), &m); err != nil {
		t.Fatalf("%v: %s", err, k.frames[0])
	}
	return m
}

const modernKeys = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
}

func initialize(version string) string {
	return request("initialize", `"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}`)
}

func TestRevisionIsDecidedMessageByMessage(t *testing.T) {
	future := strings.Replace(modernKeys, "2026-07-28", "2027-01-01", 1)
	bare := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, tc := range []struct {
		name string
		mode Mode
		line string
		code float64 // 0: a result
	}{
		{"auto: initialize", Auto, initialize("2025-06-18"), 0},
		{"auto: discover", Auto, request("server/discover", modernKeys), 0},
		{"auto: discover without _meta", Auto, request("server/discover", ""), -32601},
		{"auto: an old list", Auto, request("tools/list", ""), 0},
		{"auto: a modern list", Auto, request("tools/list", modernKeys), 0},
		{"auto: a modern request without capabilities", Auto, request("tools/list", bare), -32602},
		{"auto: a modern call without capabilities", Auto, request("tools/call", `"name":"t",`+bare), -32602},
		{"auto: an unknown revision", Auto, request("tools/list", future), -32022},
		{"auto: a modern initialize", Auto, request("initialize", modernKeys), -32601},
		{"auto: an old ping", Auto, request("ping", ""), 0},
		{"auto: a modern ping", Auto, request("ping", modernKeys), -32601},
		{"auto: a modern setLevel", Auto, request("logging/setLevel", `"level":"info",`+modernKeys), -32601},
		{"auto: an old listen", Auto, request("subscriptions/listen", ""), -32601},
		{"legacy: initialize", Legacy, initialize("2025-11-25"), 0},
		{"legacy: discover", Legacy, request("server/discover", ""), -32601},
		{"legacy: a modern discover", Legacy, request("server/discover", modernKeys), -32601},
		{"legacy: a modern list", Legacy, request("tools/list", modernKeys), -32601},
		{"modern: initialize", Modern, initialize("2025-06-18"), -32022},
		{"modern: discover", Modern, request("server/discover", modernKeys), 0},
		{"modern: an old list", Modern, request("tools/list", ""), -32602},
		{"modern: a modern list", Modern, request("tools/list", modernKeys), 0},
		{"auto: an unknown resource, old", Auto, request("resources/read", `"uri":"a:b"`), -32002},
		{"auto: an unknown resource, modern", Auto, request("resources/read", `"uri":"a:b",`+modernKeys), -32602},
		{"auto: a resource the template does not have, old", Auto, request("resources/read", `"uri":"skill://x/y"`), -32002},
		{"auto: a resource the template does not have, modern", Auto, request("resources/read", `"uri":"skill://x/y",`+modernKeys), -32602},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := Config{Mode: tc.mode, Tools: func(string) server.ToolHandlerFunc {
				return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return mcp.NewToolResultText("x"), nil
				}
			}}
			m := exchange(t, cfg, tc.line)
			fault, _ := m["error"].(map[string]any)
			if tc.code == 0 {
				if fault != nil {
					t.Fatalf("got %v", fault)
				}
				return
			}
			if fault == nil || fault["code"] != tc.code {
				t.Fatalf("got %v, want code %v", m, tc.code)
			}
			data, _ := fault["data"].(map[string]any)
			if strings.Contains(tc.name, "resource") && (data["uri"] != "a:b" && data["uri"] != "skill://x/y") {
				t.Errorf("data is %v", data)
			}
			if tc.code == -32022 && data["supported"] == nil {
				t.Errorf("the supported revisions are not named: %v", fault)
			}
		})
	}
}

func TestInitializeNeverAgreesOnMoreThan20251125(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2030-01-01": "2025-11-25", "x": "2025-11-25",
	} {
		result, _ := exchange(t, Config{}, initialize(asked))["result"].(map[string]any)
		if result["protocolVersion"] != want {
			t.Errorf("asked for %s, got %v", asked, result["protocolVersion"])
		}
	}
}

func TestResultsOfMethodsCarryWhatTheirRevisionRequires(t *testing.T) {
	type fields struct {
		mcp.CacheableResult
		Skills []string `json:"skills"`
	}
	methods := map[string]Method{
		"a/map":    {Cacheable: true, Handle: func(context.Context, json.RawMessage) (any, error) { return map[string]any{"skills": []string{}}, nil }},
		"a/empty":  {Cacheable: true, Handle: func(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil }},
		"a/struct": {Cacheable: true, Handle: func(context.Context, json.RawMessage) (any, error) { return &fields{Skills: []string{"a"}}, nil }},
		"a/act":    {Handle: func(context.Context, json.RawMessage) (any, error) { return json.RawMessage(`{"x":1}`), nil }},
	}
	for name, method := range methods {
		cfg := Config{Methods: methods, CacheTTL: 5 * time.Second}
		modern, _ := exchange(t, cfg, request(name, modernKeys))["result"].(map[string]any)
		meta, _ := modern["_meta"].(map[string]any)
		if modern["resultType"] != "complete" || meta["io.modelcontextprotocol/serverInfo"] == nil {
			t.Errorf("%s: %v", name, modern)
		}
		if cached := modern["ttlMs"] == float64(5000) && modern["cacheScope"] == "private"; cached != method.Cacheable {
			t.Errorf("%s: caching hints in %v", name, modern)
		}
		old, _ := exchange(t, cfg, request(name, ""))["result"].(map[string]any)
		for _, key := range []string{"resultType", "_meta", "ttlMs", "cacheScope"} {
			if _, there := old[key]; there {
				t.Errorf("%s: an old client gets %s: %v", name, key, old)
			}
		}
	}
}

func TestCapabilitiesOfAnUnknownShapeDoNotStopAClient(t *testing.T) {
	for _, line := range []string{
		strings.Replace(initialize("2025-06-18"), `"capabilities":{}`, `"capabilities":{"elicitation":true,"sampling":5}`, 1),
		request("tools/list", strings.Replace(modernKeys, `Capabilities":{}`, `Capabilities":{"elicitation":[]}`, 1)),
	} {
		if m := exchange(t, Config{}, line); m["error"] != nil {
			t.Errorf("got %v", m)
		}
	}
}

func TestModeIsReadFromItsVariable(t *testing.T) {
	for text, want := range map[string]Mode{"": Auto, " auto ": Auto, "legacy": Legacy, "2026-07-28": Modern} {
		if got, err := ParseMode(text); err != nil || got != want {
			t.Errorf("%q gave %q, %v", text, got, err)
		}
	}
	if _, err := ParseMode("2025-06-18"); err == nil || !strings.Contains(err.Error(), "auto, legacy or 2026-07-28") {
		t.Errorf("got %v", err)
	}
}
