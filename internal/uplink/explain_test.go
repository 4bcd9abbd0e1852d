package uplink

import (
	"strings"
	"testing"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/report"
)

func TestAllowNamesTheLine(t *testing.T) {
	rows := []struct {
		host   string
		reason egresswire.Reason
		detail string
		want   []string
	}{
		{"evil.test", egresswire.ReasonName, "", []string{"evil.test was refused", `"- evil.test" under mcp-host.egress`, `"- host: evil.test" under the skill's hosts`}},
		{"evil.test", egresswire.ReasonServerName, "", []string{"evil.test was refused", `"- evil.test"`}},
		{"evil.test", egresswire.ReasonHostHeader, "", []string{"evil.test was refused", `"- evil.test"`}},
		{"192.0.2.7:80", egresswire.ReasonAddress, "", []string{"192.0.2.7:80 was refused", `"- 192.0.2.7" under mcp-host.egress`}},
		{"10.0.0.1:80", egresswire.ReasonAddress, "private", []string{`"- 10.0.0.1" under mcp-host.egress`, `"- host: 10.0.0.1" under egress.internal`}},
		{"db.test", egresswire.ReasonInternal, "10.0.0.1", []string{"10.0.0.1 is not public", `"- host: db.test" under egress.internal`}},
		{"api.test:80", egresswire.ReasonPort, "", []string{"api.test:80 was refused", "egress.ports"}},
		{"api.test:443", egresswire.ReasonUDP, "", []string{"api.test:443 was refused", "mode open"}},
		{"192.0.2.7", egresswire.ReasonProtocol, "1", []string{"192.0.2.7 was refused", "mode open"}},
		{"api.test", egresswire.ReasonMalformed, "", []string{"api.test was refused"}},
		{"2001:db8::1", egresswire.ReasonName, "", []string{`the line "- host: 2001:db8::1" under the skill's hosts`}},
		{"[2001:db8::1]:80", egresswire.ReasonAddress, "", []string{`[2001:db8::1]:80 was refused`, `the line "- host: 2001:db8::1" under the skill's hosts`}},
	}
	for _, row := range rows {
		got := Allow(report.Host{Host: row.host, Reason: strings.TrimSpace(string(row.reason) + " " + row.detail)})
		for _, want := range row.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s %s: %q lacks %q", row.host, row.reason, got, want)
			}
		}
	}
}

func TestFirstRefused(t *testing.T) {
	hosts := []report.Host{{Host: "a", Connections: 1}, {Host: "b", Refused: 2}, {Host: "c", Refused: 1}}
	if h, ok := FirstRefused(hosts); !ok || h.Host != "b" {
		t.Errorf("%+v %v", h, ok)
	}
	if _, ok := FirstRefused(hosts[:1]); ok {
		t.Error("a refusal where there is none")
	}
}
