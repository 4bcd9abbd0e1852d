package rpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// MaxMessage is the longest message read or sent, in bytes. Official clients
// drop a connection above 10 MiB, and a result has to fit with its envelope.
const MaxMessage = 8 << 20

// Kind says what a message is.
type Kind int

// The kinds of message.
const (
	// Request expects one answer with its id.
	Request Kind = iota + 1
	// Notification is never answered.
	Notification
	// Response answers a request this server sent.
	Response
)

// Message is one JSON-RPC message, its parts as they were written.
type Message struct {
	Kind   Kind
	ID     json.RawMessage // request, response: a JSON string or number, as written
	Method string          // request, notification
	Params json.RawMessage // request, notification: an object, or nil
	Result json.RawMessage // response
	Fault  json.RawMessage // response: the error object

	fields []member // the members of Params
}

// param gives a parameter as written, or nil.
func (m *Message) param(key string) json.RawMessage {
	for i := range m.fields {
		if m.fields[i].key == key {
			return m.fields[i].value
		}
	}
	return nil
}

var (
	envelopeKeys = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramKeys    = []string{
		"_meta", "name", "arguments", "uri", "cursor", "task", "inputResponses", "requestState", "ref", "argument",
		"context", "level", "protocolVersion", "capabilities", "clientInfo", "requestId", "notifications",
	}
)

// DeclaredVersion is the revision a request names in its _meta, "" for none.
func (m *Message) DeclaredVersion() string { return declaredVersion(m.param("_meta")) }

// unambiguous are the parameters in which no key may be repeated at any depth:
// what a client may do, and what a person answered.
var unambiguous = []string{"_meta", "capabilities", "inputResponses"}

// Parse reads one message. The error is what to answer, with the id beside it
// (nil: the id could not be known, "null" on the wire). A notification that is
// malformed gives an error only when it has no method at all.
func Parse(line []byte) (msg Message, id json.RawMessage, fault *Error) {
	if fault := checkText(line); fault != nil {
		return Message{}, nil, fault
	}
	list, ok := members(line)
	if !ok {
		return Message{}, nil, Errorf(CodeInvalidRequest, "a message must be a JSON object")
	}
	if err := checkKeys(list, envelopeKeys); err != nil {
		return Message{}, nil, Errorf(CodeInvalidRequest, "read message: %v", err)
	}
	return envelope(list)
}

// checkText refuses what is not one JSON value in UTF-8, and batches.
func checkText(line []byte) *Error {
	if !utf8.Valid(line) {
		return Errorf(CodeParse, "read message: the line is not UTF-8")
	}
	if !json.Valid(line) {
		return Errorf(CodeParse, "read message: it is not one JSON value")
	}
	if bytes.TrimLeft(line, " \t\r\n")[0] == '[' {
		return Errorf(CodeInvalidRequest, "batches are not supported: send each message by itself")
	}
	return nil
}

func envelope(list []member) (msg Message, id json.RawMessage, fault *Error) {
	var version, method json.RawMessage
	hasID := false
	for _, m := range list {
		switch m.key {
		case "jsonrpc":
			version = m.value
		case "id":
			msg.ID, hasID = m.value, true
		case "method":
			method = m.value
		case "params":
			msg.Params = m.value
		case "result":
			msg.Result = m.value
		case "error":
			msg.Fault = m.value
		}
	}
	if hasID && !usableID(msg.ID) {
		return msg, nil, Errorf(CodeInvalidRequest, "id must be a string or a number")
	}
	if method == nil && hasID && (msg.Result != nil || msg.Fault != nil) {
		msg.Kind = Response
		return msg, nil, nil
	}
	msg.Kind = Notification
	if hasID {
		msg.Kind = Request
	}
	if fault := msg.check(version, method); fault != nil {
		return msg, msg.ID, fault
	}
	return msg, msg.ID, nil
}

// check fills in the method and refuses a request that is not JSON-RPC 2.0. A
// notification with a method is let through as it is: nobody may answer it.
func (m *Message) check(version, method json.RawMessage) *Error {
	m.Method = unquote(method)
	if m.Method == "" {
		return Errorf(CodeInvalidRequest, "method must be a non-empty string")
	}
	if m.Kind == Notification {
		return nil
	}
	if string(version) != `"2.0"` {
		return Errorf(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	if m.Params == nil || string(m.Params) == "null" {
		m.Params = nil
		return nil
	}
	list, ok := members(m.Params)
	if !ok {
		return Errorf(CodeInvalidParams, "params must be an object")
	}
	if err := checkKeys(list, paramKeys); err != nil {
		return Errorf(CodeInvalidParams, "read params: %v", err)
	}
	m.fields = list
	for _, key := range unambiguous {
		if err := checkDeep(m.param(key)); err != nil {
			return Errorf(CodeInvalidParams, "read params.%s: %v", key, err)
		}
	}
	return nil
}

// UsableID reports whether raw, one JSON value, may be the id of a message.
func UsableID(raw json.RawMessage) bool { return usableID(raw) }

// usableID reports whether raw may be an id: a string or a number, not null.
func usableID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// idKey is what two writings of one id have in common: strings are compared
// decoded, numbers as written.
func idKey(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return "s" + unquote(raw)
	}
	return "n" + string(raw)
}
