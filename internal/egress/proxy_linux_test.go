package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/egresswire"
)

func TestProgramsReachAListedHostThroughTheProxy(t *testing.T) {
	rows := []struct {
		name string
		argv []string
		want string
	}{
		{"curl over http", []string{"curl", "-sS", "http://api.example.test/x"}, "hello api.example.test /x"},
		{"curl over https with a checked certificate", []string{"curl", "-sS", "--cacert", theWorld.caFile, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"curl on another port", []string{"curl", "-sS", "http://api.example.test:8080/x"}, "hello api.example.test:8080 /x"},
		{"curl below a wildcard", []string{"curl", "-sS", "http://sub.wild.test/"}, "hello sub.wild.test /"},
		{"curl with a body", []string{"curl", "-sS", "-d", "some=body", "http://api.example.test/x"}, "hello api.example.test /x"},
		{"python urllib over http", []string{"/usr/bin/python3", "-c", urlopen, "http://api.example.test/x"}, "hello api.example.test /x"},
		{"python urllib over https", []string{"/usr/bin/python3", "-c", urlopen, "https://api.example.test/x"}, "hello api.example.test /x"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := startProxied(t, hosts("api.example.test", "*.wild.test"), row.argv...).wait()
			if !strings.Contains(got.stdout, row.want) || got.code != 0 {
				t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
			}
			if got.evidence.Way != "proxy" || len(got.evidence.Refused) != 0 || got.evidence.Hosts[0].Connections != 1 {
				t.Errorf("evidence %+v", got.evidence)
			}
		})
	}
}

func TestProxyRefuses(t *testing.T) {
	listed := hosts("api.example.test", "*.wild.test", "alias.example.test", "nat64.example.test", "mapped.example.test", "loopback.example.test")
	narrowed := listed
	narrowed.Ports = []uint16{443}
	connect := func(target string) string { return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n" }
	get := func(target, more string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: api.example.test\r\n" + more + "\r\n"
	}
	rows := []struct {
		name    string
		config  egresswire.Config
		request string
		answer  string // the status line begins so; "" for a connection that is cut
		record  string
	}{
		{"an unlisted name", listed, connect("evil.test:443"), "HTTP/1.1 403", "name-not-listed evil.test"},
		{"an unlisted name behind a listed Host header", listed, get("http://evil.test/", ""), "HTTP/1.1 403", "name-not-listed evil.test"},
		{"the apex of a wildcard", listed, connect("wild.test:443"), "HTTP/1.1 403", "name-not-listed wild.test"},
		{"the address of a listed host", listed, connect(publicAddress + ":80"), "HTTP/1.1 403", "name-not-listed 203.0.113.10"},
		{"the metadata address in decimal", listed, connect("2852039166:80"), "HTTP/1.1 403", "name-not-listed 2852039166"},
		{"the metadata address in octal", listed, connect("0251.0376.0251.0376:80"), "HTTP/1.1 403", "name-not-listed 0251.0376.0251.0376"},
		{"the metadata address in hex", listed, get("http://0xa9fea9fe/", ""), "HTTP/1.1 403", "name-not-listed 0xa9fea9fe"},
		{"the metadata address mapped into IPv6", listed, connect("[::ffff:169.254.169.254]:80"), "HTTP/1.1 403", "name-not-listed 169.254.169.254"},
		{"NAT64 of the metadata address", listed, connect("[64:ff9b::a9fe:a9fe]:80"), "HTTP/1.1 403", "name-not-listed 64:ff9b::a9fe:a9fe"},
		{"an alias to an internal name", listed, connect("alias.example.test:80"), "HTTP/1.1 403", "internal-address alias.example.test 10.9.8.7"},
		{"a name with a NAT64 address", listed, connect("nat64.example.test:80"), "HTTP/1.1 403", "internal-address nat64.example.test 64:ff9b::a9fe:a9fe"},
		{"a name with a mapped address", listed, connect("mapped.example.test:80"), "HTTP/1.1 403", "internal-address mapped.example.test 169.254.169.254"},
		{"a name with a loopback address", listed, get("http://loopback.example.test/", ""), "HTTP/1.1 403", "internal-address loopback.example.test 127.0.0.1"},
		{"a port outside a narrowed list", narrowed, connect("api.example.test:80"), "HTTP/1.1 403", "port-not-allowed api.example.test:80"},
		{"a target without a port", listed, connect("api.example.test"), "HTTP/1.1 400", ""},
		{"a target with a user part", listed, get("http://api.example.test@evil.test/", ""), "HTTP/1.1 400", ""},
		{"a request that is not for a proxy", listed, get("/", ""), "HTTP/1.1 400", ""},
		{"another scheme", listed, get("https://api.example.test/", ""), "HTTP/1.1 400", ""},
		{"a line that is not HTTP", listed, "hello\r\n\r\n", "HTTP/1.1 400", ""},
		{"a folded header line", listed, get("http://api.example.test/", "X: a\r\n b\r\n"), "HTTP/1.1 400", ""},
		{"a head without end", listed, get("http://api.example.test/", "X: "+strings.Repeat("a", maxHead)), "HTTP/1.1 431", ""},
		{"a tunnel in which another Host is asked for", listed, connect("api.example.test:80") + "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "HTTP/1.1 200 Connection established", "host-header-not-listed evil.test"},
		{"a second request for another Host behind the first", listed, "POST http://api.example.test:9/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nyGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "", "host-header-not-listed evil.test"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			before := theWorld.internalHits()
			answer, evidence := askProxy(t, row.config, row.request)
			if !strings.HasPrefix(answer, row.answer) || strings.Contains(answer, "hello") {
				t.Errorf("answer %q, want %q", answer, row.answer)
			}
			var got []string
			for _, r := range evidence.Refused {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Reason, r.Target, strings.TrimSpace(r.Detail))))
			}
			if strings.Join(got, "\n") != row.record {
				t.Errorf("refused %q, want %q", got, row.record)
			}
			if theWorld.internalHits() != before {
				t.Error("an internal server was reached")
			}
		})
	}
}

// askProxy sends the bytes to a proxy and returns all it answers.
func askProxy(t *testing.T, c egresswire.Config, request string) (string, egresswire.Evidence) {
	t.Helper()
	c.Mode = egresswire.ModeProxy
	listener, port, err := egresswire.ListenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	p := startEgress(t, c, listener)
	t.Cleanup(p.Kill)
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(runTimeout))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn) // a cut connection ends with an error
	evidence, err := p.Stop(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer), evidence
}

func TestProxySendsTheTargetsHost(t *testing.T) {
	answer, _ := askProxy(t, hosts("api.example.test"), "GET http://api.example.test/x HTTP/1.1\r\nHost: other.example.test\r\nConnection: keep-alive, X-Drop\r\nProxy-Authorization: secret\r\nX-Drop: 1\r\n\r\n")
	if !strings.Contains(answer, "hello api.example.test /x") {
		t.Errorf("answer %q", answer)
	}
}

// upstreamProxy is a proxy of the host's network that notes what it is asked.
func upstreamProxy(t *testing.T) (string, *safeBuffer) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked := &safeBuffer{}
	go serveUntilEnd(t.Context(), l, func(c net.Conn) {
		defer c.Close()
		b := bufio.NewReader(c)
		r, err := http.ReadRequest(b)
		if err != nil {
			return
		}
		fmt.Fprintf(asked, "%s %s %s;", r.Method, r.Host, r.Header.Get("Proxy-Authorization"))
		if strings.HasPrefix(r.Host, "sub.") {
			io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
			return
		}
		out, err := net.Dial("tcp", publicAddress+":80")
		if err != nil {
			return
		}
		defer out.Close()
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(out, b)
		io.Copy(c, out)
	})
	return l.Addr().String(), asked
}

func TestDeclaredHostsOnTopOfAProxy(t *testing.T) {
	address, asked := upstreamProxy(t)
	c := hosts("api.example.test", "sub.wild.test")
	c.Upstream = "http://user:pass@" + address
	script := "curl -sS http://api.example.test/; curl -4 -sS http://sub.wild.test/ 2>&1 | cut -c1-9; curl -sS http://evil.test/ 2>&1 | cut -c1-9"
	got := start(t, c, "sh", "-c", script).wait()
	if want := "hello api.example.test /curl: (7)\ncurl: (6)\n"; got.stdout != want {
		t.Errorf("stdout %q, want %q", got.stdout, want)
	}
	if want := "CONNECT api.example.test:80 Basic dXNlcjpwYXNz;CONNECT sub.wild.test:80 Basic dXNlcjpwYXNz;"; asked.String() != want {
		t.Errorf("the proxy was asked %q, want %q", asked.String(), want)
	}
	if got.evidence.Hosts[1].Failed != 1 {
		t.Errorf("evidence %+v", got.evidence)
	}
}

// TestInUserNamespace runs the tests of this package again as a plain user in
// a user namespace: no root, and no device node where this host keeps it to
// root.
func TestInUserNamespace(t *testing.T) {
	if os.Getenv(userVariable) != "" {
		return // this is the inner one
	}
	t.Setenv(userVariable, "1")
	pattern := "^(TestPrograms|TestRunIsRefused|TestRebinding|TestRunHasNo|TestProcessIs)/" +
		"^(node_|curl|an_unlisted|an_IPv6|python|the_address|the_metadata_address$|UDP|an_alias)"
	args := []string{"-test.run=" + pattern, "-test.count=1", "-test.timeout=120s"}
	code, err := runAsHost(os.Getenv(binaryVariable), args, true, 65534)
	if err != nil || code != 0 {
		t.Errorf("exit %d: %v", code, err)
	}
}
