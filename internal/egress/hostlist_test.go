package egress

import (
	"net/netip"
	"strings"
	"testing"

	"skill-mcp/internal/egresswire"
)

func TestHostList(t *testing.T) {
	list, err := parseHosts([]string{"api.example.com", "*.wild.example.com", "Upper.Example.com.", "203.0.113.9", "2001:db8::9"})
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		host string
		want bool
	}{
		{"api.example.com", true}, {"API.example.com", true}, {"api.example.com.", true}, {"xapi.example.com", false}, {"x.api.example.com", false},
		{"example.com", false}, {"wild.example.com", false}, {"a.wild.example.com", true}, {"a.b.wild.example.com", true}, {"awild.example.com", false},
		{"upper.example.com", true}, {"203.0.113.9", true}, {"::ffff:203.0.113.9", true}, {"203.0.113.8", false}, {"2001:db8::9", true}, {"2001:db8:0::9", true},
		{"", false}, {".", false}, {"..wild.example.com", false}, {"*.wild.example.com", false}, {"a b.wild.example.com", false}, {"-a.wild.example.com", false},
		{"3405803785", false}, {"0xcb007109", false}, {strings.Repeat("a", 64) + ".wild.example.com", false}, {strings.Repeat("a.", 130) + "wild.example.com", false},
	}
	for _, row := range rows {
		if got := list.Has(row.host); got != row.want {
			t.Errorf("%q: %v, want %v", row.host, got, row.want)
		}
	}
}

func FuzzHostList(f *testing.F) {
	f.Add("*.a.test", "b.a.test")
	f.Add("1.2.3.4", "::ffff:1.2.3.4")
	f.Fuzz(func(t *testing.T, entry, host string) {
		list, err := parseHosts([]string{entry})
		if err != nil {
			return
		}
		if !list.Has(host) {
			return
		}
		// What is listed is an address, or a name the C library takes for a name.
		if _, err := netip.ParseAddr(host); err != nil && !egresswire.ValidName(egresswire.CanonicalName(host)) {
			t.Errorf("%q lists %q", entry, host)
		}
	})
}
