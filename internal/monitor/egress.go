package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/fence"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
	"skill-mcp/internal/wire"
)

// uplinkWait bounds the egress process's set-up and its last report, each: it
// needs some 20 ms for the one and one for the other.
const uplinkWait = 3 * time.Second

// proxyNames are the variables that lead a program to a proxy.
var proxyNames = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}

// uplink is the egress process of one run in mode declared, which is its only
// way out. nil is the uplink of the other modes.
type uplink struct {
	process *egresswire.Process
	child   *os.File // the end that the run's device is sent to, nil with a proxy
	port    int      // of the proxy on the loopback address, 0 with a device
}

// checkUplink settles how mode declared is kept, for the plan as for the run:
// by a device in the run's own network namespace, else by a proxy on the only
// port that Landlock leaves, else not at all.
func (m *monitor) checkUplink(a *approved) *wire.Refused {
	if a.network != policy.NetDeclared {
		return nil
	}
	a.viaProxy = !enforced(a.fence, report.NSNet)
	if a.viaProxy && !enforced(a.fence, report.LandlockNet) {
		return refusal(wire.CodeFence, a.fence.Row(report.NSNet).Remedy,
			"network mode declared cannot be kept here: neither a network namespace (%s) nor a Landlock rule for ports (%s)",
			a.fence.Row(report.NSNet).Reason, a.fence.Row(report.LandlockNet).Reason)
	}
	a.egress = egresswire.Config{Mode: egresswire.ModeTUN, Hosts: a.hosts, Internal: []string{}, Ports: []uint16{}, Resolver: m.boot.Policy.Egress.Resolver}
	if a.viaProxy {
		a.egress.Mode = egresswire.ModeProxy
	}
	for _, p := range m.boot.Policy.Egress.Internal {
		a.egress.Internal = append(a.egress.Internal, p.Path)
	}
	for _, p := range m.boot.Policy.Egress.Ports {
		a.egress.Ports = append(a.egress.Ports, uint16(p))
	}
	if proxy, set := m.env.proxy(); set {
		a.egress.Upstream = proxy
	}
	if err := a.egress.Check(); err != nil {
		return refusal(wire.CodeInvalid, "the skill's egress declaration or the policy has to be mended", "network of the run: %v", err)
	}
	return nil
}

// uplink starts the egress process of a run; it gets ready beside the child's
// set-up.
func (m *monitor) uplink(a *approved) (*uplink, error) {
	if a.network != policy.NetDeclared {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the egress program: %w", err)
	}
	u := &uplink{}
	var theirs *os.File
	if a.viaProxy {
		theirs, u.port, err = egresswire.ListenLoopback()
	} else {
		theirs, u.child, err = egresswire.HandoverPair()
	}
	if err != nil {
		return nil, err
	}
	u.process, err = egresswire.Start(egresswire.Options{
		Path: filepath.Join(filepath.Dir(self), "skill-egress"+exeSuffix), Config: a.egress, Handover: theirs, Stderr: os.Stderr,
	})
	if err != nil {
		u.close()
		return nil, err
	}
	m.host.Spare(u.process.PID())
	return u, nil
}

// connect hands the run's device over and waits until the process serves it.
func (u *uplink) connect(r run) error {
	if u == nil {
		return nil
	}
	if u.child != nil {
		d := r.Device()
		if d == nil {
			return fmt.Errorf("the run has no network device")
		}
		if err := sendDevice(u.child, *d); err != nil {
			return err
		}
	}
	_, err := u.process.WaitReady(uplinkWait)
	return err
}

// sendDevice passes a copy of the device's descriptor; the run keeps its own.
func sendDevice(to *os.File, d tun.Device) error {
	raw, err := to.SyscallConn()
	if err != nil {
		return err
	}
	sent := raw.Control(func(fd uintptr) { err = tun.Send(int(fd), d) })
	if sent != nil {
		return sent
	}
	return err
}

// end stops the process and tells what went to each host, and what was refused.
func (u *uplink) end() (hosts []report.Host) {
	if u == nil || u.process == nil {
		return nil
	}
	defer u.close()
	e, err := u.process.Stop(uplinkWait)
	if err != nil {
		return []report.Host{{Reason: "no report: " + err.Error()}}
	}
	for _, h := range e.Hosts {
		hosts = append(hosts, report.Host{Host: h.Host, Connections: h.Connections, BytesIn: h.BytesIn, BytesOut: h.BytesOut})
	}
	for _, r := range e.Refused {
		hosts = append(hosts, report.Host{Host: r.Target, Refused: r.Count, Reason: string(r.Reason)})
	}
	return hosts
}

// close gives everything back without a report.
func (u *uplink) close() {
	if u == nil {
		return
	}
	if u.child != nil {
		_ = u.child.Close()
	}
	if u.process != nil {
		u.process.Kill()
	}
}

// proxyEnv makes the proxy variables of a run what its network needs: the
// run's own proxy where that is the way out, none where a device is.
func proxyEnv(values map[string]string, mode policy.Network, viaProxy bool) {
	if mode != policy.NetDeclared {
		return
	}
	for _, n := range append([]string{"NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY"}, proxyNames...) {
		delete(values, n)
	}
	if !viaProxy {
		return
	}
	for _, n := range proxyNames {
		values[n] = "" // withPort fills it in
	}
	values["NODE_USE_ENV_PROXY"] = "1"
}

// withPort fills the port of the run's own proxy in.
func withPort(list []string, s *fence.Spec, u *uplink) []string {
	if u == nil || u.port == 0 {
		return list
	}
	s.ProxyHost, s.ProxyPort = "127.0.0.1", u.port
	out := append([]string{}, list...)
	for i, kv := range out {
		for _, n := range proxyNames {
			if kv == n+"=" {
				out[i] = kv + "http://127.0.0.1:" + strconv.Itoa(u.port)
			}
		}
	}
	return out
}

// firstRefused names the first host that a run was refused, "" = none.
func firstRefused(hosts []report.Host) string {
	for _, h := range hosts {
		if h.Refused > 0 {
			return h.Host
		}
	}
	return ""
}

// enforced reports whether a layer is proved whole.
func enforced(f report.Fence, l report.Layer) bool { return f.Row(l).Got == report.Enforced }
