package httpserve

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/rpc"
)

// post takes one message.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, rpc.CodeInternal, fmt.Sprintf("%d requests are being served: try again", maxRequests))
		return
	}
	if no := acceptable(r); no != nil {
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	body, no := readBody(w, r)
	if no != nil {
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	msg, id, fault := rpc.Parse(body)
	if fault != nil {
		writeJSON(w, http.StatusBadRequest, rpc.Refusal(id, fault))
		return
	}
	e := eraOf(r.Header, msg)
	switch {
	case e.modern && msg.Kind != rpc.Request:
		// There is no session it could belong to: a call is cancelled by closing its stream.
		w.WriteHeader(http.StatusAccepted)
	case e.modern:
		s.standalone(w, r, msg, e)
	default:
		s.inSession(w, r, msg)
	}
}

// acceptable judges the headers that say what goes in and out.
func acceptable(r *http.Request) *refusal {
	kind, more, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := more["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &refusal{http.StatusUnsupportedMediaType, "Content-Type must be application/json, in UTF-8"}
	}
	if accept := r.Header.Values("Accept"); len(accept) > 0 && !accepts(accept, "application/json") {
		return &refusal{http.StatusNotAcceptable, "Accept must hold application/json and text/event-stream"}
	}
	return nil
}

// accepts reports whether an Accept header takes kind ("text/event-stream").
func accepts(headers []string, kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			name, quality, _ := strings.Cut(item, ";")
			weight, weighed := strings.CutPrefix(strings.ToLower(strings.TrimSpace(quality)), "q=")
			if q, err := strconv.ParseFloat(weight, 64); weighed && err == nil && q == 0 {
				continue // "not this" (RFC 9110, 12.4.2)
			}
			switch strings.ToLower(strings.TrimSpace(name)) {
			case kind, family + "/*", "*/*":
				return true
			}
		}
	}
	return false
}

// readBody reads at most rpc.MaxMessage; a body that announces more is not
// read at all.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	tooLong := &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", rpc.MaxMessage)}
	if r.ContentLength > rpc.MaxMessage {
		w.Header().Set("Connection", "close") // or the server would read it to the end
		return nil, tooLong
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyWait)) // not every writer has one
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rpc.MaxMessage))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLong
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "read the body: " + err.Error()}
	}
	return body, nil
}

// inSession serves a message of the old era.
func (s *Server) inSession(w http.ResponseWriter, r *http.Request, msg rpc.Message) {
	if version := r.Header.Get(mcp.HeaderProtocolVersion); version != "" && !mcp.IsValidProtocolVersion(version) {
		writeJSON(w, http.StatusBadRequest, rpc.Refusal(msg.ID, rpc.Errorf(rpc.CodeInvalidRequest,
			"%s %q is not served here", mcp.HeaderProtocolVersion, version)))
		return
	}
	one, no := s.find(r, msg)
	if no != nil {
		writeJSON(w, no.status, rpc.Refusal(msg.ID, rpc.Errorf(rpc.CodeInvalidRequest, "%s", no.text)))
		return
	}
	if one == nil { // a method that needs no session, refused by the revision's rules
		s.standalone(w, r, msg, era{})
		return
	}
	defer s.sessions.release(one)
	if msg.Kind != rpc.Request {
		one.rpc.Accept(msg)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	isNew := msg.Method == string(mcp.MethodInitialize)
	code := s.answer(w, r, one.rpc, msg, func(code int) int {
		if isNew && code == 0 {
			w.Header().Set(mcp.HeaderSessionID, one.rpc.ID())
		}
		return http.StatusOK
	})
	if isNew && code != 0 {
		s.sessions.close(one)
	}
}

// find gives the session a message belongs to, in use: a new one for
// initialize, none for server/discover (which only says that it is not known).
func (s *Server) find(r *http.Request, msg rpc.Message) (*session, *refusal) {
	if msg.Kind == rpc.Request && msg.Method == string(mcp.MethodServerDiscover) {
		return nil, nil
	}
	if msg.Kind == rpc.Request && msg.Method == string(mcp.MethodInitialize) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ending {
			return nil, &refusal{http.StatusServiceUnavailable, "the server is ending"}
		}
		one, ok := s.sessions.open(s.d)
		if !ok {
			return nil, &refusal{http.StatusServiceUnavailable, "too many sessions are in use: try again"}
		}
		return one, nil
	}
	return s.named(r)
}

// named gives the session that a request names, in use.
func (s *Server) named(r *http.Request) (*session, *refusal) {
	id := r.Header.Get(mcp.HeaderSessionID)
	if id == "" {
		return nil, &refusal{http.StatusBadRequest, mcp.HeaderSessionID + " is missing: begin with initialize"}
	}
	if one := s.sessions.take(id); one != nil {
		return one, nil
	}
	return nil, &refusal{http.StatusNotFound, "there is no such session (any more): begin with initialize"}
}

// answer runs a request and sends what comes of it; status is asked, with the
// code of the error (0: a result), when that is one JSON object. It returns the code.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, one *rpc.Session, msg rpc.Message, status func(code int) int) int {
	st := newStream()
	// The call ends when the client closes the connection: there is no way to
	// give it the result later, and a script must not run for nobody.
	call, fault := one.Begin(r.Context(), msg, st)
	if fault != nil {
		writeJSON(w, status(fault.Code), rpc.Refusal(msg.ID, fault))
		return fault.Code
	}
	streams := accepts(r.Header.Values("Accept"), "text/event-stream")
	if !streams {
		call.OneWay()
	}
	go func() {
		call.Run()
		st.finish()
	}()
	ev := newEvents(w)
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	var held [][]byte // not sent yet; for a client that takes no stream the last one only
	for {
		quiet := false
		select {
		case <-st.kick:
		case <-tick.C:
			quiet = true
		}
		frames, finished := st.take()
		if held = append(held, frames...); !streams && len(held) > 1 {
			held = held[len(held)-1:]
		}
		if finished && !ev.begun && (len(held) <= 1 || !streams) {
			return whole(w, call, held, status)
		}
		if streams && (len(held) > 0 || quiet) {
			_ = ev.send(held) // a client that is gone ends the request's context, and so the call
			held = nil
		}
		if finished {
			return call.Code()
		}
	}
}

// whole answers with one JSON object: the last frame is the answer, what comes
// before it is for a client that takes a stream. A call that the client
// cancelled has none.
func whole(w http.ResponseWriter, call *rpc.Call, frames [][]byte, status func(code int) int) int {
	if len(frames) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return call.Code()
	}
	writeJSON(w, status(call.Code()), frames[len(frames)-1])
	return call.Code()
}
