package httpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// access decides who may speak to the endpoint. Pure: headers in, verdict out.
type access struct {
	loopback bool     // bound to a loopback address
	hosts    []string // names the server is known by, lower case, without port
	origins  []string // origins that may call besides those of such names
	token    []byte   // sha256 of the bearer token; nil: none is needed
}

// refusal is an HTTP status and what to say with it.
type refusal struct {
	status int
	text   string
}

// check judges a request by its headers alone. nil lets it in.
func (a access) check(r *http.Request) *refusal {
	host := hostOnly(r.Host)
	if !a.knows(host) {
		return &refusal{http.StatusForbidden, fmt.Sprintf("the Host %q is not one this server is known by", r.Host)}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !a.friendly(origin, host) {
			return &refusal{http.StatusForbidden, fmt.Sprintf("the Origin %q may not use this server", origin)}
		}
	}
	if a.token == nil {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	// The name of a scheme is the same in any case (RFC 9110, 11.1).
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], a.token) != 1 {
		return &refusal{http.StatusUnauthorized, "a bearer token is needed: the one in the file the server was started with"}
	}
	return nil
}

// knows reports whether host is a name of this server. A page whose own name
// was made to resolve to a loopback address (DNS rebinding) sends that name
// here. A server that is reached over a network and was given no names accepts
// any: there the token is what such a page does not have.
func (a access) knows(host string) bool {
	if isLoopbackName(host) {
		return true
	}
	for _, name := range a.hosts {
		if strings.EqualFold(name, host) {
			return true
		}
	}
	return !a.loopback && len(a.hosts) == 0
}

// friendly reports whether a page of this origin may call: one of this machine
// when only this machine is served, or one that the server's own name has.
func (a access) friendly(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return false
	}
	name := u.Hostname()
	for _, known := range a.origins {
		if strings.EqualFold(strings.TrimSuffix(known, "/"), origin) || strings.EqualFold(known, name) {
			return true
		}
	}
	if a.loopback && isLoopbackName(name) {
		return true
	}
	for _, known := range a.hosts {
		if strings.EqualFold(known, name) {
			return true
		}
	}
	return !a.loopback && strings.EqualFold(name, host)
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

const (
	minToken = 16   // characters: 128 bits in hex have 32, a word has less
	maxToken = 4096 // bytes: a header line has to hold it
)

// ReadToken reads a bearer token from a file: one line, at least 16 characters.
// The file must be a regular one that nobody but its owner may read.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the bearer token: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the bearer token: %w", err)
	}
	if !info.Mode().IsRegular() || !private(info) {
		return "", fmt.Errorf("read the bearer token %s: it must be a regular file that only its owner can read: chmod 600 it", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read the bearer token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || len(text) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("read the bearer token %s: it must be one line of %d to %d printable ASCII characters without blanks",
			path, minToken, maxToken)
	}
	return token, nil
}

// ErrOpenToAll is what Listen returns for an address that others can reach when
// there is no token.
var ErrOpenToAll = errors.New("the address is not a loopback one and there is no bearer token: give a token file, or bind 127.0.0.1")

// Listen binds address ("127.0.0.1:8123"; port 0 takes a free one). Anything but
// a loopback address needs a token: whoever reaches the port can have scripts run.
func Listen(address, token string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	if token == "" && !isLoopbackName(host) {
		return nil, fmt.Errorf("listen on %s: %w", address, ErrOpenToAll)
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	// What the name stood for is judged again: localhost is what a hosts file says.
	if addr, ok := ln.Addr().(*net.TCPAddr); token == "" && (!ok || !addr.IP.IsLoopback()) {
		_ = ln.Close()
		return nil, fmt.Errorf("listen on %s: %w", address, ErrOpenToAll)
	}
	return ln, nil
}
