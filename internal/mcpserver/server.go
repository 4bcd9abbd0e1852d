package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/config"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/rpc"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/wire"
)

// Name is how the server introduces itself.
const Name = "skill-mcp"

// Runner is the front's end of the wall; *runner.Runner is one.
type Runner interface {
	// Begin has the helper look at this host; it returns at once.
	Begin()
	// Ready begins and waits for what the helper found.
	Ready(ctx context.Context) (wire.Ready, error)
	// Plan asks what a run would get.
	Plan(ctx context.Context, req wire.Request) (wire.Planned, error)
	// Run runs and waits for the end; progress may be called meanwhile.
	Run(ctx context.Context, req wire.Request, config []byte, progress func(wire.Progress)) (runner.Outcome, error)
}

// Deps is what a server is made of. Log and Audit may be nil.
type Deps struct {
	Front  config.Front // the owner's configuration
	View   View         // what is served at first; without a catalog, what the first Replace brings
	Runner Runner
	Gate   *confirm.Gate
	Log    *slog.Logger
	Audit  *audit.Log
}

// Server is the MCP surface. Safe for concurrent use.
type Server struct {
	deps    Deps
	current atomic.Pointer[view]
	read    chan struct{} // closed when the first view is in force
	grace   time.Time     // until when a message waits for that
	running chan struct{} // holds one token while a script runs
	full    *server.MCPServer
	bare    *server.MCPServer // as full, without prompts and resources
	rpc     *rpc.Dispatcher
}

// New makes a server. It starts nothing and reads nothing.
func New(d Deps) (*Server, error) {
	if d.Runner == nil || d.Gate == nil {
		return nil, errors.New("make the server: runner and gate are needed")
	}
	mode, err := rpc.ParseMode(d.Front.Protocol)
	if err != nil {
		return nil, fmt.Errorf("make the server: %w", err)
	}
	s := &Server{deps: d, running: make(chan struct{}, 1), read: make(chan struct{}), grace: time.Now().Add(scanGrace)}
	if d.View.Catalog != nil {
		s.first(newView(d.View))
	}
	s.full, s.bare = s.core(true), s.core(false)
	s.rpc = rpc.New(rpc.Config{
		Handler: s, Tools: s.tool, Methods: s.methods(), Mode: mode, Identity: mcp.Implementation{Name: Name, Version: d.Front.Version},
		Arguments: argumentNames(), Initialized: func() { time.AfterFunc(beginAfter, d.Runner.Begin) }, Lists: s.lists, ElicitWait: d.Gate.Settings().Wait, Log: d.Log,
	})
	rpc.RecordErrors(s.full)
	rpc.RecordErrors(s.bare)
	return s, nil
}

// tool gives a tool's handler, for calls that go past mcp-go.
func (s *Server) tool(name string) server.ToolHandlerFunc {
	if t := s.full.GetTool(name); t != nil {
		return t.Handler
	}
	return nil
}

// core makes one of the two protocol cores.
func (s *Server) core(whole bool) *server.MCPServer {
	opts := []server.ServerOption{
		server.WithInstructions(instructions), server.WithToolCapabilities(true), server.WithLogging(),
		server.WithCompletions(), server.WithResourceCompletionProvider(completer{s}),
	}
	if whole {
		opts = append(opts,
			server.WithPromptCapabilities(true), server.WithResourceCapabilities(false, true),
			server.WithExtensions(map[string]any{skillsExtension: map[string]any{"directoryRead": true}}))
	}
	core := server.NewMCPServer(Name, s.deps.Front.Version, opts...)
	handlers := map[string]server.ToolHandlerFunc{
		toolList: s.handleList, toolLoad: s.handleLoad, toolFile: s.handleFile, toolRun: s.handleRun,
	}
	for _, t := range tools() {
		core.AddTool(t, handlers[t.Name])
	}
	return core
}

// methods are served here and not by mcp-go: they depend on the view of the
// moment, and mcp-go pages lists by name, which is not unique among resources.
func (s *Server) methods() map[string]rpc.Method {
	return map[string]rpc.Method{
		string(mcp.MethodPromptsList):            {Handle: s.listPrompts, Cacheable: true},
		string(mcp.MethodPromptsGet):             {Handle: s.getPrompt},
		string(mcp.MethodResourcesList):          {Handle: s.listResources, Cacheable: true},
		string(mcp.MethodResourcesTemplatesList): {Handle: s.listTemplates, Cacheable: true},
		string(mcp.MethodResourcesRead):          {Handle: s.readResource, Cacheable: true},
		methodSkillsList:                         {Handle: s.listSkills, Cacheable: true},
		methodSkillsGet:                          {Handle: s.getSkill, Cacheable: true},
		methodDirectoryRead:                      {Handle: s.readDirectory, Cacheable: true},
	}
}

// HandleMessage serves what the protocol core serves. Prompts and resources
// are advertised only while there are skills to have them, or may come to be.
func (s *Server) HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage {
	if s.whole() {
		return s.full.HandleMessage(ctx, message)
	}
	return s.bare.HandleMessage(ctx, message)
}

// beginAfter is how long the helper rests once a client has its first answer:
// the client's next questions are lists that do not need it, and come at once.
// A call that needs it begins by itself.
const beginAfter = 50 * time.Millisecond

// scanGrace is how long after the start a message waits for the first scan. An
// empty folder is read in well under a millisecond; one that takes longer has
// skills, or will be found to have none when it is listed.
const scanGrace = 2 * time.Millisecond

// whole says whether prompts and resources are advertised.
func (s *Server) whole() bool {
	if s.deps.Front.Watch {
		return true
	}
	select {
	case <-s.read:
		return len(s.now().Catalog.Skills) > 0
	default:
	}
	select {
	case <-s.read:
		return len(s.now().Catalog.Skills) > 0
	case <-time.After(time.Until(s.grace)):
		return true
	}
}

// first puts the first view in force.
func (s *Server) first(v *view) {
	s.current.Store(v)
	close(s.read)
}

// lists says which lists may change.
func (s *Server) lists() mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: s.whole(), ResourcesListChanged: s.whole()}
}

// Dispatcher is what a transport serves.
func (s *Server) Dispatcher() *rpc.Dispatcher { return s.rpc }

// now is the view of the moment; a call asks once and keeps it.
// Before the first scan has ended it waits for that.
func (s *Server) now() *view {
	<-s.read
	return s.current.Load()
}

// Replace swaps what is served, whole, and tells the clients. Calls in flight
// keep what they began with.
func (s *Server) Replace(v View) {
	select {
	case <-s.read:
	default:
		s.first(newView(v))
		return
	}
	s.current.Store(newView(v))
	s.rpc.Broadcast(mcp.SubscriptionFilter{PromptsListChanged: true, ResourcesListChanged: true})
}
