package egress

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/publicaddr"
)

func TestNameTableGivesOneAddressPerName(t *testing.T) {
	table := newNameTable()
	seen := map[netip.Addr]bool{}
	for i := range maxNames {
		name := fmt.Sprintf("n%d.test", i)
		a, ok := table.address(name)
		again, _ := table.address(name)
		back, known := table.name(a)
		if !ok || a != again || seen[a] || !known || back != name || publicaddr.Not(a) != "benchmarking" {
			t.Fatalf("%s has %s, then %s; %s is %q", name, a, again, a, back)
		}
		if twin, known := table.name(address6(a)); !known || twin != name || publicaddr.Not(address6(a)) != "private" {
			t.Fatalf("%s stands for %q, %s for %q", a, name, address6(a), twin)
		}
		seen[a] = true
	}
	if a, ok := table.address("more.test"); ok {
		t.Errorf("a name too many has %s", a)
	}
	for _, s := range []string{"198.18.0.0", "198.18.0.255", "198.19.255.255", "8.8.8.8", "::1", "fd5a:9c1e:70b4::198.18.0.255", "fd5a:9c1e:70b4:1::198.18.1.0", "::198.18.1.0"} {
		if name, ok := table.name(netip.MustParseAddr(s)); ok {
			t.Errorf("%s stands for %q", s, name)
		}
	}
}

// query builds a question.
func query(name string, kind uint16) []byte {
	b := []byte{0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(append(b, 0), kind), classIN)
}

func testServer(t testing.TB, entries ...string) *nameServer {
	t.Helper()
	list, err := parseHosts(entries)
	if err != nil {
		t.Fatal(err)
	}
	return &nameServer{list: list, names: newNameTable(), record: newRecorder(), ipv6: true}
}

func TestNameServerAnswers(t *testing.T) {
	const (
		typePTR   = 12
		typeHTTPS = 65
	)
	rows := []struct {
		name    string
		query   []byte
		rcode   byte
		answers byte
		last    string // the address at the end
	}{
		{"a listed name", query("a.test", typeA), rcodeOK, 1, "198.18.1.0"},
		{"a listed name in capitals", query("A.tEsT", typeA), rcodeOK, 1, "198.18.1.0"},
		{"a listed name's IPv6", query("a.test", typeAAAA), rcodeOK, 1, "fd5a:9c1e:70b4::c612:100"},
		{"a listed name's IPv6 below a wildcard", query("x.wild.test", typeAAAA), rcodeOK, 1, "fd5a:9c1e:70b4::c612:100"},
		{"a listed name's service record", query("a.test", typeHTTPS), rcodeOK, 0, ""},
		{"a name below a wildcard", query("x.y.wild.test", typeA), rcodeOK, 1, "198.18.1.0"},
		{"the apex of a wildcard", query("wild.test", typeA), rcodeNoName, 0, ""},
		{"an unlisted name", query("b.test", typeA), rcodeNoName, 0, ""},
		{"an unlisted name's IPv6", query("b.test", typeAAAA), rcodeNoName, 0, ""},
		{"localhost", query("localhost", typeA), rcodeOK, 1, "127.0.0.1"},
		{"localhost's IPv6", query("localhost", typeAAAA), rcodeOK, 0, ""},
		{"a reverse look-up", query("1.0.18.198.in-addr.arpa", typePTR), rcodeNoName, 0, ""},
		{"a label with a dot inside", append([]byte{1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 6}, "a.test\x00\x00\x01\x00\x01"...), rcodeOK, 1, "198.18.1.0"},
		{"two questions", append([]byte{1, 2, 1, 0, 0, 2}, query("a.test", typeA)[6:]...), rcodeFormat, 0, ""},
		{"a name cut short", query("a.test", typeA)[:15], rcodeFormat, 0, ""},
		{"a compressed name", []byte{1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1}, rcodeFormat, 0, ""},
		{"another opcode", append([]byte{1, 2, 0x28, 0}, query("a.test", typeA)[4:]...), rcodeNotImpl, 0, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := testServer(t, "a.test", "*.wild.test").answer(row.query)
			if len(got) < dnsHeader || !bytes.Equal(got[:2], row.query[:2]) || got[2]&0x80 == 0 {
				t.Fatalf("answer % x", got)
			}
			if got[3]&15 != row.rcode || got[7] != row.answers {
				t.Errorf("rcode %d, %d answers", got[3]&15, got[7])
			}
			if row.last == "" {
				return
			}
			if want := netip.MustParseAddr(row.last).AsSlice(); !bytes.HasSuffix(got, append([]byte{0, byte(len(want))}, want...)) {
				t.Errorf("answer % x", got)
			}
		})
	}
	without := testServer(t, "a.test")
	without.ipv6 = false
	if got := without.answer(query("a.test", typeAAAA)); got[3]&15 != rcodeOK || got[7] != 0 {
		t.Errorf("a run without IPv6 is answered % x", got)
	}
	for _, silent := range [][]byte{nil, {1, 2, 3}, append([]byte{1, 2, 0x80, 0}, query("a.test", typeA)[4:]...)} {
		if got := testServer(t).answer(silent); got != nil {
			t.Errorf("% x is answered with % x", silent, got)
		}
	}
}

func TestNameServerRecordsRefusals(t *testing.T) {
	s := testServer(t, "a.test")
	for _, name := range []string{"b.test", "b.test", "c.test", "1.2.in-addr.arpa", "we\x00ird\x1b.test"} {
		s.answer(query(name, typeA))
	}
	want := "name-not-listed b.test 2,name-not-listed c.test 1,name-not-listed we?ird?.test 1"
	var got []string
	for _, r := range s.record.evidence().Refused {
		got = append(got, fmt.Sprintf("%s %s %d", r.Reason, r.Target, r.Count))
	}
	if strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestEvidenceStaysBelowAMessage(t *testing.T) {
	r := newRecorder()
	for i := range 1000 {
		name := fmt.Sprintf("%0253d", i)
		r.host(name).connections.Add(1 << 60)
		r.refuse(name+":65535", egresswire.ReasonHostHeader, strings.Repeat("f", 39))
	}
	e := r.evidence()
	if len(e.Hosts) != egresswire.MaxHosts || e.Hosts[egresswire.MaxHosts-1].Host != egresswire.OtherHosts || len(e.Refused) != egresswire.MaxRefused {
		t.Errorf("%d hosts, %d refusals", len(e.Hosts), len(e.Refused))
	}
	if e.RefusedMore != 1000-egresswire.MaxRefused {
		t.Errorf("%d more", e.RefusedMore)
	}
	if _, err := egresswire.Encode(egresswire.KindReport, e); err != nil {
		t.Error(err)
	}
}

func FuzzNameServer(f *testing.F) {
	f.Add(query("a.test", typeA))
	f.Add(query("wild.test", 28))
	f.Add([]byte{1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := testServer(t, "a.test", "*.wild.test").answer(b)
		if got == nil {
			return
		}
		if len(got) > 512 || !bytes.Equal(got[:2], b[:2]) {
			t.Errorf("answer % x", got)
		}
		// An answer is only ever given for a listed name.
		if q, ok := parseQuestion(b); got[7] == 1 && (!ok || q.name != "a.test" && !strings.HasSuffix(q.name, ".wild.test") && !strings.HasSuffix(q.name, "localhost")) {
			t.Errorf("%q has an address", q.name)
		}
	})
}

func TestParseProxyRequest(t *testing.T) {
	head := "POST http://A.test:8080?q=1 HTTP/1.1\r\nHost: other\r\nConnection: close, X-One\r\nX-One: 1\r\nTE: trailers\r\nProxy-Connection: keep-alive\r\nContent-Length: 3\r\nX-Two: 2\r\n\r\n"
	got, err := parseProxyRequest([]byte(head))
	want := "POST /?q=1 HTTP/1.1\r\nHost: A.test:8080\r\nContent-Length: 3\r\nX-Two: 2\r\nConnection: close\r\n\r\n"
	if err != nil || got.host != "a.test" || got.port != 8080 || got.forward != want {
		t.Errorf("%+v %v", got, err)
	}
}

func FuzzParseProxyRequest(f *testing.F) {
	f.Add([]byte("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"))
	f.Add([]byte("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		head, _, err := readRequestHead(bytes.NewReader(b))
		if err != nil {
			return
		}
		r, err := parseProxyRequest(head)
		if err != nil || r.connect {
			return
		}
		// What is sent on names the host that is connected to, and no other.
		look := &inspector{listed: func(h string) bool { return egresswire.CanonicalName(h) == r.host || h == r.host }}
		if found, _ := look.check([]byte(r.forward)); found != nil && found.reason == egresswire.ReasonHostHeader {
			t.Errorf("%q is sent on for %q, names %q", r.forward, r.host, found.target)
		}
	})
}
