package httpserve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"skill-mcp/internal/rpc"
)

// Options is what a Server may be given. The zero value is for a loopback
// listener without a token.
type Options struct {
	// Token is the bearer token every request must show; "" means none.
	Token string
	// Hosts are further names the server is known by (Host, and the host of an
	// Origin).
	Hosts []string
	// Origins are further origins whose pages may call: as a browser sends them
	// ("https://app.example:8443"), or a host name for all its schemes and ports.
	Origins []string
	// Idle is how long a session may go unused; 0 is 30 minutes.
	Idle time.Duration
	// MaxSessions bounds the sessions of clients of the old era; 0 is 1024. The
	// one unused for longest makes room.
	MaxSessions int
	// Grace and Limit bound the end, as in stdio.Options; 0 is 2 s and 4.5 s.
	Grace, Limit time.Duration
	// Now ends Serve at once: the second signal. Nil: never.
	Now <-chan struct{}
}

const (
	// maxRequests bounds the POSTs served at once: each may hold a body of
	// rpc.MaxMessage. Streams of notifications do not count.
	maxRequests = 256
	// bodyWait bounds the reading of a body, so that a client that sends a byte
	// a minute does not keep a place.
	bodyWait = 30 * time.Second
	// writeWait bounds one write: a client that stopped reading is gone.
	writeWait = 30 * time.Second
	// quietFor is how long a call may say nothing before a comment is sent, so
	// that nothing between us and the client takes the connection for dead.
	quietFor = 15 * time.Second
)

// Server is the endpoint. Make it with New.
type Server struct {
	d        *rpc.Dispatcher
	opts     Options
	access   access
	places   chan struct{} // one token per POST being served
	sessions sessions
	ended    chan struct{} // closed at the end: streams of notifications stop

	mu     sync.Mutex
	active sync.WaitGroup            // HTTP requests being served; grows only while not ending
	single map[*rpc.Session]struct{} // requests that stand alone, in flight
	ending bool
}

// New makes the endpoint for a listener bound to addr.
func New(d *rpc.Dispatcher, addr net.Addr, opts Options) *Server {
	if opts.Idle == 0 {
		opts.Idle = 30 * time.Minute
	}
	if opts.MaxSessions == 0 {
		opts.MaxSessions = 1024
	}
	if opts.Grace == 0 {
		opts.Grace = 2 * time.Second
	}
	if opts.Limit == 0 {
		opts.Limit = 4500 * time.Millisecond
	}
	s := &Server{
		d: d, opts: opts, places: make(chan struct{}, maxRequests), ended: make(chan struct{}),
		single: map[*rpc.Session]struct{}{}, access: access{hosts: opts.Hosts, origins: opts.Origins},
	}
	s.sessions = sessions{max: opts.MaxSessions, idle: opts.Idle, byID: map[string]*session{}}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		s.access.loopback = tcp.IP.IsLoopback()
	}
	if opts.Token != "" {
		sum := sha256.Sum256([]byte(opts.Token))
		s.access.token = sum[:]
	}
	return s
}

// ServeHTTP answers one HTTP request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if no := s.access.check(r); no != nil {
		if no.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	if r.URL.Path != "/mcp" {
		refuse(w, http.StatusNotFound, rpc.CodeInvalidRequest, "the endpoint is /mcp")
		return
	}
	if !s.enter() {
		refuse(w, http.StatusServiceUnavailable, rpc.CodeInternal, "the server is ending")
		return
	}
	defer s.active.Done()
	switch r.Method {
	case http.MethodPost:
		s.post(w, r)
	case http.MethodGet:
		s.get(w, r)
	case http.MethodDelete:
		s.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		refuse(w, http.StatusMethodNotAllowed, rpc.CodeInvalidRequest, r.Method+" is not a way to use this endpoint")
	}
}

// enter counts a request in, unless the server is ending.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	s.active.Add(1)
	return true
}

// Serve answers requests on ln until ctx is done, then as stdio.Serve ends:
// what is being answered gets its grace, the rest is cancelled. Nil is an end
// in order; ErrForced one by Options.Now.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	sweep := time.NewTicker(min(s.opts.Idle, time.Minute))
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.end(srv, failed)
		case <-s.opts.Now:
			_ = srv.Close()
			return ErrForced
		case err := <-failed:
			return fmt.Errorf("serve HTTP: %w", err)
		case <-sweep.C:
			s.sessions.sweep(time.Now())
		}
	}
}

// ErrForced is what Serve returns when it was told to end at once.
var ErrForced = errors.New("httpserve: ended at once by a second signal")

func (s *Server) end(srv *http.Server, failed <-chan error) error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	close(s.ended)
	until, cancel := context.WithTimeout(context.Background(), s.opts.Limit)
	defer cancel()
	closed := make(chan struct{})
	go func() { // no new connections, and an end to those without a request
		defer close(closed)
		_ = srv.Shutdown(until) // what it does not end in time, Close ends
	}()
	s.wind(until)
	select { // the last answers are still on their way out of net/http
	case <-closed:
	case <-time.After(lastWrite):
	}
	_ = srv.Close()
	<-failed
	select {
	case <-s.opts.Now:
		return ErrForced
	default:
		return nil
	}
}

// lastWrite is how long an answer may take from its handler to the socket. It
// is spent only when a client keeps a connection on which it never asked
// anything, which Shutdown would wait for.
const lastWrite = 100 * time.Millisecond

// wind waits for what is being answered: prompts can no longer be answered,
// calls get their grace, the rest is cancelled.
func (s *Server) wind(until context.Context) {
	all := s.everyone()
	for _, one := range all {
		one.HangUp()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.active.Wait()
	}()
	grace := time.NewTimer(s.opts.Grace)
	defer grace.Stop()
	select {
	case <-done:
		return
	case <-grace.C:
	case <-s.opts.Now:
		return
	}
	for _, one := range all {
		one.CancelAll()
	}
	select {
	case <-done:
	case <-until.Done():
	case <-s.opts.Now:
	}
}

// everyone lists what has calls in flight, or may have.
func (s *Server) everyone() []*rpc.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.sessions.all()
	for one := range s.single {
		all = append(all, one)
	}
	return all
}

// alone opens a session for one request that stands alone.
func (s *Server) alone() (one *rpc.Session, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, nil, false
	}
	one = s.d.Open(nil)
	s.single[one] = struct{}{}
	return one, func() {
		one.HangUp()
		s.mu.Lock()
		delete(s.single, one)
		s.mu.Unlock()
	}, true
}

// refuse answers with a JSON-RPC error without id.
func refuse(w http.ResponseWriter, status, code int, text string) {
	writeJSON(w, status, rpc.Refusal(nil, rpc.Errorf(code, "%s", text)))
}

func writeJSON(w http.ResponseWriter, status int, frame []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait)) // not every writer has one
	_, _ = w.Write(frame)                                                         // a client that is gone needs no answer
}
