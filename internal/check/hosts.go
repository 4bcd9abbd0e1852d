package check

import (
	"fmt"
	"net/netip"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/publicaddr"
	"skill-mcp/internal/yamlcore"
)

// hosts reports on declared hosts that a run does not reach although the
// contract takes them: its rule looks at the characters alone.
func (c *checker) hosts(s *catalog.Skill) {
	for _, host := range s.Declaration.Egress {
		if why := unreached(host); why != "" {
			c.add(skillMD(s.Dir), orStart(hostPlace(s.Frontmatter, host)), Warning, CodeHost, fmt.Sprintf("mcp-host.egress: %q %s", host, why))
		}
	}
}

// unreached says why no run reaches a declared host without more, "" when
// nothing stands in its way.
func unreached(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		if what := publicaddr.Not(a); what != "" {
			return "is a " + what + " address, which is reached only where the owner lists it under egress.internal of the policy"
		}
		return ""
	}
	if a, ok := publicaddr.Spelled(host); ok {
		return "is another spelling of the address " + a.String() + " and no name, so it is not reached; write a name"
	}
	if host == "*" {
		return "would be every host: it is not reached; list the hosts, or the owner chooses network mode open"
	}
	if egresswire.CheckHost(host) != nil {
		return "names no host and no *.name of two labels, so it is not reached"
	}
	return ""
}

// hostPlace is where a host is declared.
func hostPlace(front *yamlcore.Node, host string) place {
	list := front.Get("mcp-host").Get("egress")
	if list == nil {
		return place{}
	}
	for _, item := range list.Items {
		if text, ok := item.Str(); ok && text == host {
			return placeOf(item)
		}
	}
	return placeOf(list)
}
