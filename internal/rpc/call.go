package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type callKey struct{}

// Call is one request in flight. A handler finds it with FromContext; every
// method may be used on nil, where it does nothing, so that a handler can be
// tested without a transport.
type Call struct {
	s       *Session
	msg     Message
	key     string
	meta    json.RawMessage
	modern  bool
	listens bool // subscriptions/listen
	oneWay  bool // nothing but the answer reaches the client
	out     Sink
	ctx     context.Context
	stop    context.CancelFunc
	started time.Time
	token   json.RawMessage // the client's progress token; nil: it wants none

	mu       sync.Mutex // held while a frame is put, so that nothing follows the end
	silent   bool       // answered, or cancelled by the client
	progress float64    // the last value sent
	code     int        // of the error that answers; 0: a result
	fault    *Error     // what a handler behind mcp-go returned
	pump     *pump
	drained  bool                   // the pump has ended for good
	opens    bool                   // an initialize that succeeded
	filter   mcp.SubscriptionFilter // what a listening call was granted
}

// FromContext gives the call a handler runs for, or nil.
func FromContext(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

func newCall(s *Session, msg Message, meta json.RawMessage, modern bool, out Sink) *Call {
	c := &Call{s: s, msg: msg, key: idKey(msg.ID), meta: meta, modern: modern, out: out, started: time.Now()}
	if meta != nil {
		if token := lookup(meta, "progressToken"); usableID(token) {
			c.token = token
		}
	}
	c.listens = modern && msg.Method == string(mcp.MethodSubscriptionsListen)
	return c
}

func (c *Call) listening() bool { return c.listens }

// Modern reports whether the request is of revision 2026-07-28 or later.
func (c *Call) Modern() bool { return c != nil && c.modern }

// Run serves the request, sends its answer unless the client cancelled it, and
// returns when both are done.
func (c *Call) Run() {
	defer c.s.end(c)
	frame := c.answer()
	c.mu.Lock()
	if !c.silent {
		c.silent = true
		c.out.Queue(frame, false)
	}
	opens := c.opens
	c.mu.Unlock()
	if opens { // only now may anything but the answer be sent (2025-11-25, lifecycle)
		c.s.mu.Lock()
		c.s.opened = true
		c.s.mu.Unlock()
	}
	c.out.Flush()
}

// answer makes the frame with the result or the error. A panic is the
// handler's failure, not the server's.
func (c *Call) answer() (frame []byte) {
	defer c.closePump()
	defer func() {
		if broken := recover(); broken != nil {
			c.s.d.cfg.Log.Error("handler panicked", "method", c.msg.Method, "panic", broken, "stack", string(debug.Stack()))
			frame = c.refuse(Errorf(CodeInternal, "%s: the server's handler broke", c.msg.Method))
		}
	}()
	result, extra, fault := c.serve()
	if fault != nil {
		return c.refuse(fault)
	}
	frame, err := resultFrame(c.msg.ID, result, extra)
	if err != nil {
		return c.refuse(Errorf(CodeInternal, "%s: %v", c.msg.Method, err))
	}
	if len(frame) > MaxMessage {
		return c.tooLong(len(frame))
	}
	return frame
}

func (c *Call) refuse(fault *Error) []byte {
	c.mu.Lock()
	c.code = fault.Code
	c.mu.Unlock()
	return errorFrame(c.msg.ID, fault)
}

// Code is the code of the error that answered, 0 for a result. Precondition:
// Run has returned.
func (c *Call) Code() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code
}

// tooLong answers in the place of a result that no client would accept.
func (c *Call) tooLong(n int) []byte {
	text := fmt.Sprintf("the result has %d bytes, more than the %d that may be sent: ask for less", n, MaxMessage)
	if c.msg.Method != string(mcp.MethodToolsCall) {
		return c.refuse(Errorf(CodeInternal, "%s: %s", c.msg.Method, text))
	}
	result := mcp.NewToolResultError(text)
	if c.modern {
		result.ResultType = mcp.ResultTypeComplete
	}
	frame, err := resultFrame(c.msg.ID, result, "")
	if err != nil {
		return c.refuse(Errorf(CodeInternal, "%s: %s", c.msg.Method, text))
	}
	return frame
}

// serve gives the result, the members to add to it, or the error.
func (c *Call) serve() (result any, extra string, fault *Error) {
	if c.listens {
		return c.listen()
	}
	if refused := c.checkArguments(); refused != nil {
		return refused, "", nil
	}
	if method, ok := c.s.d.cfg.Methods[c.msg.Method]; ok {
		result, err := method.Handle(c.ctx, c.msg.Params)
		if err != nil {
			return nil, "", asError(err)
		}
		extra := c.decorate(result, method.Cacheable)
		return result, extra, nil
	}
	if c.msg.Method == string(mcp.MethodToolsCall) && c.s.d.cfg.Tools != nil {
		if handler := c.s.d.cfg.Tools(unquote(c.msg.param("name"))); handler != nil {
			return c.callTool(handler)
		}
	}
	result, fault = c.handle()
	return result, "", fault
}

// checkArguments refuses a call of a tool with ambiguous arguments, in words
// the model can act on.
func (c *Call) checkArguments() *mcp.CallToolResult {
	if len(c.s.d.cfg.Arguments) == 0 || c.msg.Method != string(mcp.MethodToolsCall) {
		return nil
	}
	name := unquote(c.msg.param("name"))
	known, ok := c.s.d.cfg.Arguments[name]
	if !ok {
		return nil
	}
	raw := c.msg.param("arguments")
	list, _ := members(raw)
	err := checkKeys(list, known)
	if err == nil {
		err = checkDeep(raw)
	}
	if err == nil {
		return nil
	}
	refused := mcp.NewToolResultError(fmt.Sprintf(
		"Input validation error: Invalid arguments for tool %s: %v. Give each argument once, by its exact name.", name, err))
	if c.modern {
		refused.ResultType = mcp.ResultTypeComplete
	}
	return refused
}

// handle asks the Handler. The message is written anew: with the exact keys
// that were checked, and an id that no other call has, so that mcp-go's own
// bookkeeping by id cannot mix up two sessions or lose digits of a number.
func (c *Call) handle() (any, *Error) {
	id := c.s.d.nextID.Add(1)
	params := c.params()
	message := make([]byte, 0, 64+len(c.msg.Method)+len(params))
	message = append(message, `{"jsonrpc":"2.0","id":`...)
	message = strconv.AppendInt(message, id, 10)
	message = appendString(append(message, `,"method":`...), c.msg.Method)
	if params != nil {
		message = append(append(message, `,"params":`...), params...)
	}
	message = append(message, '}')
	if c.msg.Method == string(mcp.MethodInitialize) {
		c.s.remember(c.msg.Params)
	}
	ctx := server.WithSupportedProtocolVersions(c.mcpContext(), c.s.d.versions)
	switch reply := c.s.d.cfg.Handler.HandleMessage(ctx, message).(type) {
	case mcp.JSONRPCResponse:
		return reply.Result, nil
	case mcp.JSONRPCError:
		return nil, c.explain(reply.Error)
	default:
		return nil, Errorf(CodeInternal, "%s: the server gave no answer", c.msg.Method)
	}
}

// explain gives the error to send for one of mcp-go's.
func (c *Call) explain(details mcp.JSONRPCErrorDetails) *Error {
	c.mu.Lock()
	recorded := c.fault
	c.mu.Unlock()
	if recorded != nil {
		return recorded
	}
	fault := &Error{Code: details.Code, Message: details.Message, Data: details.Data}
	notFound := fault.Code == CodeResourceNotFound || fault.Code == CodeInvalidParams
	if c.msg.Method == string(mcp.MethodResourcesRead) && notFound && fault.Data == nil {
		fault.Data = map[string]any{"uri": unquote(c.msg.param("uri"))}
	}
	return fault
}

func (c *Call) recordError(err error) {
	var own *Error
	if c == nil || !errors.As(err, &own) {
		return
	}
	c.mu.Lock()
	c.fault = own
	c.mu.Unlock()
}

// silence makes the call send nothing from now on.
func (c *Call) silence() {
	c.mu.Lock()
	c.silent = true
	c.mu.Unlock()
}

// put queues a frame of this call, unless it has ended.
func (c *Call) put(frame []byte, droppable bool) {
	c.mu.Lock()
	if !c.silent {
		c.out.Queue(frame, droppable)
	}
	c.mu.Unlock()
	c.out.Wake()
}
