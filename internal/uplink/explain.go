package uplink

import (
	"slices"
	"strings"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// FirstRefused is what a run was refused first; false when nothing was.
func FirstRefused(hosts []report.Host) (report.Host, bool) {
	i := slices.IndexFunc(hosts, func(h report.Host) bool { return h.Refused > 0 })
	if i < 0 {
		return report.Host{}, false
	}
	return hosts[i], true
}

// Allow is a sentence on a refusal: what was refused, why, and the line that
// would allow it, in the declaration or in the policy.
func Allow(h report.Host) string {
	reason, detail, _ := strings.Cut(h.Reason, " ")
	host := withoutPort(h.Host)
	list := "the line \"- " + host + "\" under mcp-host.egress of the skill would allow it, or \"- host: " + host + "\" under the skill's hosts in the policy"
	if strings.Contains(host, ":") { // which no entry of a declaration has
		list = "the line \"- host: " + host + "\" under the skill's hosts in the policy would allow it"
	}
	internal := "the line \"- host: " + host + "\" under egress.internal of the policy would allow it"
	switch egresswire.Reason(reason) {
	case egresswire.ReasonName:
		return host + " was refused: it is not among the declared hosts; " + list
	case egresswire.ReasonServerName, egresswire.ReasonHostHeader:
		return host + " was refused: a connection to a declared host asked for it, and it is not declared; " + list
	case egresswire.ReasonAddress:
		text := h.Host + " was refused: it was dialed as an address, and only the names of declared hosts are reached; " + list
		if detail != "" {
			text += ", and being a " + detail + " address also " + internal
		}
		return text
	case egresswire.ReasonInternal:
		return host + " was refused: its address " + detail + " is not public; " + internal
	case egresswire.ReasonPort:
		return h.Host + " was refused: the policy narrows the ports; adding this one to egress.ports of the policy would allow it"
	case egresswire.ReasonUDP, egresswire.ReasonProtocol:
		return h.Host + " was refused: declared hosts are reached over TCP; network mode open would allow it"
	}
	return h.Host + " was refused: what was sent to it cannot be read as what it begins as, so the host it asks for cannot be told; nothing allows that"
}

// LostNote is what the reader of a run is told whose egress process ended first.
const LostNote = "This run lost its network: the process that carries its connections (skill-egress) ended before the run did, killed from outside or out of its memory limit, so the run was ended. Calling again starts a new one."

// withoutPort takes the port off a name or an address. Package net, which could
// split more, is not linked for it.
func withoutPort(s string) string {
	if host, _, found := strings.Cut(strings.TrimPrefix(s, "["), "]"); found {
		return host
	}
	if host, _, found := strings.Cut(s, ":"); found && !strings.Contains(s[len(host)+1:], ":") {
		return host
	}
	return s
}

// Mark says in a report how declared hosts are kept: by which kind of device,
// or, where there is no network namespace, in part, for programs that follow
// the proxy variables. device is nil while there is none yet.
func Mark(f report.Fence, viaProxy bool, device *tun.Device) report.Fence {
	f.Layers = slices.Clone(f.Layers)
	for i, r := range f.Layers {
		if r.Layer != report.NSNet {
			continue
		}
		if device != nil {
			f.Layers[i].Level = device.Kind.String()
		}
		if !viaProxy {
			continue
		}
		text := "the declared hosts are kept by a proxy on the one port that Landlock leaves; a program that ignores the proxy variables has no network"
		if r.Reason != "" {
			text = r.Reason + "; " + text
		}
		f.Layers[i].Got, f.Layers[i].Level, f.Layers[i].Reason = report.Partial, "proxy", text
	}
	return f
}
