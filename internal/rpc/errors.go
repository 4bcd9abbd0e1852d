package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// JSON-RPC and MCP error codes this server sends.
const (
	// CodeParse is given for a line that is not JSON (JSON-RPC 2.0, section 5.1).
	CodeParse = -32700
	// CodeInvalidRequest is given for JSON that is not a request.
	CodeInvalidRequest = -32600
	// CodeMethodNotFound is given for a method that does not exist in the request's revision.
	CodeMethodNotFound = -32601
	// CodeInvalidParams is given for parameters that cannot be served; since 2026-07-28 also for an unknown resource.
	CodeInvalidParams = -32602
	// CodeInternal is given when a handler broke.
	CodeInternal = -32603
	// CodeResourceNotFound is what revisions before 2026-07-28 call an unknown resource.
	CodeResourceNotFound = -32002
	// CodeUnsupportedVersion is given for a revision that is not served here.
	CodeUnsupportedVersion = mcp.UNSUPPORTED_PROTOCOL_VERSION
)

// Error is a JSON-RPC error. A handler of any kind (custom method, tool,
// prompt, resource) that returns one, or wraps one, has it sent as it stands.
type Error struct {
	// Code is the JSON-RPC code.
	Code int
	// Message is one short sentence.
	Message string
	// Data is sent as error.data when it is not nil.
	Data any
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error without data.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ResourceNotFound is the error for an unknown resource in the revision of the
// request in ctx: -32602 with data.uri since 2026-07-28, -32002 before.
func ResourceNotFound(ctx context.Context, uri string) *Error {
	code := CodeResourceNotFound
	if FromContext(ctx).Modern() {
		code = CodeInvalidParams
	}
	return &Error{Code: code, Message: "resource not found: " + uri, Data: map[string]any{"uri": uri}}
}

// asError turns what a handler returned into what is sent.
func asError(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}
