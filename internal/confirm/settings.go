package confirm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"skill-mcp/internal/config"
)

// Mode says what happens for a client that cannot show a prompt.
type Mode string

// The modes of MCP_CONFIRM_MODE. The zero value refuses.
const (
	Refuse  Mode = "refuse"   // nothing runs without a prompt
	AskUser Mode = "ask-user" // preview and token; the model asks the person
	Auto    Mode = "auto"     // preview and token; the model decides
)

// Settings are the owner's choices for the gate. The zero value refuses every
// call that cannot be prompted and prompts nobody.
type Settings struct {
	Mode    Mode          `json:"mode"`
	Prompts bool          `json:"prompts"` // false: MCP_CONFIRM_ELICITATION=off
	TTL     time.Duration `json:"ttl"`     // life of a token; 0: the variable is unusable, so no tokens
	Wait    time.Duration `json:"wait"`    // bound on waiting for a person's answer
}

const (
	defaultTTL = 600 * time.Second
	// maxTTL keeps the expiry inside the range of a date: 31 years.
	maxTTL = 999_999_999 * time.Second
	// defaultWait: official clients give up on a call after 60 to 300 seconds;
	// an answer that nobody will read must not hold the call for ever.
	defaultWait = 120 * time.Second
	// maxWait is an hour: a prompt that old was forgotten.
	maxWait = time.Hour
)

// The owner's variables, for messages.
const (
	varMode        = "MCP_CONFIRM_MODE"
	varElicitation = "MCP_CONFIRM_ELICITATION"
	varTTL         = "MCP_CONFIRM_TTL_SECONDS"
	varWait        = "MCP_CONFIRM_WAIT_SECONDS"
)

var positive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]*$`) })

// ReadSettings gives the owner's texts their meaning; blank means unset. Every
// text that cannot be used gives one warning, a line for the log, and the safe
// reading: an unknown mode refuses, an unusable lifetime means no tokens.
func ReadSettings(c config.Confirm) (s Settings, warnings []string) {
	warn := func(format string, a ...any) { warnings = append(warnings, fmt.Sprintf(format, a...)) }
	s = Settings{Mode: AskUser, Prompts: true, TTL: defaultTTL, Wait: defaultWait}
	switch m := Mode(strings.ToLower(c.Mode)); m {
	case "":
	case AskUser, Auto, Refuse:
		s.Mode = m
	default:
		s.Mode = Refuse
		warn("%s=%q is not ask-user, auto or refuse: runs are refused for clients that cannot be prompted", varMode, c.Mode)
	}
	switch strings.ToLower(c.Elicitation) {
	case "", "on":
	case "off":
		s.Prompts = false
	default:
		warn("%s=%q is not on or off: prompts stay on", varElicitation, c.Elicitation)
	}
	var ok bool
	if c.TTL != "" {
		if s.TTL, ok = seconds(c.TTL); !ok {
			warn("%s=%q is not a whole number of seconds above 0: confirmation by token is unavailable", varTTL, c.TTL)
		} else if s.TTL > maxTTL {
			s.TTL = maxTTL
			warn("%s=%q is longer than an approval can last: %d is used", varTTL, c.TTL, int(maxTTL.Seconds()))
		}
	}
	if c.Wait != "" {
		if s.Wait, ok = seconds(c.Wait); !ok || s.Wait > maxWait {
			s.Wait = defaultWait
			warn("%s=%q is not a whole number of seconds from 1 to %d: %d is used", varWait, c.Wait, int(maxWait.Seconds()), int(defaultWait.Seconds()))
		}
	}
	return s, warnings
}

// seconds reads a positive decimal number of seconds. One that is longer than
// maxTTL, however long, is given as a second more than that.
func seconds(text string) (time.Duration, bool) {
	if !positive().MatchString(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if most := int64(maxTTL / time.Second); err != nil || n > most {
		n = most + 1
	}
	return time.Duration(n) * time.Second, true
}

// Rail is the way one call is confirmed.
type Rail int

// The rails. The zero value refuses.
const (
	RailRefuse Rail = iota // no way to confirm: the call is refused
	RailPrompt             // the client shows the prompt
	RailToken              // preview first, then the same call with the token
)

// Rail chooses for one call. canPrompt says that the client of this very call
// declared that it can show a form.
func (s Settings) Rail(canPrompt bool) Rail {
	if canPrompt && s.Prompts {
		return RailPrompt
	}
	return s.Fallback()
}

// Fallback is the rail of a call that is not or could not be prompted.
func (s Settings) Fallback() Rail {
	if (s.Mode == AskUser || s.Mode == Auto) && s.TTL > 0 {
		return RailToken
	}
	return RailRefuse
}
