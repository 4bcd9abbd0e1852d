// Package secretscan recognises text that is, or would carry, a credential:
// query keys, URLs with user information, and values of well-known shapes.
//
// It never repeats what it found: a caller says where it was. Anything that
// reads or writes documents which must not hold secrets uses it.
package secretscan

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// queryKeys are the names of URL parameters that carry credentials, lower case
// and without anything but letters and digits (specification of packages, 6.3).
var queryKeys = map[string]bool{
	"accesstoken": true, "apikey": true, "auth": true, "authorization": true, "clientassertion": true,
	"clientsecret": true, "code": true, "credential": true, "credentials": true, "idtoken": true, "jwt": true,
	"key": true, "passwd": true, "password": true, "refreshtoken": true, "secret": true, "token": true,
	"tokenkey": true, "apitoken": true, "authtoken": true, "bearertoken": true, "privatekey": true,
	"securitytoken": true, "sessiontoken": true, "signature": true, "xapikey": true,
}

// shapes are values that are credentials wherever they stand.
var shapes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`),                        // JWT
		regexp.MustCompile(`(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{8,}`),                                            // Authorization value
		regexp.MustCompile(`\b(ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}`),          // GitHub
		regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}|\bxox[abprs]-[A-Za-z0-9-]{8,}|\bglpat-[A-Za-z0-9_-]{12,}`), // OpenAI and alike, Slack, GitLab
		regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`),                                                      // AWS key id
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`),
	}
})

// Value reports whether text holds something of the shape of a credential.
func Value(text string) bool {
	for _, s := range shapes() {
		if s.MatchString(text) {
			return true
		}
	}
	return false
}

// QueryKey reports whether a URL parameter of this name carries a credential.
func QueryKey(key string) bool {
	return queryKeys[strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, key)]
}

// Fault says what is wrong with a URL.
type Fault int

// The faults of [URL].
const (
	None        Fault = iota
	Credentials       // user information before the host
	Secret            // a parameter, or a value, that is a credential
)

// URL looks for credentials in an absolute URL: user information, parameters
// of the query and of the fragment, and values of known shapes. Both & and ;
// separate parameters, since servers differ.
func URL(u *url.URL) Fault {
	if u.User != nil {
		return Credentials
	}
	for _, part := range []string{u.RawQuery, u.EscapedFragment()} {
		for _, p := range strings.FieldsFunc(part, func(r rune) bool { return r == '&' || r == ';' }) {
			key, _, _ := strings.Cut(p, "=")
			if k, err := url.QueryUnescape(key); err == nil {
				key = k
			}
			if QueryKey(key) {
				return Secret
			}
		}
	}
	text := u.String()
	if plain, err := url.PathUnescape(text); err == nil {
		text += "\n" + plain
	}
	if Value(text) {
		return Secret
	}
	return None
}
