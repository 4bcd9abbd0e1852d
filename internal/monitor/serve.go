package monitor

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/wire"
)

// frame is one frame of the front, or the end of the stream.
type frame struct {
	kind    wire.Kind
	payload []byte
	err     error
}

// receive hands frames to the monitor one by one; it ends with the stream.
func receive(conn *wire.Conn, to chan<- frame) {
	for {
		k, payload, err := conn.Receive()
		to <- frame{k, payload, err}
		if err != nil {
			return
		}
	}
}

// serve answers the front until it is gone (nil) or breaks the protocol. The
// order of messages is the table's business; here each has one handler.
func (m *monitor) serve() error {
	var config []byte
	for f := range m.frames {
		err := f.err
		switch {
		case err != nil:
		case f.kind == wire.KindConfig:
			config = append(config, f.payload...)
		case f.kind == wire.KindRun:
			err = m.run(f.payload, config)
			config = nil
		default:
			err = m.aside(f)
		}
		if err != nil {
			return gone(err)
		}
	}
	return nil
}

// gone is nil when err means that the front has ended, whichever call found it
// out, and err otherwise.
func gone(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// aside handles what may come whether or not a run lasts.
func (m *monitor) aside(f frame) error {
	switch {
	case f.err != nil:
		return f.err
	case f.kind == wire.KindPlan:
		return m.plan(f.payload)
	case f.kind == wire.KindCancel:
		return nil // crossed the result of its run, or was given twice
	}
	return fmt.Errorf("%w: message %q has no handler", wire.ErrProtocol, rune(f.kind))
}

// refuse sends the monitor's no.
func (m *monitor) refuse(no *wire.Refused) error {
	return m.conn.SendValue(wire.KindRefused, *no)
}

// plan answers what a run would get, without one.
func (m *monitor) plan(payload []byte) error {
	req, err := wire.Decode[wire.Request](payload)
	if err != nil {
		return err
	}
	a := &approved{req: req}
	defer a.close()
	if no := m.check(a); no != nil {
		return m.refuse(no)
	}
	p := wire.Planned{
		CWD: a.dir.Path, Interpreter: a.interp.State(true), EnvNames: a.env.names, EnvNotSet: a.env.notSet,
		Fence: a.fence, Hosts: a.hosts, Reads: []string{}, Writes: []string{}, TimeoutMs: a.timeout.Milliseconds(),
	}
	for _, r := range m.boot.Policy.ReadFor(req.Skill) {
		p.Reads = append(p.Reads, r.Path)
	}
	for _, w := range m.boot.Policy.Write {
		p.Writes = append(p.Writes, w.Path)
	}
	if m.boot.DataDir != "" {
		p.Writes = append(p.Writes, m.boot.DataDir)
	}
	if home, set := m.env["HOME"]; set && !readable(home, p.Reads) {
		p.Home = "HOME is a private empty directory of the run: the policy does not make " + home + " readable"
	}
	err = m.conn.SendValue(wire.KindPlanned, p)
	if err == nil && a.network == policy.NetDeclared && m.clearing == nil { // what clears reads what is spared
		m.uplinks.Expect(a.egress, m.host.Spare)
	}
	return err
}

// readable reports whether dir lies in one of the granted trees.
func readable(dir string, trees []string) bool {
	for _, t := range trees {
		if dir == t || t == "/" || strings.HasPrefix(dir, t+"/") {
			return true
		}
	}
	return false
}

// run checks a request again, whatever was planned, and carries it out.
func (m *monitor) run(payload, config []byte) error {
	req, err := wire.Decode[wire.Request](payload)
	if err != nil {
		return err
	}
	a := &approved{req: req}
	defer a.close()
	if req.Config != (config != nil) {
		return m.refuse(refusal(wire.CodeInvalid, "", "malformed request: configuration and its announcement differ"))
	}
	if err := wire.CheckMCPConfig(config); req.Config && err != nil {
		return m.refuse(refusal(wire.CodeInvalid, "", "malformed request: the run's MCP configuration: %v", err))
	}
	if no := m.check(a); no != nil {
		return m.refuse(no)
	}
	if n := m.env.SecretIn(string(config), a.granted); n != "" {
		return m.refuse(refusal(wire.CodeInvalid, "write ${"+n+"} instead", "the run's MCP configuration holds the value of %s", n))
	}
	return m.execute(a, config)
}

// hostPort takes host and port out of a proxy variable: a URL, or host:port
// alone. A port that is not given is 80, as clients of a plain HTTP proxy
// assume, or 443 for https; 0 means that there is none that can be used.
func hostPort(proxy string) (host string, port int) {
	scheme, rest, ok := strings.Cut(proxy, "://")
	if !ok {
		scheme, rest = "http", proxy
	}
	rest, _, _ = strings.Cut(rest, "/")
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	host, port = rest, map[string]int{"http": 80, "https": 443}[strings.ToLower(scheme)]
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		n, err := strconv.ParseUint(rest[i+1:], 10, 16)
		if err != nil {
			return "", 0
		}
		host, port = rest[:i], int(n)
	}
	return strings.Trim(host, "[]"), port
}
