package mcpserver

import (
	"regexp"
	"sync"
)

// redacted stands for a secret in an error text.
const redacted = "[REDACTED]"

// secrets are shapes of credentials that an operating system's or a monitor's
// error text could carry. Group 1, when there is one, is kept.
var secrets = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`),
		regexp.MustCompile(`(?i)\b((?:set-cookie|cookie|authorization|x-api-key)\s*[:=]\s*)[^\r\n]+`),
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}`),
		regexp.MustCompile(`\b(?:sk|pk|rk)[-_](?:live[-_]|test[-_]|ant[-_]|proj[-_])?[A-Za-z0-9_-]{16,}`),
		regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_|AIza|ya29\.)[A-Za-z0-9_.-]{10,}`),
		regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`),
		regexp.MustCompile(`(?i)([?&](?:access_token|api[-_]?key|auth|client_secret|key|password|secret|sig|signature|token)=)[^&\s"'#]+`),
		regexp.MustCompile(`(?i)("(?:access_?token|api_?key|auth|client_?secret|password|passwd|private_?key|refresh_?token|secret|token)"\s*:\s*)"(?:[^"\\]|\\.)*"`),
		regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+(?:@)`),
	}
})

// redact removes what looks like a credential from an error text. Results and
// the output of scripts are never touched: they are what was asked for.
func redact(text string) string {
	for i, re := range secrets() {
		to := redacted
		if re.NumSubexp() == 1 {
			to = "${1}" + redacted
		}
		if i == len(secrets())-1 {
			to += "@"
		}
		text = re.ReplaceAllString(text, to)
	}
	return text
}
