package egress

import (
	"bytes"
	"strconv"
	"strings"

	"skill-mcp/internal/egresswire"
)

// maxLine is the longest line looked at; servers stop at 8 to 64 KiB.
const maxLine = 64 << 10

// requestState is where in a request a requestReader is.
type requestState int

const (
	inStart requestState = iota
	inHeader
	inBody
	inChunkSize
	inChunk
	inChunkEnd
	inTrailer
)

// requestReader follows the HTTP/1 requests of one plain connection and looks
// at the host each names: the Host header, and the target in absolute form.
// It accepts less than servers do; what it cannot follow exactly it refuses,
// so that it and the server never disagree on where a request begins. What
// does not begin as HTTP is not HTTP, and passes.
type requestReader struct {
	listed  func(string) bool
	state   requestState
	line    []byte
	later   bool   // a request has been seen
	left    uint64 // bytes of the body or chunk to come
	length  uint64
	lengths int
	chunked bool
	another bool // the request asks to change the protocol
}

// malformedRequest is the refusal of a request that cannot be followed.
var malformedRequest = violation{"", egresswire.ReasonMalformed}

// check looks at the next piece and returns what is left of it when another
// protocol begins there.
func (r *requestReader) check(piece []byte) (*violation, []byte, verdict) {
	for len(piece) > 0 {
		if r.state == inBody || r.state == inChunk {
			piece = r.body(piece)
			if v := r.atEnd(); v != unsure {
				return nil, piece, v
			}
			continue
		}
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			r.line = append(r.line, piece...)
			found, v := r.overlong()
			return found, nil, v
		}
		r.line = append(r.line, piece[:end]...)
		piece = piece[end+1:]
		line := strings.TrimSuffix(string(r.line), "\r")
		r.line = r.line[:0]
		if found, v := r.endOfLine(line); found != nil || v != unsure {
			return found, piece, v
		}
	}
	return nil, nil, unsure
}

// overlong ends the reading of a line that does not end.
func (r *requestReader) overlong() (*violation, verdict) {
	if len(r.line) <= maxLine {
		return nil, unsure
	}
	if r.state == inStart && !r.later && !bytes.Contains(r.line, []byte(" ")) {
		return nil, passed
	}
	return &malformedRequest, passed
}

// body passes over the bytes of a body or chunk.
func (r *requestReader) body(piece []byte) []byte {
	n := min(uint64(len(piece)), r.left)
	r.left -= n
	if r.left == 0 {
		if r.state == inChunk {
			r.state = inChunkEnd
		} else {
			r.state = inStart
		}
	}
	return piece[n:]
}

func (r *requestReader) endOfLine(line string) (*violation, verdict) {
	if strings.ContainsAny(line, "\r\x00") && (r.state != inStart || r.later) {
		return &malformedRequest, passed
	}
	switch r.state {
	case inStart:
		return r.start(line)
	case inHeader:
		if line == "" {
			return r.endOfHeader()
		}
		return r.header(line)
	case inChunkSize:
		return r.chunkSize(line)
	case inChunkEnd:
		r.state = inChunkSize
		if line != "" {
			return &malformedRequest, passed
		}
	case inTrailer:
		if line == "" {
			r.state = inStart
			return nil, r.atEnd()
		}
	}
	return nil, unsure
}

// start reads a request line.
func (r *requestReader) start(line string) (*violation, verdict) {
	if line == "" {
		return nil, unsure // allowed before a request line (RFC 9112, 2.2)
	}
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if !strings.Contains(strings.ToUpper(line), "HTTP/") && !r.later {
		return nil, passed
	}
	if line == "PRI * HTTP/2.0" && !r.later {
		return nil, passed // HTTP/2 in the clear: its names are compressed
	}
	if !token(method) || target == "" || (version != "HTTP/1.1" && version != "HTTP/1.0") || strings.ContainsAny(line, "\r\x00") {
		return &malformedRequest, passed
	}
	r.later, r.state = true, inHeader
	r.length, r.lengths, r.chunked = 0, 0, false
	r.another = method == "CONNECT"
	if method == "CONNECT" {
		return r.host("http://" + target)
	}
	if strings.Contains(target, "://") && !strings.HasPrefix(target, "/") {
		return r.host(target)
	}
	return nil, unsure
}

// host looks at the authority of an absolute target.
func (r *requestReader) host(target string) (*violation, verdict) {
	_, rest, _ := strings.Cut(target, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return r.authority(rest)
}

func (r *requestReader) authority(s string) (*violation, verdict) {
	host, _, ok := splitAuthority(s)
	if !ok {
		return &violation{s, egresswire.ReasonMalformed}, passed
	}
	if !r.listed(host) {
		return &violation{host, egresswire.ReasonHostHeader}, passed
	}
	return nil, unsure
}

// header reads one header line.
func (r *requestReader) header(line string) (*violation, verdict) {
	name, value, found := strings.Cut(line, ":")
	if !found || !token(name) {
		return &malformedRequest, passed // also a folded line and a space before the colon
	}
	value = strings.Trim(value, " \t")
	switch strings.ToLower(name) {
	case "host":
		if value == "" {
			return nil, unsure
		}
		return r.authority(value)
	case "content-length":
		return r.contentLength(value)
	case "transfer-encoding":
		if !strings.EqualFold(value, "chunked") || r.chunked {
			return &malformedRequest, passed
		}
		r.chunked = true
	case "upgrade":
		r.another = true
	}
	return nil, unsure
}

func (r *requestReader) contentLength(value string) (*violation, verdict) {
	n, err := strconv.ParseUint(value, 10, 62)
	if err != nil || value[0] == '+' || (r.lengths > 0 && n != r.length) {
		return &malformedRequest, passed
	}
	r.length = n
	r.lengths++
	return nil, unsure
}

// endOfHeader decides what follows the empty line.
func (r *requestReader) endOfHeader() (*violation, verdict) {
	switch {
	case r.chunked && r.lengths > 0:
		return &malformedRequest, passed
	case r.chunked:
		r.state = inChunkSize
	case r.length > 0:
		r.state, r.left = inBody, r.length
	default:
		r.state = inStart
	}
	return nil, r.atEnd()
}

// atEnd tells, after the last byte of a request, that another protocol may
// begin. A server that does not change goes on with HTTP, which the next
// choice sees; a frame of a WebSocket client begins with a byte no request has.
func (r *requestReader) atEnd() verdict {
	if r.state == inStart && r.another {
		return again
	}
	return unsure
}

func (r *requestReader) chunkSize(line string) (*violation, verdict) {
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.Trim(size, " \t"), 16, 62)
	if err != nil {
		return &malformedRequest, passed
	}
	r.state, r.left = inChunk, n
	if n == 0 {
		r.state = inTrailer
	}
	return nil, unsure
}

// token is RFC 9110, 5.6.2.
func token(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}

// splitAuthority takes host and port apart: "name", "name:80", "[::1]:80".
// Port is "" when absent. A user part is refused, an empty port is not.
func splitAuthority(s string) (host, port string, ok bool) {
	if strings.ContainsAny(s, "@/\\ \t") {
		return "", "", false
	}
	if rest, bracket := strings.CutPrefix(s, "["); bracket {
		host, rest, found := strings.Cut(rest, "]")
		if !found || (rest != "" && rest[0] != ':') {
			return "", "", false
		}
		return host, strings.TrimPrefix(rest, ":"), host != ""
	}
	host, port, _ = strings.Cut(s, ":")
	return host, port, host != "" && !strings.Contains(port, ":")
}
