package egress

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"skill-mcp/internal/egresswire"
)

// maxHead is the longest head of a request, in bytes: what node's own server
// accepts, four times over.
const maxHead = 64 << 10

var errHeadTooLong = errors.New("read request: head is too long")

// proxyRequest is a request to the proxy.
type proxyRequest struct {
	connect bool
	host    string // canonical name or address
	port    uint16
	forward string // the head to send on; empty for CONNECT
}

// readRequestHead reads up to and with the empty line, and returns what came
// with it.
func readRequestHead(r io.Reader) (head, rest []byte, err error) {
	var b []byte
	piece := make([]byte, 4096)
	for {
		n, err := r.Read(piece)
		from := max(0, len(b)-3)
		b = append(b, piece[:n]...)
		if at := bytes.Index(b[from:], []byte("\r\n\r\n")); at >= 0 {
			end := from + at + 4
			return b[:end], b[end:], nil
		}
		if len(b) > maxHead {
			return nil, nil, errHeadTooLong
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// parseProxyRequest reads the head of a request to the proxy. The error is
// what the client is told.
func parseProxyRequest(head []byte) (proxyRequest, error) {
	text := strings.TrimSuffix(string(head), "\r\n\r\n")
	line, fields, _ := strings.Cut(text, "\r\n")
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if !token(method) || (version != "HTTP/1.1" && version != "HTTP/1.0") {
		return proxyRequest{}, errors.New("the request line is not that of HTTP/1")
	}
	if method == "CONNECT" {
		host, port, err := target443(target)
		return proxyRequest{connect: true, host: host, port: port}, err
	}
	if len(target) < 7 || !strings.EqualFold(target[:7], "http://") {
		return proxyRequest{}, errors.New("this is a proxy: send CONNECT host:port, or a target that begins with http://")
	}
	authority, path := target[7:], "/"
	if at := strings.IndexAny(authority, "/?#"); at >= 0 {
		authority, path = authority[:at], authority[at:]
	}
	if path[0] != '/' {
		path = "/" + path
	}
	host, port, err := hostPort(authority, 80)
	if err != nil {
		return proxyRequest{}, err
	}
	kept, err := keptFields(fields)
	forward := method + " " + path + " " + version + "\r\nHost: " + authority + "\r\n" + kept + "Connection: close\r\n\r\n"
	return proxyRequest{host: host, port: port, forward: forward}, err
}

// target443 reads the target of CONNECT, which must have a port.
func target443(target string) (string, uint16, error) {
	host, port, err := hostPort(target, 0)
	if err == nil && port == 0 {
		return "", 0, errors.New("the target of CONNECT has no port")
	}
	return host, port, err
}

// hostPort takes an authority apart; an absent port is the given one.
func hostPort(authority string, absent uint16) (string, uint16, error) {
	host, port, ok := splitAuthority(authority)
	if !ok {
		return "", 0, errors.New("the target is not host:port")
	}
	host = egresswire.CanonicalName(host)
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.Unmap().String()
	}
	if port == "" {
		return host, absent, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errors.New("the port of the target is not 1 to 65535")
	}
	return host, uint16(n), nil
}

// keptFields lists the header lines that go on to the host: not Host, which is
// that of the target, and not those between the client and this proxy (RFC
// 9110, 7.6.1), with those that Connection names.
func keptFields(fields string) (string, error) {
	lines := strings.Split(fields, "\r\n")
	drop := map[string]bool{"host": true, "connection": true, "keep-alive": true, "te": true, "upgrade": true}
	for _, line := range lines {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "connection") {
			for option := range strings.SplitSeq(value, ",") {
				drop[strings.ToLower(strings.TrimSpace(option))] = true
			}
		}
	}
	// These frame the message: a client that names them would have the host
	// read a body as a request.
	delete(drop, "content-length")
	delete(drop, "transfer-encoding")
	var out strings.Builder
	for _, line := range lines {
		name, _, found := strings.Cut(line, ":")
		if line == "" {
			continue
		}
		if !found || !token(name) || strings.ContainsAny(line, "\r\n\x00") {
			return "", errors.New("a header line cannot be read")
		}
		lower := strings.ToLower(name)
		if drop[lower] || strings.HasPrefix(lower, "proxy-") {
			continue
		}
		out.WriteString(line + "\r\n")
	}
	return out.String(), nil
}
