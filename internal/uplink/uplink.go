// Package uplink is the way out of one run in network mode declared: the egress
// process beside it, reached by a device in the run's own network namespace or,
// where there is none, by a proxy on the only port that Landlock leaves.
//
// It neither dials nor resolves; the process does. Only the monitor uses it.
package uplink

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/environ"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// wait bounds the egress process's set-up, which takes some 20 ms.
const wait = 3 * time.Second

// Uplink is the egress process of one run. nil is the uplink of other modes.
type Uplink struct {
	keeper  *Keeper
	process *egresswire.Process
	child   *os.File // the end that the run's device is sent to, nil with a proxy
	port    int      // of the proxy on the loopback address, 0 with a device
	release func()   // of a second hold on the device
}

// Config is what the process of a run is told, checked. upstream is the proxy
// that the server itself is behind, "" = none.
func Config(hosts []string, e policy.Egress, upstream string, viaProxy bool) (egresswire.Config, error) {
	c := egresswire.Config{
		Mode: egresswire.ModeTUN, Hosts: hosts, Internal: []string{}, Ports: []uint16{}, Resolver: e.Resolver, Upstream: upstream,
	}
	if viaProxy {
		c.Mode = egresswire.ModeProxy
	}
	c.Limits.Connections, c.Limits.BytesPerSecond = int(e.Connections), e.BytesPerSecond
	for _, p := range e.Internal {
		c.Internal = append(c.Internal, p.Path)
	}
	for _, p := range e.Ports {
		c.Ports = append(c.Ports, uint16(p))
	}
	return c, c.Check()
}

// Connect hands the run's device over and waits until the process serves it.
func (u *Uplink) Connect(device *tun.Device) error {
	if u == nil {
		return nil
	}
	if u.child != nil && device == nil {
		return errors.New("the run has no network device")
	}
	if u.child != nil {
		if err := send(u.child, *device); err != nil {
			return err
		}
		var err error
		if u.release, err = tun.Keep(*device); err != nil {
			return err
		}
	}
	_, err := u.process.WaitReady(wait)
	return err
}

// Lost is closed when the process has ended on its own or was killed; never
// for a run without one.
func (u *Uplink) Lost() <-chan struct{} {
	if u == nil {
		return nil
	}
	return u.process.Ended()
}

// send passes a copy of the device's descriptor; the run keeps its own.
func send(to *os.File, d tun.Device) error {
	raw, err := to.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) { sent = tun.Send(int(fd), d) })
	return errors.Join(err, sent)
}

// End stops the process, within a time, and tells what went to each host and
// what was refused.
func (u *Uplink) End(within time.Duration) (hosts []report.Host) {
	if u == nil || u.process == nil {
		return nil
	}
	defer u.Close()
	e, err := u.process.Stop(within)
	if err != nil {
		return []report.Host{{Reason: "no report: " + err.Error()}}
	}
	for _, h := range e.Hosts {
		hosts = append(hosts, report.Host{Host: h.Host, Connections: h.Connections, BytesIn: h.BytesIn, BytesOut: h.BytesOut})
	}
	for _, r := range e.Refused {
		hosts = append(hosts, report.Host{Host: r.Target, Refused: r.Count, Reason: strings.TrimSpace(string(r.Reason) + " " + r.Detail)})
	}
	return hosts
}

// Close gives everything back without a report.
func (u *Uplink) Close() {
	if u == nil {
		return
	}
	if u.child != nil {
		_ = u.child.Close()
	}
	if u.process != nil {
		u.process.Kill()
	}
	if u.release != nil {
		u.keeper.closing.Go(u.release) // the result need not wait for it
		u.release = nil
	}
}

// Plan makes the proxy variables of a run what its network needs: the run's
// own proxy, with no port yet, where that is the way out; none where a device is.
func Plan(values map[string]string, viaProxy bool) {
	for _, n := range append([]string{"NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY"}, environ.ProxyNames()...) {
		delete(values, n)
	}
	if !viaProxy {
		return
	}
	for _, n := range environ.ProxyNames() {
		values[n] = ""
	}
	values["NODE_USE_ENV_PROXY"] = "1"
}

// Env fills the port of the run's own proxy into what Plan left open, and
// returns that port, 0 = there is no proxy.
func (u *Uplink) Env(list []string) (filled []string, port int) {
	if u == nil || u.port == 0 {
		return list, 0
	}
	filled = append([]string{}, list...)
	for i, kv := range filled {
		for _, n := range environ.ProxyNames() {
			if kv == n+"=" {
				filled[i] = kv + "http://127.0.0.1:" + strconv.Itoa(u.port)
			}
		}
	}
	return filled, u.port
}
