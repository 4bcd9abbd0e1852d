package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"skill-mcp/internal/rpc"
)

// line is one line read, or what is known of one that was too long.
type line struct {
	text []byte
	// tooLong: text is nil and id is the id that could be recovered (nil: none).
	tooLong bool
	id      json.RawMessage
}

// lineReader cuts a stream into lines of at most max bytes.
type lineReader struct {
	in  *bufio.Reader
	max int
	buf []byte
}

// readChunk is one read from the pipe: a pipe holds 64 KiB by default.
const readChunk = 64 << 10

func newLineReader(in io.Reader, max int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, readChunk), max: max}
}

// next gives the next line without its line end (LF or CRLF). Blank lines are
// skipped, a last line without a line end counts. The text is valid until the
// following call. A line over the cap is skipped to its end, and only its id is
// kept: memory stays within the cap plus one chunk.
func (r *lineReader) next() (line, error) {
	for {
		l, err := r.one()
		if l.tooLong || len(l.text) > 0 {
			return l, nil
		}
		if err != nil {
			return line{}, err
		}
	}
}

func (r *lineReader) one() (line, error) {
	r.shrink()
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.buf)+len(bytes.TrimRight(part, "\r\n")) > r.max {
			return r.skip(part, err)
		}
		r.buf = append(r.buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line{text: bytes.Trim(r.buf, " \t\r\n")}, err
		}
	}
}

// skip reads to the end of a line that is too long, looking for its id.
func (r *lineReader) skip(part []byte, err error) (line, error) {
	var scan idScanner
	scan.write(r.buf)
	r.buf = r.buf[:0]
	for {
		scan.write(part)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line{tooLong: true, id: scan.id()}, err
		}
		part, err = r.in.ReadSlice('\n')
	}
}

// shrink gives back a buffer that one long line has grown.
func (r *lineReader) shrink() {
	if cap(r.buf) > 1<<20 {
		r.buf = nil
	}
}

// maxID is the longest id that is recovered from a line that is too long.
const maxID = 256

// idScanner finds the value of the member "id" of the outermost object in a
// stream of JSON too long to keep. It knows strings and depth, no more: text
// that is no JSON gives some id or none, and the answer is an error either way.
type idScanner struct {
	depth   int
	inside  bool   // in a string
	escaped bool   // after a backslash in a string
	key     []byte // the last string at depth 1, or the one being read
	value   []byte // what follows "id":
	state   idState
	found   json.RawMessage
}

type idState int

const (
	seekKey   idState = iota // at depth 1, before a key or in it
	seekColon                // after a key
	inValue                  // in a value that is not wanted
	inID                     // in the value of "id"
	finished
)

func (s *idScanner) write(p []byte) {
	for _, c := range p {
		if s.state == finished {
			return
		}
		s.step(c)
	}
}

func (s *idScanner) step(c byte) {
	if s.inside {
		s.keep(c)
		s.inString(c)
		return
	}
	switch c {
	case '"':
		s.inside = true
		if s.depth == 1 && s.state == seekKey {
			s.key = s.key[:0]
		}
		s.keep(c)
	case '{', '[':
		s.depth++
		s.keep(c)
	case '}', ']':
		if s.depth == 1 {
			s.endValue()
		}
		s.depth--
	case ':':
		if s.depth == 1 && s.state == seekColon {
			s.state = inValue
			if string(s.key) == `"id"` {
				s.state, s.value = inID, s.value[:0]
			}
		}
	case ',':
		if s.depth == 1 {
			s.endValue()
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.keep(c)
	}
}

func (s *idScanner) inString(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inside = false
		if s.depth == 1 && s.state == seekKey {
			s.state = seekColon
		}
	}
}

// keep collects a byte of the key or of the id, up to the bound.
func (s *idScanner) keep(c byte) {
	switch {
	case s.depth != 1:
	case s.state == seekKey && s.inside && len(s.key) <= maxID:
		s.key = append(s.key, c)
	case s.state == inID && len(s.value) <= maxID:
		s.value = append(s.value, c)
	}
}

func (s *idScanner) endValue() {
	if s.state == inID && len(s.value) <= maxID && json.Valid(s.value) && rpc.UsableID(s.value) {
		s.found, s.state = append(json.RawMessage(nil), s.value...), finished
		return
	}
	s.state = seekKey
}

func (s *idScanner) id() json.RawMessage { return s.found }
