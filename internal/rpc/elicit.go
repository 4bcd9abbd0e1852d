package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Actions of an ElicitationResult that no client can send: what a client
// answers other than accept, decline and cancel is ActionFailed.
const (
	// ActionUnanswered: the wait was over; the client was told that the prompt
	// is abandoned. Fall back to the form with a token.
	ActionUnanswered mcp.ElicitationResponseAction = "unanswered"
	// ActionFailed: the client answered with an error, or with something that
	// is not an answer, or hung up. Not confirmed.
	ActionFailed mcp.ElicitationResponseAction = "failed"
)

// answer is what came for a request this server sent.
type answer struct {
	result json.RawMessage
	failed bool
}

// deliver hands a response to who waits for it; late and unknown ones are swallowed.
func (s *Session) deliver(msg Message) {
	key := idKey(msg.ID)
	s.mu.Lock()
	ch := s.asked[key]
	delete(s.asked, key)
	s.mu.Unlock()
	if ch != nil {
		ch <- answer{msg.Result, msg.Fault != nil}
	}
}

// ask registers a request to the client. The channel has room for the answer,
// so that who delivers never waits; it is closed when the client hangs up.
func (s *Session) ask() (id int64, ch chan answer, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hungUp {
		return 0, nil, false
	}
	s.lastAsk++
	ch = make(chan answer, 1)
	s.asked[fmt.Sprintf("n%d", s.lastAsk)] = ch
	return s.lastAsk, ch, true
}

func (s *Session) forgetAsk(id int64) {
	s.mu.Lock()
	delete(s.asked, fmt.Sprintf("n%d", id))
	s.mu.Unlock()
}

// elicit asks the person at the client and waits for at most ElicitWait. The
// only error is the end of ctx.
func (c *Call) elicit(ctx context.Context, params mcp.ElicitationParams) (*mcp.ElicitationResult, error) {
	if c.oneWay {
		return elicited(ActionUnanswered, nil), nil
	}
	id, ch, open := c.s.ask()
	if !open {
		return elicited(ActionFailed, nil), nil
	}
	defer c.s.forgetAsk(id)
	frame, err := requestFrame(id, string(mcp.MethodElicitationCreate), params)
	if err != nil {
		return nil, err
	}
	c.put(frame, false)
	defer c.Heartbeat(c.waiting("waiting for confirmation"))()
	timer := time.NewTimer(c.s.d.cfg.ElicitWait)
	defer timer.Stop()
	select {
	case a, ok := <-ch:
		if !ok || a.failed {
			return elicited(ActionFailed, nil), nil
		}
		return readElicited(a.result), nil
	case <-timer.C:
		c.abandon(id, "no answer in time")
		return elicited(ActionUnanswered, nil), nil
	case <-ctx.Done():
		c.abandon(id, "the call was cancelled")
		return nil, fmt.Errorf("wait for confirmation: %w", ctx.Err())
	}
}

// waiting words the progress of a wait.
func (c *Call) waiting(what string) func() string {
	began := time.Now()
	return func() string { return fmt.Sprintf("%s, %d s", what, int(time.Since(began).Seconds())) }
}

// abandon tells the client that the answer is not awaited any more. It goes
// out even after the client cancelled the call: it belongs to the prompt, which
// would stay on the person's screen.
func (c *Call) abandon(id int64, reason string) {
	frame, err := notificationFrame(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": reason})
	if err == nil {
		c.out.Queue(frame, false)
		c.out.Wake()
	}
}

func elicited(action mcp.ElicitationResponseAction, content any) *mcp.ElicitationResult {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: action, Content: content}}
}

func readElicited(raw json.RawMessage) *mcp.ElicitationResult {
	var result struct {
		Action  mcp.ElicitationResponseAction `json:"action"`
		Content any                           `json:"content"`
	}
	list, _ := members(raw)
	if checkKeys(list, []string{"action", "content"}) != nil || checkDeep(raw) != nil || json.Unmarshal(raw, &result) != nil {
		return elicited(ActionFailed, nil)
	}
	switch result.Action {
	case mcp.ElicitationResponseActionAccept, mcp.ElicitationResponseActionDecline, mcp.ElicitationResponseActionCancel:
		return elicited(result.Action, result.Content)
	}
	return elicited(ActionFailed, nil)
}
