package rpc

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// clientSession is what mcp-go sees of one call. It is made for each call, so
// that what a stateless request declares is never remembered.
type clientSession struct{ c *Call }

// mcp-go finds these by type assertion: a method that no longer fits would be
// ignored without a word.
var (
	_ server.SessionWithLogging         = clientSession{}
	_ server.SessionWithClientInfo      = clientSession{}
	_ server.SessionWithElicitation     = clientSession{}
	_ server.SessionWithProtocolVersion = clientSession{}
)

func (cs clientSession) SessionID() string { return cs.c.s.id }

func (cs clientSession) Initialize() {
	cs.c.mu.Lock()
	cs.c.opens = !cs.c.modern && cs.c.msg.Method == string(mcp.MethodInitialize)
	cs.c.mu.Unlock()
}

// Initialized is always true: mcp-go asks before it sends a notification for a
// call, and a call exists only because its client waits for it.
func (cs clientSession) Initialized() bool { return true }

func (cs clientSession) SetLogLevel(level mcp.LoggingLevel) {
	cs.c.s.mu.Lock()
	cs.c.s.level = level
	cs.c.s.mu.Unlock()
}

func (cs clientSession) GetLogLevel() mcp.LoggingLevel {
	if level := cs.c.logLevel(); level != "" {
		return level
	}
	return mcp.LoggingLevelError
}

func (cs clientSession) GetClientInfo() mcp.Implementation {
	if cs.c.modern {
		var info mcp.Implementation
		_ = json.Unmarshal(lookup(cs.c.meta, mcp.MetaKeyClientInfo), &info) // unknown stays empty
		return info
	}
	cs.c.s.mu.Lock()
	defer cs.c.s.mu.Unlock()
	return cs.c.s.info
}

func (cs clientSession) SetClientInfo(info mcp.Implementation) {
	if cs.c.modern {
		return
	}
	cs.c.s.mu.Lock()
	cs.c.s.info = info
	cs.c.s.mu.Unlock()
}

func (cs clientSession) GetClientCapabilities() mcp.ClientCapabilities {
	if cs.c.modern {
		var caps mcp.ClientCapabilities
		_ = json.Unmarshal(lookup(cs.c.meta, mcp.MetaKeyClientCapabilities), &caps) // mcp-go has refused what does not fit
		return caps
	}
	cs.c.s.mu.Lock()
	defer cs.c.s.mu.Unlock()
	return cs.c.s.typed
}

func (cs clientSession) SetClientCapabilities(caps mcp.ClientCapabilities) {
	if cs.c.modern {
		return
	}
	cs.c.s.mu.Lock()
	cs.c.s.typed = caps
	cs.c.s.mu.Unlock()
}

func (cs clientSession) ProtocolVersion() string { return cs.c.s.Version() }

func (cs clientSession) SetProtocolVersion(version string) {
	cs.c.s.mu.Lock()
	cs.c.s.version = version
	cs.c.s.mu.Unlock()
}

func (cs clientSession) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return cs.c.elicit(ctx, r.Params)
}

// NotificationChannel is for notifications that are sent through mcp-go. Only
// a call that uses it pays for the goroutine that reads it.
func (cs clientSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	cs.c.mu.Lock()
	defer cs.c.mu.Unlock()
	if cs.c.drained { // a handler's goroutine that outlived its call: nothing may follow the result
		return make(chan mcp.JSONRPCNotification, 1)
	}
	if cs.c.pump == nil {
		cs.c.pump = startPump(cs.c)
	}
	return cs.c.pump.in
}

// pump carries notifications from mcp-go's channel to the call's Sink.
type pump struct {
	in   chan mcp.JSONRPCNotification
	quit chan struct{}
	done chan struct{}
}

// pumpRoom is how many notifications may wait: mcp-go drops what finds no room.
const pumpRoom = 1024

func startPump(c *Call) *pump {
	p := &pump{make(chan mcp.JSONRPCNotification, pumpRoom), make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(p.done)
		for {
			select {
			case n := <-p.in:
				p.send(c, n)
			case <-p.quit:
				p.drain(c)
				return
			}
		}
	}()
	return p
}

func (p *pump) drain(c *Call) {
	for {
		select {
		case n := <-p.in:
			p.send(c, n)
		default:
			return
		}
	}
}

func (p *pump) send(c *Call, n mcp.JSONRPCNotification) {
	if frame, err := appendValue(nil, n); err == nil {
		c.put(frame, false)
	}
}

// closePump sends what is in mcp-go's channel and ends the pump, so that every
// notification of a call precedes its result.
func (c *Call) closePump() {
	c.mu.Lock()
	p := c.pump
	c.pump, c.drained = nil, true
	c.mu.Unlock()
	if p != nil {
		close(p.quit)
		<-p.done
	}
}

// remember keeps what initialize declares.
func (s *Session) remember(params json.RawMessage) {
	caps := lookup(params, "capabilities")
	if _, ok := members(caps); !ok {
		caps = json.RawMessage("{}")
	}
	s.mu.Lock()
	s.caps = caps
	s.mu.Unlock()
}

// params gives the parameters for mcp-go. Capabilities of a shape it cannot
// read would make it refuse the whole request; what they say is judged from
// the raw text, so that it can be given none.
func (c *Call) params() json.RawMessage {
	switch {
	case c.msg.Method == string(mcp.MethodInitialize) && c.msg.Params != nil:
		return readableCapabilities(c.msg.Params, "capabilities")
	case c.modern:
		meta := readableCapabilities(c.meta, mcp.MetaKeyClientCapabilities)
		if len(meta) == len(c.meta) {
			return c.msg.Params
		}
		return replace(c.msg.Params, "_meta", meta)
	}
	return c.msg.Params
}

// readableCapabilities gives object with its member key emptied when that is
// an object which does not decode as capabilities.
func readableCapabilities(object json.RawMessage, key string) json.RawMessage {
	caps := lookup(object, key)
	var typed mcp.ClientCapabilities
	if _, ok := members(caps); !ok || json.Unmarshal(caps, &typed) == nil {
		return object
	}
	return replace(object, key, json.RawMessage("{}"))
}

// replace gives object with another value for key.
func replace(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	list, _ := members(object)
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if m.key == key {
			m.value = value
		}
		out = append(append(appendString(out, m.key), ':'), m.value...)
	}
	return append(out, '}')
}
