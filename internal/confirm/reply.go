package confirm

import (
	"fmt"
	"time"
)

// Preview is what would happen, without doing it.
type Preview struct {
	DryRun  bool   `json:"dryRun"`
	WillRun any    `json:"willRun"`
	Note    string `json:"note"`
}

// offered is the part that every answer with a token ends in.
type offered struct {
	Action       string  `json:"action"`
	Preview      Preview `json:"preview"`
	ConfirmToken string  `json:"confirmToken"`
	ExpiresAt    string  `json:"expiresAt"` // ISO 8601, milliseconds, Z
	TTLSeconds   int64   `json:"ttlSeconds"`
	Instruction  string  `json:"instruction"`
}

// head begins every answer of the token rail.
type head struct {
	Status     string `json:"status"`
	Confirmed  bool   `json:"confirmed"`
	Dispatched bool   `json:"dispatched"`
}

// Reply is one answer of the gate: its JSON, indented by two blanks, and
// whether it is an error for the client.
type Reply struct {
	Text    string
	IsError bool
}

// isoMillis is how the contract writes a time.
const isoMillis = "2006-01-02T15:04:05.000Z"

// Required answers a call that needs approval: preview and token. unanswered
// says that a prompt was shown and nobody answered it.
func (g *Gate) Required(c Call, p Preview, unanswered bool) (Reply, error) {
	o, err := g.offer(c, p, unanswered)
	if err != nil {
		return Reply{}, err
	}
	return reply(false, struct {
		head
		offered
	}{head{Status: "confirmation-required"}, o})
}

// offer issues a token and the words that go with it.
func (g *Gate) offer(c Call, p Preview, unanswered bool) (offered, error) {
	t, err := g.Offer(c, unanswered)
	if err != nil {
		return offered{}, err
	}
	words := instruction(g.settings.Mode)
	if unanswered {
		words = "Nobody answered the prompt in time. " + words
	}
	return offered{
		Action: c.Action, Preview: p, ConfirmToken: t.Token,
		ExpiresAt: t.Expires.UTC().Format(isoMillis), TTLSeconds: int64(t.TTL / time.Second),
		Instruction: words,
	}, nil
}

// instruction tells the model what to do with the token.
func instruction(m Mode) string {
	if m == Auto {
		return "Nothing has been done. Review the preview; to go ahead, call again with the same arguments plus this confirmToken. " +
			"The user's approval is not required, because the owner set MCP_CONFIRM_MODE=auto."
	}
	return "Nothing has been done. Show the preview to the user verbatim. Only after the user has explicitly approved it in the chat, " +
		"call again with the same arguments plus this confirmToken."
}

// Rejected answers a call whose token was not accepted. After
// [DraftChanged] the answer has a fresh preview and token for what would happen
// now; the token that was sent stays valid for its own arguments.
// unanswered is as for [Gate.Required].
func (g *Gate) Rejected(code Code, c Call, p Preview, unanswered bool) (Reply, error) {
	h := head{Status: "confirmation-rejected"}
	if code != DraftChanged {
		return reply(true, struct {
			head
			Error  Code   `json:"error"`
			Action string `json:"action"`
			Note   string `json:"note"`
		}{h, code, c.Action, rejectionNote(code)})
	}
	o, err := g.offer(c, p, unanswered)
	if err != nil {
		return Reply{}, err
	}
	return reply(true, struct {
		head
		Error  Code   `json:"error"`
		Reason string `json:"reason"`
		Note   string `json:"note"`
		offered
	}{h, code, "payload-changed", rejectionNote(code), o})
}

// rejectionNote says what a code means and what to do.
func rejectionNote(code Code) string {
	switch code {
	case TokenExpired:
		return "The approval is too old. Nothing ran. Call again without confirmToken to get a fresh preview and token."
	case TokenReused:
		return "This approval was already used; one approval acts once. Nothing ran. Call again without confirmToken to get a fresh preview and token."
	case DraftChanged:
		return "What would happen now is not what was approved: the script, its arguments, its variables or the files of the skill differ. " +
			"Nothing ran. Review the fresh preview; its token is for this call."
	}
	return "This server did not issue the token for this tool, or it was restarted since. Nothing ran. Call again without confirmToken to get a fresh preview and token."
}

// Refused answers a call of a client that cannot be prompted when no token may
// be used. It is not an error: nothing is wrong with the call.
func (s Settings) Refused(action string) (Reply, error) {
	note := "This client did not declare that it can show a prompt (elicitation), and without a prompt this action is never taken. Nothing ran."
	hint := "The owner of this server can set MCP_CONFIRM_MODE=ask-user to allow a preview and a token instead of a prompt."
	if !s.Prompts {
		note = "Prompts are turned off on this server (MCP_CONFIRM_ELICITATION=off), and without a prompt this action is never taken. Nothing ran."
		hint = "The owner of this server can remove MCP_CONFIRM_ELICITATION=off, or set MCP_CONFIRM_MODE=ask-user to allow a preview and a token."
	}
	if s.Mode != Refuse && s.TTL <= 0 {
		hint = "The owner of this server must fix MCP_CONFIRM_TTL_SECONDS: it has to be a whole number of seconds above 0."
		if !s.Prompts {
			hint += " Prompts are off because of MCP_CONFIRM_ELICITATION=off."
		}
	}
	return reply(false, struct {
		Confirmed  bool   `json:"confirmed"`
		Dispatched bool   `json:"dispatched"`
		Action     string `json:"action"`
		Reason     string `json:"reason"`
		Note       string `json:"note"`
		Hint       string `json:"hint"`
	}{Action: action, Reason: "confirmation-unsupported", Note: note, Hint: hint})
}

// Declined answers a call that the person did not approve in the prompt.
func Declined(action string) (Reply, error) {
	return reply(false, struct {
		Confirmed bool   `json:"confirmed"`
		Cancelled bool   `json:"cancelled"`
		Action    string `json:"action"`
		Note      string `json:"note"`
	}{Cancelled: true, Action: action, Note: "Nothing was changed: the prompt was declined, cancelled, or its box was not ticked."})
}

func reply(isError bool, v any) (Reply, error) {
	text, err := prettyJSON(v)
	if err != nil {
		return Reply{}, fmt.Errorf("write the confirmation answer: %w", err)
	}
	return Reply{Text: string(text), IsError: isError}, nil
}
