package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/publicaddr"
)

// dialTimeout bounds one connection from the look-up to the host's answer. It
// is below the 60 s a run has by default, so that the run learns of it.
const dialTimeout = 20 * time.Second

// maxAttempts is how many addresses of one name are tried: what a list of
// both families with one dead server each needs.
const maxAttempts = 4

// errRefused is the cause of every refusal by rule; the evidence has the rest.
var errRefused = errors.New("refused by the run's network policy")

// errLimit is returned when a limit of the run is reached.
var errLimit = errors.New("over a limit of the run's network policy")

// dialer makes the outside connections of one run.
type dialer struct {
	list     hostList
	internal internalSet
	ports    map[uint16]bool // empty: any
	limits   egresswire.Limits
	resolver *net.Resolver
	upstream *upstream // nil: directly
	record   *recorder

	open, waiting atomic.Int64
}

// newDialer builds the dialer of a checked configuration.
func newDialer(c egresswire.Config, record *recorder) (*dialer, error) {
	list, err := parseHosts(c.Hosts)
	if err != nil {
		return nil, err
	}
	internal, err := parseInternal(c.Internal)
	if err != nil {
		return nil, err
	}
	d := &dialer{
		list:     list,
		internal: internal,
		ports:    map[uint16]bool{},
		limits:   c.Limits.WithDefaults(),
		resolver: newResolver(c.Resolver),
		record:   record,
	}
	for _, p := range c.Ports {
		d.ports[p] = true
	}
	if c.Upstream != "" {
		d.upstream, err = newUpstream(c.Upstream)
	}
	return d, err
}

// newResolver asks the host's name servers without the C library, whose
// modules may open files and sockets of any kind; or the one given.
func newResolver(server string) *net.Resolver {
	r := &net.Resolver{PreferGo: true}
	if server != "" {
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}
	}
	return r
}

func parseInternal(entries []string) (internalSet, error) {
	var set internalSet
	var hosts []string
	for _, entry := range entries {
		if p, err := netip.ParsePrefix(entry); err == nil {
			set.prefixes = append(set.prefixes, p.Masked())
			continue
		}
		hosts = append(hosts, entry)
	}
	list, err := parseHosts(hosts)
	set.hosts = list
	return set, err
}

// outside is a connection to a host with the counters of that host. Its place
// among the open connections is given back by Close.
type outside struct {
	*net.TCPConn
	count   *hostCount
	release func()
}

// Close ends the connection; it may be called more than once.
func (o *outside) Close() error {
	o.release()
	return o.TCPConn.Close()
}

// dial connects to a host, a canonical name or an address, if the rules allow
// it. A refusal is recorded, and its error is errRefused or errLimit.
func (d *dialer) dial(ctx context.Context, host string, port uint16) (*outside, error) {
	if err := d.permit(host, port); err != nil {
		return nil, err
	}
	release, err := d.reserve()
	if err != nil {
		return nil, err
	}
	defer d.waiting.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	count := d.record.host(host)
	conn, err := d.connect(ctx, host, port)
	if err != nil {
		release()
		count.failed.Add(1)
		return nil, err
	}
	count.connections.Add(1)
	return &outside{TCPConn: conn, count: count, release: release}, nil
}

// permit applies the rules that need no look-up.
func (d *dialer) permit(host string, port uint16) error {
	if !d.list.Has(host) {
		d.record.refuse(host, egresswire.ReasonName, "")
		return fmt.Errorf("connect to %s: %w", printable(host), errRefused)
	}
	if port == 0 || len(d.ports) > 0 && !d.ports[port] {
		d.record.refuse(net.JoinHostPort(host, strconv.Itoa(int(port))), egresswire.ReasonPort, "")
		return fmt.Errorf("connect to port %d of %s: %w", port, printable(host), errRefused)
	}
	return nil
}

// reserve takes one place among the open connections, which release gives
// back, and one among the waiting, which the caller gives back.
func (d *dialer) reserve() (release func(), err error) {
	if d.open.Add(1) > int64(d.limits.Connections) {
		d.open.Add(-1)
		d.record.dropConnection()
		return nil, fmt.Errorf("%d open connections: %w", d.limits.Connections, errLimit)
	}
	if d.waiting.Add(1) > int64(d.limits.HalfOpen) {
		d.waiting.Add(-1)
		d.open.Add(-1)
		d.record.dropHalfOpen()
		return nil, fmt.Errorf("%d waiting connections: %w", d.limits.HalfOpen, errLimit)
	}
	var released atomic.Bool
	return func() {
		if !released.Swap(true) {
			d.open.Add(-1)
		}
	}, nil
}

// connect resolves, checks and connects, or has the upstream proxy do so.
func (d *dialer) connect(ctx context.Context, host string, port uint16) (*net.TCPConn, error) {
	if d.upstream != nil {
		return d.upstream.connect(ctx, d.resolver, host, port)
	}
	addrs, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	return connectAny(ctx, addrs, port)
}

// addresses is the one look-up of a connection: the addresses of the host that
// may be dialed.
func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var allowed []netip.Addr
	for _, a := range found {
		if what := publicaddr.Not(a); what != "" && !d.internal.allows(host, a) {
			d.record.refuse(host, egresswire.ReasonInternal, a.WithZone("").Unmap().String())
			err = fmt.Errorf("connect to %s: %s is a %s address: %w", host, a, what, errRefused)
			continue
		}
		allowed = append(allowed, a.Unmap())
	}
	if len(allowed) == 0 {
		return nil, err
	}
	return allowed[:min(len(allowed), maxAttempts)], nil
}

// lookup resolves a name, without the search list of the host. An address is
// itself.
func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	found, err := d.resolver.LookupNetIP(ctx, "ip", host+".")
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("look up %s: no address", host)
	}
	return found, err
}

// connectAny tries the addresses in order; each gets its share of the time
// that is left.
func connectAny(ctx context.Context, addrs []netip.Addr, port uint16) (*net.TCPConn, error) {
	var errs []error
	for i, a := range addrs {
		deadline, _ := ctx.Deadline()
		share := time.Until(deadline) / time.Duration(len(addrs)-i)
		attempt, cancel := context.WithTimeout(ctx, share)
		var one net.Dialer
		c, err := one.DialContext(attempt, "tcp", netip.AddrPortFrom(a, port).String())
		cancel()
		if err == nil {
			return c.(*net.TCPConn), nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
