package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// The frames below hold one message each, on one line, without its line end.
// A tool's text is by far the longest thing sent, so it is escaped once, here,
// straight into the frame; encoding/json would copy it three times (value,
// Marshaler, compaction) and escape <, > and & besides.

func resultFrame(id json.RawMessage, result any, extra string) ([]byte, error) {
	frame := append(make([]byte, 0, 256+sizeHint(result)), `{"jsonrpc":"2.0","id":`...)
	frame = append(frame, id...)
	frame = append(frame, `,"result":`...)
	start := len(frame)
	frame, err := appendResult(frame, result)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	if frame[start] != '{' {
		return nil, fmt.Errorf("encode result: %T is not an object", result)
	}
	if extra != "" {
		frame = splice(frame, start, extra)
	}
	return append(frame, '}'), nil
}

// splice puts members (without braces) at the front of the object that begins
// at start and goes to the end of frame.
func splice(frame []byte, start int, extra string) []byte {
	if skipSpace(frame, start+1) < len(frame)-1 {
		extra += ","
	}
	frame = append(frame, extra...)
	copy(frame[start+1+len(extra):], frame[start+1:])
	copy(frame[start+1:], extra)
	return frame
}

func errorFrame(id json.RawMessage, fault *Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	frame = fmt.Appendf(frame, `,"error":{"code":%d,"message":`, fault.Code)
	frame = appendString(frame, fault.Message)
	if fault.Data != nil {
		if withData, err := appendValue(append(frame, `,"data":`...), fault.Data); err == nil {
			frame = withData
		}
	}
	return append(frame, "}}"...)
}

func notificationFrame(method string, params any) ([]byte, error) {
	frame := appendString([]byte(`{"jsonrpc":"2.0","method":`), method)
	if params == nil {
		return append(frame, '}'), nil
	}
	frame, err := appendValue(append(frame, `,"params":`...), params)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return append(frame, '}'), nil
}

func requestFrame(id int64, method string, params any) ([]byte, error) {
	frame := appendString(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":`, id), method)
	frame, err := appendValue(append(frame, `,"params":`...), params)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	return append(frame, '}'), nil
}

// sizeHint guesses the length of an encoded result, so that a frame of
// megabytes is not grown step by step.
func sizeHint(result any) int {
	var tool mcp.CallToolResult
	switch r := result.(type) {
	case *mcp.CallToolResult:
		if r != nil {
			tool = *r
		}
	case mcp.CallToolResult:
		tool = r
	case json.RawMessage:
		return len(r)
	}
	n := 0
	if d, ok := tool.StructuredContent.(Document); ok {
		n = d.Len()
	}
	for _, c := range tool.Content {
		if block, ok := c.(Block); ok {
			n += block.Document.WireLen()
		}
		if text, ok := textOf(c); ok {
			n += len(text.Text) + strings.Count(text.Text, `"`) + strings.Count(text.Text, `\`)
		}
	}
	return n
}

func appendResult(dst []byte, result any) ([]byte, error) {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		if r != nil {
			return appendToolResult(dst, r)
		}
	case mcp.CallToolResult:
		return appendToolResult(dst, &r)
	}
	return appendValue(dst, result)
}

func appendToolResult(dst []byte, r *mcp.CallToolResult) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	if r.Meta != nil {
		if dst, err = appendMember(dst, "_meta", r.Meta); err != nil {
			return nil, err
		}
	}
	if r.ResultType != "" {
		dst = appendString(append(dst, `"resultType":`...), string(r.ResultType))
		dst = append(dst, ',')
	}
	if dst, err = appendContent(dst, r.Content); err != nil {
		return nil, err
	}
	if structured := structuredOf(r); structured != nil {
		if dst, err = appendMember(append(dst, ','), "structuredContent", structured); err != nil {
			return nil, err
		}
		dst = dst[:len(dst)-1]
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	if len(r.InputRequests) > 0 {
		if dst, err = appendMember(append(dst, ','), "inputRequests", r.InputRequests); err != nil {
			return nil, err
		}
		dst = dst[:len(dst)-1]
	}
	if r.RequestState != "" {
		dst = appendString(append(dst, `,"requestState":`...), r.RequestState)
	}
	return append(dst, '}'), nil
}

func structuredOf(r *mcp.CallToolResult) any {
	if len(r.RawStructuredContent) > 0 {
		return r.RawStructuredContent
	}
	return r.StructuredContent
}

// appendMember writes "key":value and a comma.
func appendMember(dst []byte, key string, value any) ([]byte, error) {
	dst, err := appendValue(append(appendString(dst, key), ':'), value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return append(dst, ','), nil
}

func appendContent(dst []byte, content []mcp.Content) ([]byte, error) {
	dst = append(dst, `"content":[`...)
	for i, c := range content {
		if i > 0 {
			dst = append(dst, ',')
		}
		if block, ok := c.(Block); ok {
			dst = block.append(dst)
			continue
		}
		if text, ok := textOf(c); ok {
			dst = append(appendString(append(dst, `{"type":"text","text":`...), text.Text), '}')
			continue
		}
		var err error
		if dst, err = appendValue(dst, c); err != nil {
			return nil, fmt.Errorf("content %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

// textOf gives a text block that has nothing but its text.
func textOf(c mcp.Content) (text mcp.TextContent, ok bool) {
	switch t := c.(type) {
	case mcp.TextContent:
		text, ok = t, true
	case *mcp.TextContent:
		if t != nil {
			text, ok = *t, true
		}
	}
	return text, ok && text.Meta == nil && text.Annotations == nil
}

// appendValue writes any value on one line, with <, > and & as they are.
func appendValue(dst []byte, value any) ([]byte, error) {
	if d, ok := value.(Document); ok {
		return d.appendObject(dst), nil
	}
	if raw, ok := value.(json.RawMessage); ok && bytes.IndexByte(raw, '\n') < 0 && json.Valid(raw) {
		return append(dst, raw...), nil
	}
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, as encoding/json has it. It is for methods, keys and messages of
// errors: jsontext is quicker from a few hundred bytes on, and wants room behind
// short ones that they do not have.
func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")))
	}
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
