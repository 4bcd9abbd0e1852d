package rpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// Session is one client's connection: for a client of the old era what
// initialize agreed on, for all clients the calls in flight.
type Session struct {
	d   *Dispatcher
	id  string
	out Sink

	mu       sync.Mutex
	opened   bool                   // initialize was answered
	version  string                 // what initialize agreed on
	info     mcp.Implementation     // who the client says it is (old era)
	caps     json.RawMessage        // what initialize declared; nil before
	typed    mcp.ClientCapabilities // the same for mcp-go
	level    mcp.LoggingLevel
	calls    map[string]*Call // by idKey
	asked    map[string]chan answer
	lastAsk  int64
	hungUp   bool
	inFlight sync.WaitGroup
}

// newSessionID makes 128 random bits: over HTTP the id is what a client shows
// to be itself again.
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}

// ID is the session's unguessable name.
func (s *Session) ID() string { return s.id }

// Version is the revision initialize agreed on, "" before.
func (s *Session) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Receive takes one line from the client and does what it asks, short of a
// request: for that it gives the registered Call, which the caller must Run.
// What cannot be served is answered on out at once. It never waits for a call.
func (s *Session) Receive(ctx context.Context, line []byte, out Sink) *Call {
	msg, id, fault := Parse(line)
	if fault != nil {
		refuse(out, id, fault)
		return nil
	}
	if msg.Kind != Request {
		s.Accept(msg)
		return nil
	}
	call, fault := s.Begin(ctx, msg, out)
	if fault != nil {
		refuse(out, msg.ID, fault)
	}
	return call
}

func refuse(out Sink, id json.RawMessage, fault *Error) {
	out.Queue(errorFrame(id, fault), false)
	out.Wake()
}

// methodInitialized ends the handshake of revisions before 2026-07-28.
const methodInitialized = "notifications/initialized"

// Accept takes a notification or a response. Unknown ones are swallowed.
func (s *Session) Accept(msg Message) {
	switch {
	case msg.Kind == Response:
		s.deliver(msg)
	case msg.Method == string(mcp.MethodNotificationCancelled) && msg.Params != nil:
		s.cancel(lookup(msg.Params, "requestId"))
	case msg.Method == methodInitialized && s.d.cfg.Initialized != nil:
		s.d.cfg.Initialized()
	}
}

// Begin registers a request, so that it can be cancelled from now on. The
// caller must call Run on what it gets. The error is what to answer.
func (s *Session) Begin(ctx context.Context, msg Message, out Sink) (*Call, *Error) {
	meta := msg.param("_meta")
	modern, fault := s.d.cfg.Mode.era(&msg, meta)
	if fault != nil {
		return nil, fault
	}
	c := newCall(s, msg, meta, modern, out)
	c.ctx, c.stop = context.WithCancel(context.WithValue(ctx, callKey{}, c))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hungUp {
		c.stop()
		return nil, Errorf(CodeInvalidRequest, "the server is ending")
	}
	if _, taken := s.calls[c.key]; taken {
		c.stop()
		return nil, Errorf(CodeInvalidRequest, "id %s is in use by a request that is still being answered", msg.ID)
	}
	s.calls[c.key] = c
	s.inFlight.Add(1)
	return c, nil
}

func (s *Session) end(c *Call) {
	s.mu.Lock()
	delete(s.calls, c.key)
	s.mu.Unlock()
	c.stop()
	s.inFlight.Done()
}

// cancel ends the call with this id at the client's wish: nothing more is sent
// for it.
func (s *Session) cancel(id json.RawMessage) {
	if !usableID(id) {
		return
	}
	s.mu.Lock()
	c := s.calls[idKey(id)]
	s.mu.Unlock()
	// initialize must not be cancelled by a client (2025-11-25, cancellation).
	if c != nil && c.msg.Method != string(mcp.MethodInitialize) {
		c.silence()
		c.stop()
	}
}

// HangUp says that the client will not answer any more: prompts end as not
// confirmed, streams of notifications end, no call begins. Calls in flight go on.
func (s *Session) HangUp() {
	s.mu.Lock()
	s.hungUp = true
	for id, ch := range s.asked {
		delete(s.asked, id)
		close(ch)
	}
	var streams []*Call
	for _, c := range s.calls {
		if c.listening() {
			streams = append(streams, c)
		}
	}
	s.mu.Unlock()
	for _, c := range streams {
		c.stop()
	}
	s.d.forget(s)
}

// CancelAll ends every call; each still sends its answer.
func (s *Session) CancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		c.stop()
	}
}

// Idle reports whether no call is in flight.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) == 0
}

// Done is closed once no call is in flight. Precondition: HangUp was called.
func (s *Session) Done() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		s.inFlight.Wait()
		close(done)
	}()
	return done
}

// Refusal is the frame that answers a message which could not be read.
func Refusal(id json.RawMessage, fault *Error) []byte { return errorFrame(id, fault) }
