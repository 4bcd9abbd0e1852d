package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// headTimeout bounds how long a client may take for the head of a request.
const headTimeout = 30 * time.Second

// proxyServer is the HTTP way in: CONNECT, and requests in absolute form. It
// is where there is no network namespace; a program that knows no proxy
// variable does not reach it, and nothing else.
type proxyServer struct {
	dialer *dialer
	mover  *mover
	places chan struct{} // one for each connection being served
}

func newProxyServer(d *dialer, m *mover) *proxyServer {
	// Waiting for a head takes a place too, or a run could hold any number.
	places := make(chan struct{}, d.limits.Connections+d.limits.HalfOpen)
	return &proxyServer{dialer: d, mover: m, places: places}
}

// serve accepts until the listener is closed.
func (p *proxyServer) serve(ctx context.Context, l net.Listener) error {
	for {
		p.places <- struct{}{}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			<-p.places
			select { // out of descriptors for a moment: others must end first
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		go func() {
			defer func() { <-p.places }()
			p.handle(ctx, c.(*net.TCPConn))
		}()
	}
}

// handle serves one connection: one request, or one tunnel.
func (p *proxyServer) handle(ctx context.Context, c *net.TCPConn) {
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(headTimeout)) // cannot fail on an open connection
	head, rest, err := readRequestHead(c)
	if err != nil {
		if errors.Is(err, errHeadTooLong) {
			respond(c, "431 Request Header Fields Too Large", "the head of the request is too long")
		}
		return
	}
	request, err := parseProxyRequest(head)
	if err != nil {
		respond(c, "400 Bad Request", err.Error())
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	host, err := p.dialer.dial(ctx, request.host, request.port)
	if err != nil {
		status, text := explain(request.host, err)
		respond(c, status, text)
		return
	}
	if request.connect {
		if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			host.Close()
			return
		}
	}
	first := io.MultiReader(strings.NewReader(request.forward), strings.NewReader(string(rest)))
	p.mover.join(ctx, &proxyStream{TCPConn: c, reader: io.MultiReader(first, c)}, host)
}

// explain turns the error of a dial into what the run is told. It is told no
// more of the host's network than that there was no connection.
func explain(host string, err error) (status, text string) {
	host = printable(host)
	switch {
	case errors.Is(err, errRefused):
		return "403 Forbidden", fmt.Sprintf("%s is refused by the run's network policy; list it under mcp-host.egress of the skill", host)
	case errors.Is(err, errLimit):
		return "503 Service Unavailable", "a connection limit of the run's network policy is reached"
	}
	return "502 Bad Gateway", fmt.Sprintf("no connection to %s", host)
}

func respond(w io.Writer, status, text string) {
	// The client may be gone; there is nobody else to tell.
	_, _ = fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, len(text)+1, text)
}

// proxyStream is the run's side of a proxied connection: what was read with
// the head, then the rest.
type proxyStream struct {
	*net.TCPConn
	reader io.Reader
}

func (s *proxyStream) Read(b []byte) (int, error) { return s.reader.Read(b) }

func (s *proxyStream) abort() {
	_ = s.SetLinger(0) // it may be closed already
	s.TCPConn.Close()
}
