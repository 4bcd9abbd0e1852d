package ipaddr

import (
	"net/netip"
	"strings"
	"testing"
)

// seeds are shapes that differ between readers of addresses.
var seeds = []string{
	"", ":", "::", ":::", "::1", "1::", "1::2::3", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8",
	"1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:1.2.3.4", "::ffff:1.2.3.4", "::1.2.3.4:1", "1.2.3.4::", "64:ff9b::1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4",
	"127.0.0.1", "0.0.0.0", "255.255.255.255", "256.0.0.1", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1..2.3", "+1.2.3.4", "1.2.3.4 ", "0x7f.0.0.1", "2130706433",
	"fe80::1%eth0", "::g", "12345::", "+1::", "::-1", "1_0::", "[::1]",
	"127.0.0.1:80", "[::1]:80", "::1:80", "[127.0.0.1]:80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "[::1]", "[::1:80", "::1]:80", ":80", "127.0.0.1:080", "1.2.3.4:1_0",
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "%") {
			return // zones are netip's alone
		}
		want, err := netip.ParseAddr(s)
		got, ok := Parse(s)
		if ok != (err == nil) || ok && (got.Bytes != want.As16() || got.Is4 != want.Is4()) {
			t.Errorf("Parse(%q) = %v, %v; netip says %v, %v", s, got, ok, want, err)
		}
		wantPort, err := netip.ParseAddrPort(s)
		got, port, ok := ParsePort(s)
		if ok != (err == nil) || ok && (got.Bytes != wantPort.Addr().As16() || port != int(wantPort.Port())) {
			t.Errorf("ParsePort(%q) = %v, %d, %v; netip says %v, %v", s, got, port, ok, wantPort, err)
		}
	})
}
