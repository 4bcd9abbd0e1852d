package rpc

import (
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Support says whether the client can be asked something.
type Support int

// What is known of a client.
const (
	// Unknown: the client declared nothing at all (no initialize, no _meta).
	Unknown Support = iota
	// Absent: it declared its capabilities and this is not among them.
	Absent
	// Declared: it can be asked.
	Declared
)

// Elicitation says whether the client that sent this request shows forms: from
// the capabilities in the request itself since 2026-07-28, before that from
// initialize. An elicitation capability that names modes counts only when form
// is among them.
func (c *Call) Elicitation() Support {
	if c == nil {
		return Unknown
	}
	if c.oneWay && !c.modern { // since 2026-07-28 the question is the answer
		return Absent
	}
	caps := c.capabilities()
	if caps == nil {
		return Unknown
	}
	modes, ok := members(lookup(caps, "elicitation"))
	if !ok {
		return Absent
	}
	named := false
	for _, m := range modes {
		switch m.key {
		case "form":
			return Declared
		case "url":
			named = true
		}
	}
	if named {
		return Absent
	}
	return Declared
}

// OneWay notes that nothing but the answer reaches the client, so that it is
// asked nothing before. Precondition: the call does not run yet.
func (c *Call) OneWay() { c.oneWay = true }

// capabilities gives what the client declared for this request, or nil.
func (c *Call) capabilities() json.RawMessage {
	if c.modern {
		return lookup(c.meta, mcp.MetaKeyClientCapabilities)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.caps
}

// Method is the request's method.
func (c *Call) Method() string {
	if c == nil {
		return ""
	}
	return c.msg.Method
}

// WantsProgress reports whether the client gave a progress token.
func (c *Call) WantsProgress() bool { return c != nil && c.token != nil }

// Progress sends one progress line with the client's token, or nothing when it
// gave none. The value is the time since the request came, in seconds, and is
// always greater than the one before. It never waits for the client.
func (c *Call) Progress(message string) {
	if !c.WantsProgress() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return
	}
	value := float64(time.Since(c.started).Milliseconds()) / 1000
	if value <= c.progress {
		value = c.progress + 0.001
	}
	c.progress = value
	frame, err := notificationFrame("notifications/progress", progressParams{c.token, value, message})
	if err == nil {
		c.out.Queue(frame, true)
		c.out.Wake()
	}
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Message  string          `json:"message,omitempty"`
}

// Heartbeat sends a progress line now and then every Config.Heartbeat with what
// message returns, until stop is called. message runs on another goroutine.
func (c *Call) Heartbeat(message func() string) (stop func()) {
	if !c.WantsProgress() {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(c.s.d.cfg.Heartbeat)
		defer tick.Stop()
		for {
			c.Progress(message())
			select {
			case <-tick.C:
			case <-quit:
				return
			case <-c.ctx.Done():
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// Notify sends a notification that belongs to this call. It never waits for
// the client.
func (c *Call) Notify(method string, params any) error {
	if c == nil {
		return nil
	}
	frame, err := notificationFrame(method, params)
	if err != nil {
		return err
	}
	c.put(frame, false)
	return nil
}

// Log sends notifications/message when the client asked for this level: by
// logging/setLevel before 2026-07-28 (which is needed), by _meta since then.
func (c *Call) Log(level mcp.LoggingLevel, logger string, data any) {
	if c == nil {
		return
	}
	wanted := c.logLevel()
	if wanted == "" || !level.ShouldSendTo(wanted) {
		return
	}
	frame, err := notificationFrame("notifications/message", map[string]any{"level": level, "logger": logger, "data": data})
	if err == nil {
		c.put(frame, true)
	}
}

func (c *Call) logLevel() mcp.LoggingLevel {
	if c.modern {
		return mcp.LoggingLevel(unquote(lookup(c.meta, mcp.MetaKeyLogLevel)))
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.level
}
