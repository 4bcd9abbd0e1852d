package rpc

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"skill-mcp/internal/jsontext"
)

// Document is a JSON object on one line which is the answer of a tool. Long
// texts in it stay what they are (bytes of a file, output of a script) until
// the frame is written: then they are escaped, or encoded, once, in their place
// in the frame, and nothing between holds a copy. It is written as a block of
// text, and as structured content. The zero value is no document.
type Document struct {
	pieces []piece
	once   int // bytes as an object
	twice  int // bytes as the inside of a string
}

// piece is some JSON and the text that follows it, or none.
type piece struct {
	json string
	fill Fill
}

// Fill is a text for a member of a document.
type Fill struct {
	Text string // UTF-8, or any bytes where they are sent in base64
	// Base64 says that the member holds Text in base64 (RFC 4648, section 4).
	Base64 bool
}

// lengths gives what the text takes in an object and in one that is a string.
func (f Fill) lengths() (once, twice int) {
	if f.Base64 {
		n := base64.StdEncoding.EncodedLen(len(f.Text))
		return n, n
	}
	return jsontext.Lengths(f.Text)
}

// NewDocument makes a document of an object on one line, without raw control
// characters, and texts: each goes into the next member with its key, which
// stands in the object as `"key":""`. Inside a JSON string those quotes would be
// escaped, so the place can be found by searching. A missing place is an error.
func NewDocument(object string, keys []string, fills []Fill) (Document, error) {
	var d Document
	for i, key := range keys {
		mark := `"` + key + `":"`
		head, tail, ok := strings.Cut(object, mark+`"`)
		if !ok {
			return Document{}, fmt.Errorf("make a document: no place for %s", key)
		}
		d.add(object[:len(head)+len(mark)], fills[i])
		object = object[len(object)-len(tail)-1:]
	}
	d.add(object, Fill{})
	return d, nil
}

func (d *Document) add(json string, fill Fill) {
	d.pieces = append(d.pieces, piece{json, fill})
	escaped, _ := jsontext.Lengths(json)
	once, twice := fill.lengths()
	d.once += len(json) + once
	d.twice += escaped + twice
}

// Len is how many bytes the object has.
func (d Document) Len() int { return d.once }

// WireLen is how many bytes it has as the text of a block, without the quotes.
func (d Document) WireLen() int { return d.twice }

// MarshalJSON gives the object, for an encoder that is not this package's.
func (d Document) MarshalJSON() ([]byte, error) {
	return d.appendObject(make([]byte, 0, d.once+jsontext.Slack)), nil
}

func (d Document) appendObject(dst []byte) []byte {
	for _, p := range d.pieces {
		dst = append(dst, p.json...)
		if p.fill.Base64 {
			dst = appendBase64(dst, p.fill.Text)
		} else {
			dst = jsontext.AppendEscaped(dst, p.fill.Text)
		}
	}
	return dst
}

// appendText writes the object as a JSON string.
func (d Document) appendText(dst []byte) []byte {
	dst = append(dst, '"')
	for _, p := range d.pieces {
		dst = jsontext.AppendEscaped(dst, p.json)
		if p.fill.Base64 {
			dst = appendBase64(dst, p.fill.Text)
		} else {
			dst = jsontext.AppendTwice(dst, p.fill.Text)
		}
	}
	return append(dst, '"')
}

// appendBase64 encodes in parts, since what can be encoded is a slice of bytes
// and a string would be copied as a whole.
func appendBase64(dst []byte, s string) []byte {
	var part [3 << 10]byte // a multiple of three: only the last part is padded
	for len(s) > 0 {
		n := copy(part[:], s)
		dst = base64.StdEncoding.AppendEncode(dst, part[:n])
		s = s[n:]
	}
	return dst
}

// Block is a block of text whose text is a document.
type Block struct {
	mcp.TextContent // what makes it a block; its own text is not used
	Document        Document
}

// MarshalJSON gives the block, for an encoder that is not this package's.
func (b Block) MarshalJSON() ([]byte, error) {
	return b.append(make([]byte, 0, b.Document.twice+64)), nil
}

func (b Block) append(dst []byte) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(b.Document.appendText(dst), '}')
}

// NewDocumentResult makes the result of a tool: the document as one block, and
// as structured content too when that is asked for.
func NewDocumentResult(d Document, structured bool) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{Block{mcp.TextContent{Type: "text"}, d}}}
	if structured {
		r.StructuredContent = d
	}
	return r
}
