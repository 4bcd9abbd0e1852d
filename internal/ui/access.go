package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// NewToken makes the secret of an address: 32 random bytes as 43 characters
// that a URL takes as they are.
func NewToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// errNotLoopback: the page says what a machine holds and has nothing but its
// token between it and a reader.
var errNotLoopback = errors.New("serve the page: only on a loopback address")

// access decides who gets the page. Pure: a request in, a refusal out.
type access struct {
	hosts []string // Host headers that mean this page, with port
	token [sha256.Size]byte
}

// newAccess knows the page by its numeric address and by localhost, which is
// what a tunnel to the same port is called by. An address that others can reach
// is refused.
func newAccess(addr net.Addr, token string) (access, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return access{}, fmt.Errorf("%w, not %s", errNotLoopback, addr)
	}
	return access{
		token: sha256.Sum256([]byte(token)),
		hosts: []string{addr.String(), net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))},
	}, nil
}

// refusal is an HTTP status with a sentence.
type refusal struct {
	status int
	text   string
}

// check judges a request; nil lets it in. The token stands in the path: a
// cookie would be sent to every port of this machine, and a header is not what
// a browser's address line can send.
func (a access) check(r *http.Request) *refusal {
	if !a.knows(r.Host) {
		// A page whose own name was made to resolve to a loopback address (DNS
		// rebinding) sends that name here.
		return &refusal{http.StatusForbidden, fmt.Sprintf("the Host %q is not this page's; use the address that skill-mcp printed", r.Host)}
	}
	for _, origin := range r.Header.Values("Origin") {
		if host, ok := strings.CutPrefix(strings.ToLower(origin), "http://"); !ok || !a.knows(host) {
			return &refusal{http.StatusForbidden, fmt.Sprintf("the Origin %q may not read this page", origin)}
		}
	}
	given := sha256.Sum256([]byte(strings.Trim(r.URL.Path, "/")))
	if subtle.ConstantTimeCompare(given[:], a.token[:]) != 1 {
		return &refusal{http.StatusForbidden, "the token is missing or wrong; use the whole address that skill-mcp printed"}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &refusal{http.StatusMethodNotAllowed, "this page is for reading: GET and HEAD"}
	}
	return nil
}

// knows reports whether a Host header means this page.
func (a access) knows(host string) bool {
	for _, h := range a.hosts {
		if strings.EqualFold(h, host) {
			return true
		}
	}
	return false
}
