package mcpserver

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"skill-mcp/internal/audit"
	"skill-mcp/internal/confirm"
	"skill-mcp/internal/report"
	"skill-mcp/internal/rpc"
)

// confirmationKey names the one request in an input-required result.
const confirmationKey = "confirmation"

// approve finds out whether a person approved p. It gives an approval that is
// not yet spent, or the answer to send in its place.
//
// The handler is written for clients that retry with the answer; for older
// ones mcp-go sends elicitation/create and calls the handler again, so the
// whole plan has been made anew by the time an answer is looked at.
func (s *Server) approve(ctx context.Context, r mcp.CallToolRequest, in runInput, p *planned) (confirm.Approval, *mcp.CallToolResult, error) {
	if p.will.Fence.Row(report.NSMount).Got != report.Enforced {
		s.deps.Gate.Doubt() // nothing hides the folder of spent approvals from runs here
	}
	call := rpc.FromContext(ctx)
	// A client of which nothing is known is not asked: it might never answer.
	rail := s.deps.Gate.Settings().Rail(call.Elicitation() == rpc.Declared)
	unanswered := rail == confirm.RailPrompt && in.token != "" && s.deps.Gate.AfterPrompt(in.token)
	if p.rail = audit.Token; rail == confirm.RailPrompt && !unanswered {
		p.rail = audit.Prompt
		answer := server.ElicitationResponse(r.Params.InputResponses, confirmationKey)
		_, answered := r.Params.InputResponses[confirmationKey]
		switch {
		case !answered:
			s.note(p, audit.Entry{Event: audit.Preview})
			return s.ask(p)
		case answer == nil || answer.Action != rpc.ActionUnanswered || call.Modern():
			return s.answered(r.Params.RequestState, answer, p)
		}
		// Nobody answered in time: the form with a token, if it is allowed.
		unanswered, in.token, p.rail = true, "", audit.Token
	}
	if unanswered {
		rail = s.deps.Gate.Settings().Fallback()
	}
	if rail != confirm.RailToken {
		s.note(p, audit.Entry{Event: audit.Refusal, Reason: "confirmation-unsupported"})
		reply, err := s.deps.Gate.Settings().Refused(p.call.Action)
		return confirm.Approval{}, gateResult(reply), err
	}
	if in.token == "" {
		s.note(p, audit.Entry{Event: audit.Preview})
		reply, err := s.deps.Gate.Required(p.call, p.preview(), unanswered)
		return confirm.Approval{}, gateResult(reply), err
	}
	a, err := s.deps.Gate.CheckToken(in.token, p.call)
	if err != nil {
		answer, err := s.rejected(err, p, unanswered)
		return confirm.Approval{}, answer, err
	}
	return a, nil, nil
}

// ask asks the client to show the prompt.
func (s *Server) ask(p *planned) (confirm.Approval, *mcp.CallToolResult, error) {
	text, err := p.prompt().Text()
	if err != nil {
		return confirm.Approval{}, nil, err
	}
	state, err := s.deps.Gate.Seal(p.call)
	if err != nil {
		return confirm.Approval{}, nil, err
	}
	params := mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: text, RequestedSchema: confirm.Schema()}
	return confirm.Approval{}, server.NewInputRequestBuilder(state).Elicit(confirmationKey, params).ToolResult(), nil
}

// answered judges what the person said. Only accept with the box ticked is a
// yes; everything else, errors and unknown actions included, is a no.
func (s *Server) answered(rawState string, answer *mcp.ElicitationResult, p *planned) (confirm.Approval, *mcp.CallToolResult, error) {
	yes := answer != nil && answer.Action == mcp.ElicitationResponseActionAccept && confirm.Confirmed(answer.Content)
	if rawState == "" && !yes {
		return s.declined(p)
	}
	if rawState == "" {
		return confirm.Approval{}, failure("requestState was not round-tripped: an answer to a prompt counts only with the state that came with it",
			"send the call again without inputResponses to get a fresh prompt"), nil
	}
	a, err := s.deps.Gate.CheckState(rawState, p.call)
	if _, rejected := confirm.Rejected(err); err != nil && !rejected {
		return confirm.Approval{}, nil, err
	}
	if yes && err != nil {
		s.note(p, audit.Entry{Event: audit.Preview})
		return s.ask(p) // the answer was for something else, or too old
	}
	if yes {
		return a, nil, nil
	}
	if err == nil {
		// A no is final: the state must not come back with a yes.
		if err := s.deps.Gate.Spend(a); err != nil {
			if _, rejected := confirm.Rejected(err); !rejected {
				return confirm.Approval{}, nil, err
			}
		}
	}
	return s.declined(p)
}

// declined answers that the person said no. It is no error.
func (s *Server) declined(p *planned) (confirm.Approval, *mcp.CallToolResult, error) {
	s.note(p, audit.Entry{Event: audit.Refusal, Reason: "declined"})
	reply, err := confirm.Declined(p.call.Action)
	return confirm.Approval{}, gateResult(reply), err
}

// rejected answers with why an approval was not accepted; an error that is no
// rejection means that the store could not answer, and nothing runs.
func (s *Server) rejected(err error, p *planned, unanswered bool) (*mcp.CallToolResult, error) {
	code, ok := confirm.Rejected(err)
	if !ok {
		return nil, errors.Join(errStore, err)
	}
	s.note(p, audit.Entry{Event: audit.Refusal, Reason: string(code)})
	reply, err := s.deps.Gate.Rejected(code, p.call, p.preview(), unanswered)
	if err != nil {
		return nil, err
	}
	return gateResult(reply), nil
}

// errStore explains a store that cannot answer.
var errStore = errors.New("nothing ran: it cannot be told whether this approval was used before")
