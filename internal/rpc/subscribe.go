package rpc

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// listen serves subscriptions/listen (2026-07-28): it says which of the wanted
// notifications will come, then stays open until the client cancels it or the
// session ends. Every message of the stream names the request's id.
func (c *Call) listen() (result any, extra string, fault *Error) {
	var want struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if c.msg.Params != nil {
		if err := json.Unmarshal(c.msg.Params, &want); err != nil {
			return nil, "", Errorf(CodeInvalidParams, "read params.notifications: %v", err)
		}
	}
	granted := both(want.Notifications, c.s.d.lists())
	frame, err := notificationFrame(mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{
		"_meta":         c.subscriptionMeta(),
		"notifications": granted,
	})
	if err != nil {
		return nil, "", asError(err)
	}
	c.mu.Lock()
	if !c.silent {
		c.out.Queue(frame, false)
		c.filter = granted
	}
	c.mu.Unlock()
	c.out.Wake()
	if !granted.IsEmpty() {
		<-c.ctx.Done()
	}
	done := map[string]any{"_meta": c.subscriptionMeta(), "resultType": mcp.ResultTypeComplete}
	return done, "", nil
}

func (c *Call) subscriptionMeta() map[string]any {
	return map[string]any{mcp.MetaKeySubscriptionID: c.msg.ID, mcp.MetaKeyServerInfo: c.s.d.cfg.Identity}
}

func both(a, b mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{
		ToolsListChanged:     a.ToolsListChanged && b.ToolsListChanged,
		PromptsListChanged:   a.PromptsListChanged && b.PromptsListChanged,
		ResourcesListChanged: a.ResourcesListChanged && b.ResourcesListChanged,
	}
}

// announce tells this session's client what changed: a client of the old era
// once, and each listening call what it asked for.
func (s *Session) announce(changed mcp.SubscriptionFilter) {
	s.mu.Lock()
	out, old := s.out, s.opened && !s.hungUp
	var streams []*Call
	for _, c := range s.calls {
		if c.listens {
			streams = append(streams, c)
		}
	}
	s.mu.Unlock()
	if old && out != nil {
		for _, method := range methodsOf(both(changed, s.d.lists())) {
			if frame, err := notificationFrame(method, nil); err == nil {
				out.Queue(frame, false)
			}
		}
		out.Wake()
	}
	for _, c := range streams {
		c.announce(changed)
	}
}

func (c *Call) announce(changed mcp.SubscriptionFilter) {
	c.mu.Lock()
	granted := c.filter
	c.mu.Unlock()
	for _, method := range methodsOf(both(changed, granted)) {
		if frame, err := notificationFrame(method, map[string]any{"_meta": c.subscriptionMeta()}); err == nil {
			c.put(frame, false)
		}
	}
}

func methodsOf(f mcp.SubscriptionFilter) (list []string) {
	if f.ToolsListChanged {
		list = append(list, mcp.MethodNotificationToolsListChanged)
	}
	if f.PromptsListChanged {
		list = append(list, mcp.MethodNotificationPromptsListChanged)
	}
	if f.ResourcesListChanged {
		list = append(list, mcp.MethodNotificationResourcesListChanged)
	}
	return list
}
