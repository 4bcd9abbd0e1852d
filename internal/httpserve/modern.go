package httpserve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/rpc"
)

// era is what a message says of its revision, in its two places.
type era struct {
	modern bool
	header string // MCP-Protocol-Version
	meta   string // params._meta
}

func eraOf(h http.Header, msg rpc.Message) era {
	e := era{header: h.Get(mcp.HeaderProtocolVersion), meta: msg.DeclaredVersion()}
	// A header that names a revision nobody knows is judged by the old rules,
	// which refuse it by name.
	e.modern = mcp.IsModernProtocol(e.meta) || e.header == mcp.ProtocolVersion20260728
	return e
}

// standalone serves a request of revision 2026-07-28.
func (s *Server) standalone(w http.ResponseWriter, r *http.Request, msg rpc.Message, e era) {
	if e.modern {
		if fault := checkHeaders(r.Header, msg, e); fault != nil {
			writeJSON(w, http.StatusBadRequest, rpc.Refusal(msg.ID, fault))
			return
		}
	}
	one, done, ok := s.alone()
	if !ok {
		refuse(w, http.StatusServiceUnavailable, rpc.CodeInternal, "the server is ending")
		return
	}
	defer done()
	s.answer(w, r, one, msg, statusOf)
}

// checkHeaders holds the headers against the body (2026-07-28, SEP-2243): who
// routes by the header and who serves the body must see one request.
func checkHeaders(h http.Header, msg rpc.Message, e era) *rpc.Error {
	switch {
	case h.Get(mcp.HeaderLastEventID) != "":
		return rpc.Errorf(mcp.HEADER_MISMATCH, "%s: streams cannot be resumed in revision %s", mcp.HeaderLastEventID, mcp.ProtocolVersion20260728)
	case e.header == "":
		return rpc.Errorf(mcp.HEADER_MISMATCH, "%s is missing beside %s", mcp.HeaderProtocolVersion, mcp.MetaKeyProtocolVersion)
	case e.meta == "":
		return rpc.Errorf(rpc.CodeInvalidParams, "params._meta must hold %q", mcp.MetaKeyProtocolVersion)
	case e.header != e.meta:
		return rpc.Errorf(mcp.HEADER_MISMATCH, "%s is %q and %s is %q", mcp.HeaderProtocolVersion, e.header, mcp.MetaKeyProtocolVersion, e.meta)
	}
	if err := mcp.ValidateStandardHeaders(h.Get, e.meta, mcp.MCPMethod(msg.Method), orEmpty(msg.Params)); err != nil {
		return rpc.Errorf(mcp.HEADER_MISMATCH, "%v", err)
	}
	return nil
}

func orEmpty(params json.RawMessage) json.RawMessage {
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}

// statusOf is the HTTP status that goes with a JSON-RPC error (2026-07-28).
func statusOf(code int) int {
	switch code {
	case rpc.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, rpc.CodeUnsupportedVersion,
		rpc.CodeInvalidRequest, rpc.CodeInvalidParams, rpc.CodeParse:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// get opens the stream of a session's own messages.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	if no := onlyOld(w, r); no != nil {
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	if !accepts(r.Header.Values("Accept"), "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, rpc.CodeInvalidRequest, "Accept must hold text/event-stream")
		return
	}
	one, no := s.named(r)
	if no != nil {
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	defer s.sessions.release(one)
	st := newStream()
	if !one.feed.attach(st) {
		refuse(w, http.StatusConflict, rpc.CodeInvalidRequest, "this session has a stream already")
		return
	}
	defer one.feed.detach()
	s.follow(w, r, st)
}

// follow writes a stream's messages until the client, the session or the
// server ends.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, st *stream) {
	ev := newEvents(w)
	if ev.begin() != nil {
		return
	}
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	for {
		quiet := false
		select {
		case <-st.kick:
		case <-tick.C:
			quiet = true
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		}
		frames, finished := st.take()
		if len(frames) > 0 || quiet {
			if ev.send(frames) != nil {
				return
			}
		}
		if finished {
			return
		}
	}
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request) {
	if no := onlyOld(w, r); no != nil {
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	one, no := s.named(r)
	if no != nil {
		refuse(w, no.status, rpc.CodeInvalidRequest, no.text)
		return
	}
	s.sessions.close(one)
	w.WriteHeader(http.StatusNoContent)
}

// onlyOld refuses GET and DELETE of revision 2026-07-28, which has neither.
func onlyOld(w http.ResponseWriter, r *http.Request) *refusal {
	if !mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		return nil
	}
	w.Header().Set("Allow", http.MethodPost)
	return &refusal{http.StatusMethodNotAllowed, fmt.Sprintf("revision %s has only POST here", mcp.ProtocolVersion20260728)}
}
