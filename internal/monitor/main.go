package monitor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"skill-mcp/internal/beneath"
	"skill-mcp/internal/environ"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/interp"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/resource"
	"skill-mcp/internal/uplink"
	"skill-mcp/internal/wire"
)

// maxBoot bounds the owner's hand-over: policy and grants are a few KiB, and
// MCP_SKILL_RUN cannot be longer than one variable (128 KiB).
const maxBoot = 4 << 20

// monitor is the whole state. One goroutine works on it: one request, one
// child, one reply.
type monitor struct {
	boot    wire.Boot
	env     environ.Environ
	scrub   wire.Scrub
	roots   []beneath.Place // same order as boot.Roots; no file = could not be opened
	states  []wire.RootState
	interps []*interp.Interpreter
	host    host
	fences  map[policy.Network]report.Fence
	// clearing gives word when a run that outlasted its end is gone, nil = none.
	clearing <-chan tree
	uplinks  uplink.Keeper
	conn     *wire.Conn
	frames   chan frame
}

// Main is the monitor: it reads its hand-over, says what holds on this host
// and serves the front until the socket ends. It returns the exit code of the
// process: 0 when the front has gone, 1 when it could not begin or the
// protocol was broken, with one line on standard error.
func Main(socket io.ReadWriteCloser, boot io.ReadCloser) int {
	m := &monitor{scrub: environ.Scrub(), env: environ.Take(), fences: map[policy.Network]report.Fence{}}
	if err := m.main(socket, boot); err != nil {
		fmt.Fprintf(os.Stderr, "skill-exec: monitor: %v\n", err)
		return 1
	}
	return 0
}

// main goes from the hand-over to the end of the front.
func (m *monitor) main(socket io.ReadWriteCloser, boot io.ReadCloser) error {
	defer socket.Close()
	if err := harden(); err != nil {
		return err
	}
	resource.Soon() // so that deadlines hold while programs compute; the script gets the usual back
	// The front decides when to end: a terminal's Ctrl-C reaches the whole
	// group, and a run in flight must still be ended in order. Caught and
	// dropped, not ignored: an ignored signal would stay ignored in the script.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := m.read(boot)
	if err != nil {
		return err
	}
	if m.boot.AuditPath != "" {
		if err := lendAudit(m.boot.AuditPath); err != nil {
			return err
		}
	}
	m.conn, m.frames = wire.NewConn(wire.Monitor, bounded{socket, sendWait}), make(chan frame)
	if _, _, err := m.conn.Receive(); err != nil { // Begin, by the table
		return gone(err)
	}
	resource.Raise() // before the first child inherits them
	looked := make(chan struct{})
	go func() { // reads files while the probe waits for its child
		defer close(looked)
		m.resolve()
		m.openRoots()
	}()
	m.host, err = newHost(m.boot.Policy)
	<-looked
	if err != nil {
		return err
	}
	defer m.close()
	for _, i := range m.interps {
		i.Ask(m.host.Spare) // after the probe, so that it is not in its way
	}
	if err := m.hello(); err != nil {
		return gone(err)
	}
	go receive(m.conn, m.frames)
	return m.serve()
}

// sendWait bounds one write to the front, which reads all the time. One that
// does not is gone: a run must not outlast its deadline for it.
const sendWait = 10 * time.Second

// bounded is the stream to the front with a deadline for every write, where the
// system has deadlines for it.
type bounded struct {
	io.ReadWriteCloser
	wait time.Duration
}

// Write writes one frame.
func (b bounded) Write(p []byte) (int, error) {
	if d, ok := b.ReadWriteCloser.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(b.wait)) // refused where it cannot wait for a deadline
	}
	return b.ReadWriteCloser.Write(p)
}

// read takes in the hand-over, strictly.
func (m *monitor) read(boot io.ReadCloser) error {
	defer boot.Close()
	b, err := io.ReadAll(io.LimitReader(boot, maxBoot))
	if err != nil {
		return fmt.Errorf("read the hand-over: %w", err)
	}
	if m.boot, err = wire.Decode[wire.Boot](b); err != nil {
		return fmt.Errorf("read the hand-over: %w", err)
	}
	if keys := m.boot.Policy.TestKeys(); m.boot.Hosted && len(keys) > 0 {
		return fmt.Errorf("read the hand-over: test keys in hosted mode: %v", keys)
	}
	_, proxied := m.env.Proxy()
	m.boot.Policy = m.boot.Policy.Resolve(proxied)
	return nil
}

// resolve looks the closed set up.
func (m *monitor) resolve() {
	writable := []string{m.boot.DataDir}
	for _, w := range m.boot.Policy.Write {
		writable = append(writable, w.Path)
	}
	for _, e := range m.boot.Policy.Interpreters {
		m.interps = append(m.interps, interp.New(e, m.env["PATH"], writable))
	}
}

// interpreter returns the entry called name, nil when the set has none.
func (m *monitor) interpreter(name string) *interp.Interpreter {
	for _, i := range m.interps {
		if i.Name() == name {
			return i
		}
	}
	return nil
}

// openRoots opens every root once. One that cannot be opened is reported and
// refuses its requests.
func (m *monitor) openRoots() {
	for _, path := range m.boot.Roots {
		p, err := beneath.OpenRoot(path)
		s := wire.RootState{Path: path, Real: p.Path}
		if err != nil {
			s.Error = err.Error()
		}
		m.roots, m.states = append(m.roots, p), append(m.states, s)
	}
}

// hello sends what was probed. What a killed monitor left is taken away here,
// after the probe, which it cannot disturb: names are a process's own.
func (m *monitor) hello() error {
	r := wire.Ready{
		Version: m.boot.Version, Scrub: m.scrub, Roots: m.states, EnvNames: map[string]bool{},
		Notes: m.host.Sweep(), Interpreters: []wire.Interpreter{},
	}
	r.Fence = m.report(m.boot.Policy.Network)
	_, r.ProxySet = m.env.Proxy()
	for _, n := range grant.Ambient() {
		_, r.EnvNames[n] = m.env[n]
	}
	for _, i := range m.interps {
		r.Interpreters = append(r.Interpreters, i.State(false))
	}
	return m.conn.SendValue(wire.KindReady, r)
}

// close gives everything back.
func (m *monitor) close() {
	for _, i := range m.interps {
		i.Close()
	}
	for _, r := range m.roots {
		r.Close()
	}
	m.uplinks.Close()
	if err := m.host.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintf(os.Stderr, "skill-exec: monitor: %v\n", err)
	}
}
