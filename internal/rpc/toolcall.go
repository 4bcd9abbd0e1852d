package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxRounds bounds how often a handler may ask the person within one call, as
// mcp-go bounds it.
const maxRounds = 10

// mcpContext is the context in which mcp-go's functions find the session.
func (c *Call) mcpContext() context.Context {
	return (*server.MCPServer)(nil).WithContext(c.ctx, clientSession{c})
}

// callTool serves tools/call with a handler of mcp-go's kind, without mcp-go's
// way there.
func (c *Call) callTool(handler server.ToolHandlerFunc) (result any, extra string, fault *Error) {
	request, fault := c.toolRequest()
	if fault != nil {
		return nil, "", fault
	}
	ctx := c.mcpContext()
	if c.modern {
		info, fault := c.protocolInfo(request.Params.Meta)
		if fault != nil {
			return nil, "", fault
		}
		ctx = server.WithRequestProtocolInfo(ctx, info)
	}
	reply, err := c.rounds(ctx, handler, request)
	if err != nil {
		return nil, "", asError(err)
	}
	if reply == nil {
		return nil, "", Errorf(CodeInternal, "tool %s gave no result", request.Params.Name)
	}
	if !c.modern {
		return reply, "", nil
	}
	own := *reply // what a handler keeps for the next call must not be changed
	if reply.Meta != nil {
		meta := *reply.Meta
		own.Meta = &meta
	}
	return &own, c.decorate(&own, false), nil
}

func (c *Call) toolRequest() (mcp.CallToolRequest, *Error) {
	request := mcp.CallToolRequest{Request: mcp.Request{Method: c.msg.Method}}
	request.Params.Name = unquote(c.msg.param("name"))
	request.Params.RawArguments = c.msg.param("arguments")
	for _, part := range []struct {
		key  string
		into any
	}{
		{"arguments", &request.Params.Arguments},
		{"_meta", &request.Params.Meta},
		{"inputResponses", &request.Params.InputResponses},
		{"requestState", &request.Params.RequestState},
	} {
		raw := c.msg.param(part.key)
		if raw == nil {
			continue
		}
		if err := json.Unmarshal(raw, part.into); err != nil {
			return request, Errorf(CodeInvalidParams, "read params.%s: %v", part.key, err)
		}
	}
	return request, nil
}

// protocolInfo is what a stateless request says of itself. The capabilities
// are required (2026-07-28, SEP-2575); those of a shape mcp-go cannot read are
// judged from their text alone.
func (c *Call) protocolInfo(meta *mcp.Meta) (*server.RequestProtocolInfo, *Error) {
	if _, ok := members(lookup(c.meta, mcp.MetaKeyClientCapabilities)); !ok {
		return nil, Errorf(CodeInvalidParams, "params._meta must hold the object %q", mcp.MetaKeyClientCapabilities)
	}
	caps := meta.ClientCapabilities()
	if caps == nil {
		caps = &mcp.ClientCapabilities{}
	}
	return &server.RequestProtocolInfo{
		Modern: true, ProtocolVersion: meta.ProtocolVersion(), ClientInfo: meta.ClientInfo(),
		ClientCapabilities: caps, LogLevel: meta.LogLevel(),
	}, nil
}

// rounds calls the handler, and for a client of the old era again with the
// person's answer as long as it asks for one.
func (c *Call) rounds(ctx context.Context, handler server.ToolHandlerFunc, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for range maxRounds {
		reply, err := handler(ctx, request)
		if err != nil || c.modern || !reply.NeedsInput() {
			return reply, err
		}
		answers := make(mcp.InputResponses, len(reply.InputRequests))
		for key, wanted := range reply.InputRequests {
			if wanted.Elicitation == nil {
				return nil, fmt.Errorf("tool %s asked for %s, which is not passed on", request.Params.Name, wanted.Method)
			}
			answer, err := c.elicit(ctx, *wanted.Elicitation)
			if err != nil {
				return nil, err
			}
			answers[key] = mcp.NewElicitationInputResponse(*answer)
		}
		if len(answers) == 0 {
			return nil, fmt.Errorf("tool %s asked for input without a question", request.Params.Name)
		}
		request.Params.MultiRoundTripParams = mcp.MultiRoundTripParams{InputResponses: answers, RequestState: reply.RequestState}
	}
	return nil, fmt.Errorf("tool %s asked for input more than %d times", request.Params.Name, maxRounds)
}
