package uplink

import (
	"testing"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/policy"
)

// TestPolicyAndProcessAgree holds the numbers that both must state for
// themselves, since neither package may import the other.
func TestPolicyAndProcessAgree(t *testing.T) {
	if got := egresswire.DefaultLimits().Connections; got != policy.UsualConnections {
		t.Errorf("the process takes %d connections, the policy says %d", got, policy.UsualConnections)
	}
	if _, err := Config(nil, policy.Egress{Connections: policy.MostConnections}, "", false); err != nil {
		t.Error(err)
	}
	if _, err := Config(nil, policy.Egress{Connections: policy.MostConnections + 1}, "", false); err == nil {
		t.Error("more connections than can be kept are taken")
	}
}

func TestConfig(t *testing.T) {
	e := policy.Egress{
		Ports: []int{443}, Internal: []policy.Path{{Path: "db.test"}}, Resolver: "127.0.0.1:53", Connections: 7, BytesPerSecond: 9,
	}
	c, err := Config([]string{"a.test"}, e, "http://proxy:1", true)
	if err != nil || c.Mode != egresswire.ModeProxy || c.Hosts[0] != "a.test" || c.Ports[0] != 443 || c.Internal[0] != "db.test" ||
		c.Resolver != "127.0.0.1:53" || c.Upstream != "http://proxy:1" || c.Limits.Connections != 7 || c.Limits.BytesPerSecond != 9 {
		t.Errorf("%+v %v", c, err)
	}
	if c, _ = Config(nil, policy.Egress{}, "", false); c.Mode != egresswire.ModeTUN {
		t.Errorf("%+v", c)
	}
	if _, err = Config([]string{"*"}, policy.Egress{}, "", false); err == nil {
		t.Error("a host that is none is taken")
	}
}
