package mcpserver

import (
	"regexp"
	"sync"
)

// redacted stands for a secret in an error text.
const redacted = "[REDACTED]"

// secretName is a name whose value lets somebody in, in any of the ways that
// parameters, members and headers are written.
const secretName = `(?:[\w-]*(?:token|secret|passw(?:or)?d|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|signature|credentials?|authorization|cookie|session[-_]?id)|auth|jwt|key|pwd|sig)`

// secrets are shapes of credentials that an operating system's or a monitor's
// error text could carry, and what each becomes. The order matters: what a
// header or a member holds goes as a whole before shapes are looked for in it.
var secrets = sync.OnceValue(func() []secret {
	shape := func(pattern, to string) secret { return secret{regexp.MustCompile(pattern), to} }
	return []secret{
		shape(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`, redacted),
		// A member of JSON, also of JSON within a string, also one that was cut.
		shape(`(?i)(\\?"`+secretName+`\\?"\s*:\s*\\?")(?:[^"\\]|\\[^"]|\\"[^,}\s])*`, "${1}"+redacted),
		shape(`(?i)\b((?:set-cookie|cookie|authorization|(?:x-)?(?:api-key|auth-token|amz-security-token|csrf-token))\s*[:=]\s*)[^\r\n"]+`, "${1}"+redacted),
		shape(`(?i)([?&#;]`+secretName+`=)[^&#;\s"'<>]+`, "${1}"+redacted),
		shape(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`, "${1}"+redacted),
		shape(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}`, redacted),
		shape(`\b(?:sk|pk|rk)[-_](?:live[-_]|test[-_]|ant[-_]|proj[-_])?[A-Za-z0-9_-]{16,}`, redacted),
		shape(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_|dop_v1_|AIza|ya29\.)[A-Za-z0-9_.-]{10,}`, redacted),
		shape(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, redacted),
		shape(`(://[^/\s:@]*:)[^/\s@]+@`, "${1}"+redacted+"@"),
	}
})

// secret is one shape.
type secret struct {
	shape *regexp.Regexp
	to    string
}

// redact removes what looks like a credential from an error text. Results and
// the output of scripts are never touched: they are what was asked for.
func redact(text string) string {
	for _, s := range secrets() {
		text = s.shape.ReplaceAllString(text, s.to)
	}
	return text
}
