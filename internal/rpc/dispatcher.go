package rpc

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Handler answers one JSON-RPC request; *server.MCPServer is one. A surface
// that swaps its whole catalog may put a changing *server.MCPServer behind it.
type Handler interface {
	HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage
}

// Method serves a method that the Handler does not know, or should not answer.
type Method struct {
	// Handle gets the params object as written (nil when absent) and returns
	// what encodes to a JSON object. An *Error is sent as it stands. Find the
	// Call with FromContext. Unless the value implements mcp.ResultMetadata it
	// must not have the members resultType, _meta, ttlMs and cacheScope: they
	// are added for requests of revision 2026-07-28.
	Handle func(ctx context.Context, params json.RawMessage) (any, error)
	// Cacheable says that the result carries ttlMs and cacheScope in revision
	// 2026-07-28: true for lists and reads.
	Cacheable bool
}

// DefaultElicitWait bounds the wait for a person's answer: long enough to read
// the text and think, short enough that the client's own limit is not passed.
const DefaultElicitWait = 120 * time.Second

// Config is what a Dispatcher is made of. Only Handler is required.
type Config struct {
	// Handler serves every method that is not in Methods.
	Handler Handler
	// Tools gives the handler of a tool, nil for one it does not know. With it
	// tools/call is served here: mcp-go decodes a message five times on its way
	// to a tool, which costs more than a small call itself. Its hooks,
	// middleware and schema validation then see no calls. Nil: mcp-go serves them.
	Tools func(name string) server.ToolHandlerFunc
	// Methods are served here, before the Handler is asked.
	Methods map[string]Method
	// Mode says which revisions are served; zero is Auto.
	Mode Mode
	// Identity is the serverInfo put on the results of Methods.
	Identity mcp.Implementation
	// CacheTTL and CacheScope are the hints put on the results of Methods that
	// are Cacheable. Zero: always ask again; "" means private.
	CacheTTL   time.Duration
	CacheScope mcp.CacheScope
	// Arguments maps the name of a tool to the names of its arguments. A call
	// of such a tool in whose arguments a key is repeated (at any depth), or
	// one of the names is written in other letters of the same case folding,
	// is answered with an isError result.
	Arguments map[string][]string
	// Initialized is called when a client says that it has the answer to its
	// initialize; it must not wait. Nil: nobody wants to know.
	Initialized func()
	// Lists says which lists may change; nil means tools, prompts and resources.
	Lists func() mcp.SubscriptionFilter
	// ElicitWait bounds the wait for the answer to elicitation/create; 0 is DefaultElicitWait.
	ElicitWait time.Duration
	// Heartbeat is the longest time between two progress lines while a prompt
	// waits or a Call.Heartbeat runs; 0 is 10 s.
	Heartbeat time.Duration
	// Log gets what broke (a panic with its stack); nil discards it.
	Log *slog.Logger
}

// Dispatcher routes messages to a surface. It is shared by all sessions.
type Dispatcher struct {
	cfg      Config
	nextID   atomic.Int64 // ids of calls towards the Handler: unique over all sessions
	versions []string     // the revisions served, newest first
	mu       sync.Mutex
	sessions map[*Session]struct{}
}

// New makes a Dispatcher. When the Handler is a *server.MCPServer, a hook is
// added to it so that an *Error returned by a tool, prompt or resource handler
// reaches the client as it stands (mcp-go sends -32603 for all of them); for
// any other Handler call RecordErrors on what is behind it.
func New(cfg Config) *Dispatcher {
	if cfg.Mode == "" {
		cfg.Mode = Auto
	}
	if cfg.ElicitWait == 0 {
		cfg.ElicitWait = DefaultElicitWait
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 10 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.CacheScope == "" {
		cfg.CacheScope = mcp.CacheScopePrivate
	}
	if srv, ok := cfg.Handler.(*server.MCPServer); ok {
		RecordErrors(srv)
	}
	return &Dispatcher{cfg: cfg, versions: cfg.Mode.versions(), sessions: map[*Session]struct{}{}}
}

// RecordErrors makes srv tell the running Call which *Error a handler returned.
func RecordErrors(srv *server.MCPServer) {
	hooks := srv.GetHooks()
	if hooks == nil {
		hooks = &server.Hooks{}
		server.WithHooks(hooks)(srv)
	}
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		FromContext(ctx).recordError(err)
	})
}

// lists says which list changes may be subscribed to.
func (d *Dispatcher) lists() mcp.SubscriptionFilter {
	if d.cfg.Lists == nil {
		return mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	}
	return d.cfg.Lists()
}

// Open begins a session. out takes what belongs to no call: list_changed for
// clients of the old era. It may be nil while there is no way to the client.
func (d *Dispatcher) Open(out Sink) *Session {
	s := &Session{d: d, out: out, id: newSessionID(), calls: map[string]*Call{}, asked: map[string]chan answer{}}
	d.mu.Lock()
	d.sessions[s] = struct{}{}
	d.mu.Unlock()
	return s
}

func (d *Dispatcher) forget(s *Session) {
	d.mu.Lock()
	delete(d.sessions, s)
	d.mu.Unlock()
}

// Broadcast tells every client that asked to know (subscriptions/listen) or
// that is of the old era that the named lists changed.
func (d *Dispatcher) Broadcast(changed mcp.SubscriptionFilter) {
	d.mu.Lock()
	all := make([]*Session, 0, len(d.sessions))
	for s := range d.sessions {
		all = append(all, s)
	}
	d.mu.Unlock()
	for _, s := range all {
		s.announce(changed)
	}
}
