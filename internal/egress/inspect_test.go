package egress

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"skill-mcp/internal/egresswire"
)

// listedForTest lists a.test and the names below wild.test.
func listedForTest(host string) bool {
	host = egresswire.CanonicalName(host)
	return host == "a.test" || strings.HasSuffix(host, ".wild.test")
}

// outcome is what an inspector said of bytes, and how many it let through
// before.
type outcome struct {
	target string
	reason egresswire.Reason
	passed int
}

// inspect feeds the bytes in pieces of a size.
func inspect(b []byte, size int) outcome {
	look := &inspector{listed: listedForTest}
	for at := 0; at < len(b); at += size {
		found, done := look.check(b[at:min(at+size, len(b))])
		if found != nil {
			return outcome{found.target, found.reason, at}
		}
		if done {
			break
		}
	}
	return outcome{passed: len(b)}
}

// hello is the first flight of a TLS client that asks for the name.
func hello(t testing.TB, name string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		tls.Client(theirs, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
		theirs.Close()
	}()
	b := make([]byte, 16<<10)
	n, err := ours.Read(b)
	ours.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// inTwoRecords cuts a hello into two TLS records.
func inTwoRecords(b []byte, at int) []byte {
	body := b[recordHeader:]
	record := func(part []byte) []byte {
		return append([]byte{recordHandshake, 3, 1, byte(len(part) >> 8), byte(len(part))}, part...)
	}
	return append(record(body[:at]), record(body[at:])...)
}

func TestInspector(t *testing.T) {
	const (
		header    = egresswire.ReasonHostHeader
		malformed = egresswire.ReasonMalformed
	)
	ask := func(host string) string { return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }
	rows := []struct {
		name   string
		bytes  string
		target string
		reason egresswire.Reason
	}{
		{"a hello for a listed name", string(hello(t, "a.test")), "", ""},
		{"a hello for a name below a wildcard", string(hello(t, "x.wild.test")), "", ""},
		{"a hello without a name", string(hello(t, "")), "", ""},
		{"a hello for another name", string(hello(t, "evil.test")), "evil.test", egresswire.ReasonServerName},
		{"a hello in two records", string(inTwoRecords(hello(t, "evil.test"), 70)), "evil.test", egresswire.ReasonServerName},
		{"a hello whose length lies", strings.Replace(string(hello(t, "evil.test")), "\x00\x09evil.test", "\x00\x0aevil.test", 1), "", malformed},
		{"a hello that never ends", "\x16\x03\x01\x40\x00\x01\xff\xff\xff" + strings.Repeat("a", 0x4000), "", malformed},
		{"a request to a listed host", ask("a.test"), "", ""},
		{"a request with a port", ask("a.test:8080"), "", ""},
		{"a request in capitals", ask("A.TEST"), "", ""},
		{"a request with a dot at the end", ask("a.test."), "", ""},
		{"a request without a host", "GET / HTTP/1.0\r\n\r\n", "", ""},
		{"a request to another host", ask("evil.test"), "evil.test", header},
		{"a request to an address", ask("169.254.169.254"), "169.254.169.254", header},
		{"a request to an IPv6 address", ask("[::1]:80"), "::1", header},
		{"a header name in another case", "GET / HTTP/1.1\r\nhOsT:evil.test\r\n\r\n", "evil.test", header},
		{"two Host headers", "GET / HTTP/1.1\r\nHost: a.test\r\nHost: evil.test\r\n\r\n", "evil.test", header},
		{"lines that end in a line feed only", "GET / HTTP/1.1\nHost: evil.test\n\n", "evil.test", header},
		{"empty lines first", "\r\n\r\n" + ask("evil.test"), "evil.test", header},
		{"an absolute target", "GET http://evil.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "evil.test", header},
		{"an absolute target with a user part", "GET http://a.test@evil.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test@evil.test", malformed},
		{"CONNECT to another host", "CONNECT evil.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", "evil.test", header},
		{"a hello for another name inside a CONNECT", "CONNECT a.test:443 HTTP/1.1\r\n\r\n" + string(hello(t, "evil.test")), "evil.test", egresswire.ReasonServerName},
		{"a second request", ask("a.test") + ask("evil.test"), "evil.test", header},
		{"a request after a body", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nGET / HTT" + ask("evil.test"), "evil.test", header},
		{"a body that looks like a request", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 39\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n0000" + ask("a.test"), "", ""},
		{"a request after chunks", "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n" + ask("evil.test"), "evil.test", header},
		{"a length and chunks", "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "", malformed},
		{"two lengths", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "", malformed},
		{"a length with a sign", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: +3\r\n\r\n", "", malformed},
		{"an empty length", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length:\r\n\r\n", "", malformed},
		{"another encoding", "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: xchunked\r\n\r\n", "", malformed},
		{"a folded header", "GET / HTTP/1.1\r\nX: y\r\n Host: evil.test\r\n\r\n", "", malformed},
		{"a space before the colon", "GET / HTTP/1.1\r\nHost : evil.test\r\n\r\n", "", malformed},
		{"a bare return", "GET / HTTP/1.1\r\nX: y\rHost: evil.test\r\n\r\n", "", malformed},
		{"a tab in the request line", "GET\t/\tHTTP/1.1\r\nHost: evil.test\r\n\r\n", "", malformed},
		{"two spaces in the request line", "GET  / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "", malformed},
		{"an upgrade that the server does not make", "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: x\r\n\r\n" + ask("evil.test"), "evil.test", header},
		{"an upgrade with a body", "POST / HTTP/1.1\r\nHost: a.test\r\nUpgrade: x\r\nContent-Length: 1\r\n\r\n{" + ask("evil.test"), "evil.test", header},
		{"frames after an upgrade", "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n\r\n\x81\x85abcd" + ask("evil.test"), "", ""},
		{"HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", ""},
		{"a mail client", "EHLO evil.test\r\nMAIL FROM:<a@evil.test>\r\n", "", ""},
		{"a shell client", "SSH-2.0-x\r\n\x00\x00", "", ""},
		{"bytes of no protocol", "\x00\x01\x02Host: evil.test\r\n", "", ""},
		{"a long word", strings.Repeat("a", 2*maxLine), "", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 7, 1000, 1 << 20} {
				got := inspect([]byte(row.bytes), size)
				if got.target != row.target || got.reason != row.reason {
					t.Errorf("in pieces of %d: %+v, want %q %q", size, got, row.target, row.reason)
				}
				if row.target != "" && size == 1 && strings.Contains(row.bytes[:got.passed], "\nHost: "+row.target+"\r\n") {
					t.Errorf("the name left before it was refused")
				}
			}
		})
	}
}

func FuzzInspector(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), 3)
	f.Add([]byte("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"), 5)
	f.Add(hello(f, "evil.test"), 100)
	f.Add([]byte("CONNECT a.test:1 HTTP/1.1\r\n\r\n\x16\x03\x01"), 9)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		if size < 1 || size > 4096 {
			return
		}
		one, cut := inspect(b, len(b)+1), inspect(b, size)
		if one.target != cut.target || one.reason != cut.reason {
			t.Errorf("%q: whole %+v, in pieces of %d %+v", b, one, size, cut)
		}
	})
}

func TestRequestHeadIsReadWhole(t *testing.T) {
	head, rest, err := readRequestHead(io.MultiReader(strings.NewReader("GET / HTTP/1.1\r"), strings.NewReader("\n\r"), strings.NewReader("\nrest")))
	if err != nil || string(head) != "GET / HTTP/1.1\r\n\r\n" || string(rest) != "rest" {
		t.Errorf("%q %q %v", head, rest, err)
	}
	if _, _, err := readRequestHead(strings.NewReader(strings.Repeat("a", maxHead+1))); err != errHeadTooLong {
		t.Errorf("%v", err)
	}
}
