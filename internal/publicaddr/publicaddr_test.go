package publicaddr

import (
	"net/netip"
	"strings"
	"testing"
)

func TestNotPublic(t *testing.T) {
	rows := []struct{ address, want string }{
		{"8.8.8.8", ""}, {"1.1.1.1", ""}, {"203.0.113.10", ""}, {"2606:4700::1111", ""}, {"2a00:1450::1", ""},
		{"0.0.0.0", "this-network"}, {"0.1.2.3", "this-network"}, {"10.0.0.1", "private"}, {"100.64.0.1", "shared"},
		{"100.100.100.200", "shared"}, {"127.0.0.1", "loopback"}, {"127.255.255.254", "loopback"}, {"168.63.129.16", "metadata"},
		{"169.254.169.254", "link-local"}, {"172.16.0.1", "private"}, {"172.31.255.255", "private"}, {"172.32.0.1", ""},
		{"192.0.0.192", "protocol"}, {"192.88.99.1", "6to4"}, {"192.168.1.1", "private"}, {"198.18.0.1", "benchmarking"},
		{"198.19.255.255", "benchmarking"}, {"198.20.0.1", ""}, {"224.0.0.1", "multicast"}, {"240.0.0.1", "reserved"}, {"255.255.255.255", "reserved"},
		{"::", "reserved"}, {"::1", "loopback"}, {"::7f00:1", "reserved"}, {"::ffff:10.0.0.1", "private"}, {"::ffff:8.8.8.8", ""},
		{"64:ff9b::7f00:1", "loopback"}, {"64:ff9b::a9fe:a9fe", "link-local"}, {"64:ff9b::808:808", ""}, {"64:ff9b:1::808:808", "nat64"},
		{"2001::1", "protocol"}, {"2001:0:4136:e378:8000:63bf:3fff:fdd2", "protocol"}, {"2001:20::1", "protocol"}, {"2002:7f00:1::", "6to4"}, {"2002:808:808::1", "6to4"},
		{"fc00::1", "private"}, {"fd00:ec2::254", "private"}, {"fe80::1", "link-local"}, {"fe80::1%eth0", "link-local"}, {"fec0::1", "private"}, {"ff02::1", "multicast"},
		{"2606:4700::5efe:10.0.0.1", "private"}, {"2606:4700::200:5efe:10.0.0.1", "private"}, {"2606:4700::5efe:8.8.8.8", ""}, {"4000::1", "reserved"},
	}
	for _, row := range rows {
		if got := Not(netip.MustParseAddr(row.address)); got != row.want {
			t.Errorf("%s: %q, want %q", row.address, got, row.want)
		}
	}
	if Not(netip.Addr{}) == "" {
		t.Error("no address at all counts as public")
	}
}

func FuzzNotPublic(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "64:ff9b::a00:1", "2606:4700::1"} {
		a := netip.MustParseAddr(s).As16()
		f.Add(a[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		// What embeds an address is never more public than what it embeds.
		mapped := netip.AddrFrom16(a.As16())
		if Not(a) != Not(mapped) {
			t.Errorf("%s and its mapped form differ", a)
		}
		if a.Is4() {
			inside := netip.MustParseAddr("64:ff9b::").As16()
			four := a.As4()
			copy(inside[12:], four[:])
			if Not(a) != Not(netip.AddrFrom16(inside)) {
				t.Errorf("%s and its NAT64 form differ", a)
			}
		}
	})
}

func TestSpelled(t *testing.T) {
	for in, want := range map[string]string{
		"2852039166":          "169.254.169.254",
		"0251.0376.0251.0376": "169.254.169.254",
		"025177524776":        "169.254.169.254",
		"0xa9fea9fe":          "169.254.169.254",
		"0XA9.0xFE.43518":     "169.254.169.254",
		"169.254.43518":       "169.254.169.254",
		"169.16689662":        "169.254.169.254",
		"169.0376.0xa9.254":   "169.254.169.254",
		"127.1":               "127.0.0.1",
		"0":                   "0.0.0.0",
		"0x":                  "0.0.0.0",
		"0xa9fea9fe.":         "169.254.169.254",
		"169.254.169.254":     "", // not another spelling
		"256.1.1.1":           "",
		"1.2.3.4.5":           "",
		"4294967296":          "",
		"127.16777216":        "",
		"08.1.1.1":            "",
		"1..2":                "",
		"":                    "",
		"example.com":         "",
		"0xg":                 "",
		"-1":                  "",
		"::1":                 "",
		"1_0":                 "",
	} {
		got, ok := Spelled(in)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q is %v %v, want %q", in, got, ok, want)
		}
	}
}

func FuzzSpelled(f *testing.F) {
	for _, s := range []string{"2852039166", "0251.0376.0251.0376", "0xa9.254.43518", "example.com"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := Spelled(s)
		if ok && (!a.Is4() || strings.Trim(s, "0123456789abcdefABCDEFxX.") != "") {
			t.Errorf("%q is %s", s, a)
		}
	})
}
