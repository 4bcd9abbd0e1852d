package egress

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxReply is the longest head of a proxy's answer to CONNECT, in bytes.
const maxReply = 16 << 10

// upstream is the proxy through which a hosted run connects. It resolves the
// names, so the address rules are its own.
type upstream struct {
	host, port    string
	authorization string // a header line, or ""
}

func newUpstream(s string) (*upstream, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return nil, errors.New("egress upstream proxy: not http://host:port") // the URL may hold a password
	}
	up := &upstream{host: u.Hostname(), port: cmp.Or(u.Port(), "80")}
	if u.User != nil {
		password, _ := u.User.Password()
		token := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		up.authorization = "Proxy-Authorization: Basic " + token + "\r\n"
	}
	return up, nil
}

// connect asks the proxy for a tunnel to the host.
func (u *upstream) connect(ctx context.Context, r *net.Resolver, host string, port uint16) (*net.TCPConn, error) {
	one := net.Dialer{Resolver: r}
	c, err := one.DialContext(ctx, "tcp", net.JoinHostPort(u.host, u.port))
	if err != nil {
		return nil, fmt.Errorf("connect to upstream proxy: %w", err)
	}
	conn := c.(*net.TCPConn)
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // cannot fail on an open connection
	}
	if err := u.handshake(conn, net.JoinHostPort(host, strconv.Itoa(int(port)))); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

func (u *upstream) handshake(c net.Conn, target string) error {
	request := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + u.authorization + "\r\n"
	if _, err := c.Write([]byte(request)); err != nil {
		return fmt.Errorf("ask upstream proxy: %w", err)
	}
	head, err := readHead(c)
	if err != nil {
		return fmt.Errorf("read upstream proxy: %w", err)
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	version, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(version, "HTTP/1.") || !strings.HasPrefix(rest, "2") {
		return fmt.Errorf("upstream proxy answered %q", printable(line))
	}
	return nil
}

// readHead reads up to the empty line and not one byte further: what follows
// belongs to the host.
func readHead(c net.Conn) ([]byte, error) {
	head := make([]byte, 0, 512)
	for len(head) < maxReply {
		var b [1]byte
		if _, err := c.Read(b[:]); err != nil {
			return nil, err
		}
		head = append(head, b[0])
		if bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			return head, nil
		}
	}
	return nil, fmt.Errorf("answer is longer than %d bytes", maxReply)
}

// portNumber is the proxy's port; the configuration was checked for it.
func (u *upstream) portNumber() uint16 {
	n, _ := strconv.ParseUint(u.port, 10, 16)
	return uint16(n)
}
