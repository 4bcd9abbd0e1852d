package connector

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"skill-mcp/internal/secretscan"
)

// secretFlag is a flag whose value is a credential, with any prefix words:
// --my-api-key, -token, --client-secret. Words such as --tokenizer and --author
// do not match: the secret word is a whole segment.
var secretFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^--?([a-z0-9]+[-_])*(api[-_]?key|access[-_]?key|private[-_]?key|token|auth[-_]?token|access[-_]?token|` +
		`refresh[-_]?token|session[-_]?token|security[-_]?token|bearer[-_]?token|secret|client[-_]?secret|password|passwd|passphrase|pat|` +
		`credentials?|authorization|cookie|user)$`)
})

// secretHeader is a header whose value is a credential.
var secretHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(proxy-)?authorization$|^(set-)?cookie$|^(x-)?([a-z0-9]+-)*(api-?key|token|secret|password|credentials?|access-?key|auth)$`)
})

// secretArguments gives the indexes of arguments that carry a credential, in
// one piece or as the value that follows a flag.
func secretArguments(args []string) []int {
	var out []int
	add := func(i int) {
		if i < len(args) && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	for i, a := range args {
		flag, value, joined := cutFlag(a)
		switch {
		case secretscan.Value(a) || urlWithSecret(a) || (joined && urlWithSecret(value)):
			add(i)
		case secretFlag().MatchString(flag) && joined && value != "":
			add(i)
		case secretFlag().MatchString(flag) && !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			add(i + 1)
		case a == "-u" && i+1 < len(args) && strings.Contains(args[i+1], ":") && !urlLike(args[i+1]):
			add(i + 1)
		case strings.HasPrefix(a, "-u") && !strings.HasPrefix(a, "--") && strings.Contains(a[2:], ":"):
			add(i)
		case isHeaderFlag(flag) && joined:
			if headerSecret(value, args[i+1:]) {
				add(i)
			}
		case isHeaderFlag(a) && i+1 < len(args):
			if headerSecret(args[i+1], args[i+2:]) {
				add(i + 1)
			}
		}
	}
	slices.Sort(out)
	return out
}

// cutFlag splits --flag=value and --flag:value.
func cutFlag(a string) (flag, value string, joined bool) {
	if !strings.HasPrefix(a, "-") {
		return a, "", false
	}
	if i := strings.IndexAny(a, "=:"); i > 0 {
		return a[:i], a[i+1:], true
	}
	return a, "", false
}

func isHeaderFlag(a string) bool { return a == "--header" || a == "-H" }

// headerSecret reports whether a header, which may be spread over the
// following arguments, names a credential and gives it.
func headerSecret(header string, rest []string) bool {
	name, value, found := strings.Cut(header, ":")
	if !found && len(rest) > 0 && strings.HasPrefix(rest[0], ":") {
		value, found, rest = rest[0][1:], true, rest[1:]
	}
	if !found || !secretHeader().MatchString(strings.TrimSpace(name)) {
		return false
	}
	if strings.TrimSpace(value) != "" {
		return true
	}
	return len(rest) > 0 && !strings.HasPrefix(rest[0], "-")
}

func urlLike(s string) bool { return strings.Contains(s, "://") }

// urlWithSecret reports whether text is an address with credentials.
func urlWithSecret(s string) bool {
	if !urlLike(s) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && secretscan.URL(u) != secretscan.None
}
