package escape

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"skill-mcp/internal/report"
)

// outside is what lies beyond the run: a name server and servers on the host's
// loopback address, which the policy of the test lists as internal.
type outside struct {
	resolver          string
	ca                []byte
	http, https, echo string // ports
	rebinds           atomic.Int64
}

// newOutside starts the servers.
func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s\n", strings.Split(r.Host, ":")[0])
	})
	quiet := log.New(io.Discard, "", 0)
	plain, secure := httptest.NewServer(hello), httptest.NewUnstartedServer(hello)
	secure.Config.ErrorLog = quiet
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{o.certificate(t)}}
	secure.StartTLS()
	echo, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 16)) // a client that is gone is not answered
			_, _ = c.Write([]byte("pong"))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { plain.Close(); secure.Close(); echo.Close() })
	port := func(a net.Addr) string { return strconv.Itoa(a.(*net.TCPAddr).Port) }
	o.http, o.https, o.echo = port(plain.Listener.Addr()), port(secure.Listener.Addr()), port(echo.Addr())
	o.resolve(t)
	return o
}

// certificate is good for the listed name only.
func (o *outside) certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"listed.test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	o.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// resolve answers questions: names of the test lead to the host's loopback
// address, some where nothing may lead.
func (o *outside) resolve(t *testing.T) {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	o.resolver = c.LocalAddr().String()
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			o.answer(&m)
			if b, err := m.Pack(); err == nil {
				_, _ = c.WriteTo(b, from) // the asker may be gone
			}
		}
	}()
}

func (o *outside) answer(m *dnsmessage.Message) {
	m.Header.Response, m.Additionals = true, nil
	q := m.Questions[0]
	if q.Type != dnsmessage.TypeA {
		return
	}
	head, a := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, [4]byte{127, 0, 0, 1}
	switch q.Name.String() {
	case "alias.listed.test.":
		inner := dnsmessage.MustNewName("db.corp.test.")
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: inner}})
		head.Name, a = inner, [4]byte{10, 9, 8, 7}
	case "rebind.listed.test.":
		if o.rebinds.Add(1) > 1 {
			a = [4]byte{169, 254, 169, 254}
		}
	}
	m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a}})
}

// way is how a run reaches its hosts, by who starts the server and on what.
type way struct {
	name, level, deny, layers string
	uid                       int
	got                       report.Got
}

func ways() []way {
	plain := users()["plain user"]
	list := []way{
		{"plain user", "packet", "", "", plain, report.Enforced},
		{"plain user without user namespaces", "proxy", "1 user-namespaces", "", plain, report.Partial},
	}
	if node, err := os.Stat("/dev/net/tun"); err == nil && node.Mode().Perm()&0o006 == 0o006 {
		list[0].level = "tun"
	}
	if uid, ok := users()["root"]; ok {
		list = append(list, way{"root", "tun", "", "", uid, report.Enforced},
			way{"root without a network namespace", "proxy", "", "layers:\n  ns-net: {want: off, why: a test}\n", uid, report.Partial})
	}
	return list
}

// TestDeclaredHostsAreAllThatIsReached: what the skill declares is reached by
// node, python and curl, and nothing else is, in each way there is.
func TestDeclaredHostsAreAllThatIsReached(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			o := newOutside(t)
			s := startDeclared(t, w, o)
			r := s.runArgs("hosts", "hosts.js", fmt.Sprintf(`{"http":%s,"https":%s,"echo":%s}`, o.http, o.https, o.echo))
			if row := r.Fence.Row(report.NSNet); row.Got != w.got || row.Level != w.level || (w.got == report.Partial) != (row.Reason != "") {
				t.Errorf("report %+v, want %s %s", row, w.got, w.level)
			}
			var said struct{ Acts map[string]string }
			if err := json.Unmarshal([]byte(r.Stdout), &said); err != nil {
				t.Fatalf("%q %q %s: %v", r.Stdout, r.Stderr, r.Error, err)
			}
			for act, want := range wantedActs(w.level == "proxy") {
				if got := said.Acts[act]; !slices.Contains(strings.Split(want, "|"), got) {
					t.Errorf("%s: %s, want %s", act, got, want)
				}
				delete(said.Acts, act)
			}
			if len(said.Acts) > 0 {
				t.Errorf("not judged: %v", said.Acts)
			}
			checkEvidence(t, r)
			py := s.runArgs("hosts", "hosts.py", o.http, o.https)
			if lines := strings.Split(strings.TrimSpace(py.Stdout), "\n"); len(lines) != 4 || lines[0] != "hello listed.test" || lines[1] != lines[0] ||
				!strings.HasPrefix(lines[2], "refused") || !strings.HasPrefix(lines[3], "refused") {
				t.Errorf("python: %q %q %s", py.Stdout, py.Stderr, py.Error)
			}
			curl := s.runArgs("hosts", "hosts.curl")
			if curl.Stdout != "hello listed.test\nhello listed.test\n" || curl.Stderr != "" {
				t.Errorf("curl: %q %q %s", curl.Stdout, curl.Stderr, curl.Error)
			}
		})
	}
}

// wantedActs are the outcomes of hosts.js. Behind a proxy the refusal is the
// proxy's 403, and what does not speak to it has no network at all.
func wantedActs(proxied bool) map[string]string {
	pick := func(device, proxy string) string {
		if proxied {
			return proxy
		}
		return device
	}
	noName, no := pick("ENOTFOUND", "403"), pick("ECONNREFUSED", "403")
	return map[string]string{
		"http": "hello listed.test", "http below a wildcard": "hello a.b.wild.test", "https": "hello listed.test", "net": "pong",
		"https, wrong certificate": "ERR_TLS_CERT_ALTNAME_INVALID", "own server": "EACCES", // Landlock: no rule lets it bind
		// node 20 knows no proxy variable, later ones do.
		"fetch":         pick("hello listed.test", "EACCES|ENOTFOUND|EAI_AGAIN|hello listed.test"),
		"unlisted name": noName, "apex of a wildcard": noName, "DoH at an unlisted host": pick("ENOTFOUND", "EACCES|ENOTFOUND|EAI_AGAIN|403"),
		"public address": no, "IPv6": no, "metadata": no, "metadata, decimal": no, "metadata, octal": no, "metadata, hex": no, "metadata, mapped": no,
		"metadata, NAT64": no, "alias to an internal name": no, "rebinding name": no, "address of a listed host": no,
		"server name": "ECONNRESET|closed", "Host header": "ECONNRESET|cut|closed",
		"UDP": pick("EHOSTUNREACH", "EPROTONOSUPPORT"), "UDP over IPv6": pick("EACCES", "EPROTONOSUPPORT"),
	}
}

// checkEvidence looks for the host that was reached and for refusals.
func checkEvidence(t *testing.T, r result) {
	t.Helper()
	var reached, refused int64
	for _, h := range r.Evidence.Egress {
		if h.Host == "listed.test" && h.Refused == 0 {
			reached += h.Connections
		}
		refused += h.Refused
	}
	if reached < 3 || refused < 10 {
		t.Errorf("evidence: %d connections, %d refusals: %+v", reached, refused, r.Evidence.Egress)
	}
}

// startDeclared starts a server with a skill that declares hosts.
func startDeclared(t *testing.T, w way, o *outside) *server {
	t.Helper()
	s := startOn(t, w.uid, "", w.deny)
	s.stop(s.c)
	dir := filepath.Join(s.m.Root, "hosts")
	s.must(os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{
		"SKILL.md": `---
name: hosts
description: Reaches hosts.
mcp-host:
  version: 1
  run:
    - {script: hosts.js, interpreter: node, timeout: 60}
    - {script: hosts.py, interpreter: python3, timeout: 30}
    - {script: hosts.curl, interpreter: curl, timeout: 30}
  egress: [listed.test, "*.listed.test", "*.wild.test"]
---
`,
		"ca.pem":     string(o.ca),
		"hosts.curl": fmt.Sprintf("silent\nshow-error\ncacert = ca.pem\nurl = http://listed.test:%s/\nurl = https://listed.test:%s/\n", o.http, o.https),
	} {
		s.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, name := range []string{"hosts.js", "hosts.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		s.must(err)
		s.must(os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	curl, err := exec.LookPath("curl")
	s.must(err)
	policy := filepath.Join(s.m.Dir, "hosts.yaml")
	s.must(os.WriteFile(policy, []byte(fmt.Sprintf(`name: hosts
network: {mode: declared, why: what is tested}
egress:
  testResolver: %q
  internal:
    - {host: 127.0.0.1, why: the test's servers}
%sinterpreters:
  curl: {path: %s, args: ["-q", "-K"], why: a program of another kind}
%s
`, o.resolver, w.layers, curl, readyMade(t))), 0o644))
	s.launch(policy)
	return s
}
