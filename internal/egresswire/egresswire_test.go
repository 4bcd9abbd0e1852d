package egresswire

import (
	"bytes"
	"strings"
	"testing"
)

func TestCheckHost(t *testing.T) {
	for _, good := range []string{"a.b", "localhost", "*.a.b", "a_b.c", "1.2.3.4", "::1", "xn--bcher-kva.example", "a.b.", "9.example"} {
		if err := CheckHost(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "*", "*.", "*.com", "**.a.b", "a.*.b", "a*.b", "*a.b.c", "a..b", ".a", "a b", "a/b", "a:1", "http://a", "-a.b", "a-.b",
		"1", "0x1", "1.2.3", "1.2.3.4.5", "a.1", "a.0x", "a.0xf", "10.0.0.0/8", "a\x00.b", "bücher.example"} {
		if err := CheckHost(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"10.0.0.0/8", "10.0.0.0/32", "0.0.0.0/0", "fd00::/8", "::/128", "10.0.0.1", "db.corp.test"} {
		if err := CheckInternal(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/", "10.0.0.0/+8", "::/129", "10.0.0/8", "db.test/8", "/8", "10.0.0.0/8/8"} {
		if err := CheckInternal(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestNamesTheCLibraryReadsAsAddresses keeps these from being names: a program
// that is given one connects to an address.
func TestNamesTheCLibraryReadsAsAddresses(t *testing.T) {
	for _, s := range []string{"2852039166", "0xa9fea9fe", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "169.16689662", "0x7f.1", "127.1"} {
		if ValidName(CanonicalName(s)) {
			t.Errorf("%q counts as a name", s)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	good := Config{Mode: ModeTUN, Hosts: []string{"a.b"}, Internal: []string{"10.0.0.0/8"}, Ports: []uint16{443}, Upstream: "http://u:p@proxy:3128", Resolver: "127.0.0.1:53"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name  string
		spoil func(*Config)
	}{
		{"no mode", func(c *Config) { c.Mode = "" }},
		{"a host that is no host", func(c *Config) { c.Hosts = []string{"*"} }},
		{"too many hosts", func(c *Config) { c.Hosts = make([]string, MaxConfigHosts+1) }},
		{"an internal entry that is none", func(c *Config) { c.Internal = []string{"10.0.0.0/99"} }},
		{"an upstream with TLS", func(c *Config) { c.Upstream = "https://proxy" }},
		{"an upstream without a host", func(c *Config) { c.Upstream = "http://:80" }},
		{"a resolver by name", func(c *Config) { c.Resolver = "dns.test:53" }},
		{"a negative limit", func(c *Config) { c.Limits.Connections = -1 }},
		{"more connections than can be kept", func(c *Config) { c.Limits.Connections = maxConnections + 1 }},
		{"less memory than the connections need", func(c *Config) { c.Limits.MemoryBytes = 64 << 20 }},
		{"a negative rate", func(c *Config) { c.Limits.BytesPerSecond = -1 }},
		{"a negative user", func(c *Config) { c.UID = -1 }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := good
			row.spoil(&c)
			if err := c.Check(); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestUpstream(t *testing.T) {
	for _, good := range []string{"http://proxy:3128", "http://proxy", "http://proxy/", "http://u:p%40@proxy:1", "http://[::1]:80", "http://[::1]", "http://10.0.0.1:8080/"} {
		if err := checkUpstream(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"https://user:secret@proxy", "http://user:secret@:80", "http://user:secret@proxy:99999", "http://user:secret@proxy:x", "http://user:secret@proxy:0",
		"http://user:secret@proxy:", "socks5://user:secret@proxy", "user:secret@proxy", "http://secret@proxy/path", "http://secret@pro xy", "http://secret@proxy\r\n", "http://"} {
		if err := checkUpstream(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLimitsWithDefaults(t *testing.T) {
	if got := (Limits{}).WithDefaults(); got != DefaultLimits() {
		t.Errorf("%+v", got)
	}
	got := Limits{Connections: 8}.WithDefaults()
	if got.HalfOpen != 8 || got.MemoryBytes != memoryFor(8) {
		t.Errorf("%+v", got)
	}
}

func TestDecodeRefusesWhatEncodeDoesNotWrite(t *testing.T) {
	message, err := Encode(KindFault, Fault{Stage: "s", Error: "e<>&"})
	if err != nil {
		t.Fatal(err)
	}
	var f Fault
	if err := Decode(message, KindFault, &f); err != nil || f.Error != "e<>&" {
		t.Errorf("%+v %v", f, err)
	}
	for _, bad := range []string{"", "f", `f{"stage":"s"}`, `f{"stage":"s","error":"e","x":1}`, `f{"Stage":"s","error":"e"}`, `f{"stage":"s","stage":"s","error":"e"}`,
		`f {"stage":"s","error":"e"}`, `f{"stage":"s","error":"e"}{}`, "f{\"stage\":\"s\",\"error\":\"\xff\"}", `r{"stage":"s","error":"e"}`, `fnull`, `f{"stage":"s","error":"\u0065"}`} {
		if err := Decode([]byte(bad), KindFault, &Fault{}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := Encode(KindFault, Fault{Error: strings.Repeat("a", MaxMessage)}); err == nil {
		t.Error("a message that is too large is encoded")
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []struct {
		kind Kind
		body any
	}{
		{KindConfig, Config{Mode: ModeTUN, Hosts: []string{"a.b"}}}, {KindReport, Evidence{Way: "tun"}}, {KindReady, Ready{UID: 1}}, {KindAsk, Ask{}}, {KindFault, Fault{}},
	} {
		b, err := Encode(seed.kind, seed.body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		bodies := map[Kind]any{KindConfig: &Config{}, KindReport: &Evidence{}, KindReady: &Ready{}, KindAsk: &Ask{}, KindFault: &Fault{}}
		body, known := bodies[KindOf(b)]
		if !known || Decode(b, KindOf(b), body) != nil {
			return
		}
		again, err := Encode(KindOf(b), body)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%q is accepted and encodes to %q, %v", b, again, err)
		}
	})
}
