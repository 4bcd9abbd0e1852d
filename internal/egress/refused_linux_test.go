package egress

import (
	"fmt"
	"strings"
	"testing"

	"skill-mcp/internal/egresswire"
)

// connectText tells what came of a connection, in one word.
const connectText = `
const [host, port] = process.argv.slice(1)
const c = require('net').connect({ host, port, autoSelectFamily: false }, () => { console.log('connected'); c.destroy() })
c.on('error', e => console.log(e.code))
setTimeout(() => { console.log('timeout'); process.exit() }, 8000).unref()`

// getText asks for a page with a Host header of choice.
const getText = `
const [host, header, path = '/'] = process.argv.slice(1)
require('http').get({ host, path, headers: { Host: header } }, r => { console.log('status', r.statusCode); r.resume() }).on('error', e => console.log(e.code))`

// tlsText connects to one name and asks for another.
const tlsText = `
const [host, servername] = process.argv.slice(1)
const c = require('tls').connect({ host, port: 443, servername, rejectUnauthorized: false }, () => { console.log('secure'); c.destroy() })
c.on('error', e => console.log(e.code))`

// udpText sends a datagram and waits for any answer.
const udpText = `
const [host, port] = process.argv.slice(1)
const s = require('dgram').createSocket(host.includes(':') ? 'udp6' : 'udp4')
s.on('message', () => { console.log('answered'); s.close() })
s.on('error', e => { console.log(e.code); s.close() })
s.connect(+port, host, () => { s.send('x'); setTimeout(() => { console.log('silence'); s.close() }, 300).unref() })`

// pingText sends an echo request. The test's run keeps the right to a raw
// socket, which a fenced one has not.
const pingText = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(0.3); s.connect(('203.0.113.10', 1)); s.send(b'\x08\x00\xf7\xff\x00\x00\x00\x00')
try: s.recv(100); print('answered')
except Exception as e: print('silence')`

const ping6Text = `
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.settimeout(0.3); s.connect(('2001:db8::10', 0)); s.send(b'\x80\x00\x00\x00\x00\x00\x00\x00')
try: s.recv(100); print('answered')
except Exception as e: print('silence')`

// extendedText hides a TCP segment behind destination options.
const extendedText = `
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, 60)
s.settimeout(0.3); s.connect(('2001:db8::10', 0)); s.send(b'\x06\x00\x01\x04\x00\x00\x00\x00' + b'\x30\x39\x00\x50' + b'\x00' * 8 + b'\x50\x02\xff\xff' + b'\x00' * 4)
try: s.recv(100); print('answered')
except Exception as e: print('silence')`

// laterText sends two requests on one connection, the second for another host.
const laterText = `
const c = require('net').connect(80, 'api.example.test', () => c.write('GET /one HTTP/1.1\r\nHost: api.example.test\r\n\r\n'))
let all = ''
c.on('data', d => { all += d; if (!all.includes('evil') && all.includes('/one')) c.write('GET /two HTTP/1.1\r\nHost: evil.test\r\n\r\n') })
c.on('error', e => console.log(e.code)); c.on('close', () => console.log(all.includes('evil') ? 'reached' : 'cut'))`

// refused is what a run tries in vain.
type refused struct {
	name   string
	config egresswire.Config
	argv   []string
	stdout string // what the program must say
	record string // what the evidence must hold
}

func refusedRows() []refused {
	node := func(text string, args ...string) []string { return append([]string{"node", "-e", text}, args...) }
	listed := hosts("api.example.test", "*.wild.test")
	list := func(names ...string) egresswire.Config { return hosts(append(names, "api.example.test")...) }
	narrowed := listed
	narrowed.Ports = []uint16{443}
	noPort := listed
	noPort.Ports = []uint16{0}
	return []refused{
		{"an unlisted name", listed, node(connectText, "evil.test", "80"), "ENOTFOUND", "name-not-listed evil.test"},
		{"the apex of a wildcard", listed, node(connectText, "wild.test", "80"), "ENOTFOUND", "name-not-listed wild.test"},
		{"a name that only ends like a listed one", listed, node(connectText, "evilapi.example.test", "80"), "ENOTFOUND", "name-not-listed evilapi.example.test"},
		{"a public address", listed, node(connectText, "192.0.2.7", "80"), "ECONNREFUSED", "address-not-listed 192.0.2.7:80"},
		{"the address of a listed host", listed, node(connectText, publicAddress, "80"), "ECONNREFUSED", "address-not-listed 203.0.113.10:80"},
		{"an address of the run's own range that stands for nothing", listed, node(connectText, "198.18.77.7", "80"), "ECONNREFUSED", "address-not-listed 198.18.77.7:80 benchmarking"},
		{"the name server over TCP", listed, node(connectText, "198.18.0.1", "53"), "ECONNREFUSED", "address-not-listed 198.18.0.1:53 benchmarking"},
		{"a port outside a narrowed list", narrowed, node(connectText, "api.example.test", "80"), "ECONNREFUSED", "port-not-allowed api.example.test:80"},
		{"any port when two lists share none", noPort, node(connectText, "api.example.test", "80"), "ECONNREFUSED", "port-not-allowed api.example.test:80"},
		{"an IPv6 address", listed, node(connectText, "2001:db8::1", "80"), "ECONNREFUSED", "address-not-listed [2001:db8::1]:80"},
		{"the IPv6 address of a listed host", listed, node(connectText, publicAddress6, "80"), "ECONNREFUSED", "address-not-listed [2001:db8::10]:80"},
		{"an IPv6 address of the run's own range that stands for nothing", listed, node(connectText, "fd5a:9c1e:70b4::198.18.77.7", "80"), "ECONNREFUSED", "address-not-listed [fd5a:9c1e:70b4::c612:4d07]:80 private"},
		{"an IPv6 address beside the run's own range", listed, node(connectText, "fd5a:9c1e:70b4:1::198.18.1.0", "80"), "ECONNREFUSED", "address-not-listed [fd5a:9c1e:70b4:1::c612:100]:80 private"},
		{"the metadata service of IPv6", listed, node(connectText, "fd00:ec2::254", "80"), "ECONNREFUSED", "address-not-listed [fd00:ec2::254]:80 private"},
		{"NAT64 of the metadata address", listed, node(connectText, "64:ff9b::a9fe:a9fe", "80"), "ECONNREFUSED", "address-not-listed [64:ff9b::a9fe:a9fe]:80 link-local"},
		{"6to4 of the metadata address", listed, node(connectText, "2002:a9fe:a9fe::1", "80"), "ECONNREFUSED", "address-not-listed [2002:a9fe:a9fe::1]:80 6to4"},
		{"the metadata address", listed, node(connectText, "169.254.169.254", "80"), "ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address in decimal", listed, node(connectText, "2852039166", "80"), "ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address in octal", listed, node(connectText, "0251.0376.0251.0376", "80"), "ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address in hex", listed, node(connectText, "0xa9fea9fe", "80"), "ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address mapped into IPv6", listed, node(connectText, "::ffff:169.254.169.254", "80"), "ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address in decimal in a URL", listed, node(fetchText, "http://2852039166/"), "failed ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address in octal in a URL", listed, node(fetchText, "http://0251.0376.0251.0376/"), "failed ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address in hex in a URL", listed, node(fetchText, "http://0xa9.0xfe.0xa9fe/"), "failed ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"the metadata address mapped into IPv6 in a URL", listed, node(fetchText, "http://[::ffff:a9fe:a9fe]/"), "failed ECONNREFUSED", "address-not-listed 169.254.169.254:80 link-local"},
		{"NAT64 of the metadata address in a URL", listed, node(fetchText, "http://[64:ff9b::169.254.169.254]/"), "failed ECONNREFUSED", "address-not-listed [64:ff9b::a9fe:a9fe]:80 link-local"},
		{"UDP to a public address", listed, node(udpText, "192.0.2.7", "443"), "EHOSTUNREACH", "udp 192.0.2.7:443"},
		{"UDP to a listed host", listed, node(udpText, "api.example.test", "443"), "EHOSTUNREACH", "udp 198.18.1.0:443"},
		{"UDP over IPv6", listed, node(udpText, "2001:db8::1", "443"), "EACCES", "udp [2001:db8::1]:443"},
		{"UDP over IPv6 to a listed host", listed, node(udpText, "fd5a:9c1e:70b4::198.18.1.0", "443"), "EACCES", "udp [fd5a:9c1e:70b4::c612:100]:443"},
		{"a question to a name server over IPv6", listed, node(udpText, "fd5a:9c1e:70b4::198.18.0.1", "53"), "EACCES", "udp [fd5a:9c1e:70b4::c612:1]:53"},
		{"a question to another name server", listed, node(udpText, "192.0.2.53", "53"), "EHOSTUNREACH", "udp 192.0.2.53:53"},
		{"an echo request", listed, []string{"/usr/bin/python3", "-c", pingText}, "silence", "protocol 203.0.113.10 1"},
		{"an echo request over IPv6", listed, []string{"/usr/bin/python3", "-c", ping6Text}, "silence", "protocol 2001:db8::10 58"},
		{"a packet with an extension header", listed, []string{"/usr/bin/python3", "-c", extendedText}, "silence", "protocol 2001:db8::10 60"},
		{"DNS over HTTPS at an unlisted host", listed, node(fetchText, "https://dns.test/dns-query?name=evil.test"), "failed ENOTFOUND", "name-not-listed dns.test"},
		{"a server name that is not listed", listed, node(tlsText, "api.example.test", "evil.test"), "ECONNRESET", "server-name-not-listed evil.test"},
		{"a Host header that is not listed", listed, node(getText, "api.example.test", "evil.test"), "ECONNRESET", "host-header-not-listed evil.test"},
		{"an absolute target that is not listed", listed, node(getText, "api.example.test", "api.example.test", "http://evil.test/"), "ECONNRESET", "host-header-not-listed evil.test"},
		{"a Host header of a later request", listed, node(laterText), "ECONNRESET\ncut", "host-header-not-listed evil.test"},
		{"an alias of a listed name to an internal one", list("alias.example.test"), node(connectText, "alias.example.test", "80"), "ECONNREFUSED", "internal-address alias.example.test 10.9.8.7"},
		{"a listed name with a private address", list("private.example.test"), node(connectText, "private.example.test", "80"), "ECONNREFUSED", "internal-address private.example.test 10.9.8.7"},
		{"a listed name with a loopback address", list("loopback.example.test"), node(connectText, "loopback.example.test", "80"), "ECONNREFUSED", "internal-address loopback.example.test 127.0.0.1"},
		{"a listed name with the metadata address", list("metadata.example.test"), node(connectText, "metadata.example.test", "80"), "ECONNREFUSED", "internal-address metadata.example.test 169.254.169.254"},
		{"a listed name with a mapped address", list("mapped.example.test"), node(connectText, "mapped.example.test", "80"), "ECONNREFUSED", "internal-address mapped.example.test 169.254.169.254"},
		{"a listed name with a NAT64 address", list("nat64.example.test"), node(connectText, "nat64.example.test", "80"), "ECONNREFUSED", "internal-address nat64.example.test 64:ff9b::a9fe:a9fe"},
		{"a listed name with a 6to4 address", list("sixtofour.example.test"), node(connectText, "sixtofour.example.test", "80"), "ECONNREFUSED", "internal-address sixtofour.example.test 2002:a9fe:a9fe::1"},
		{"a listed name with a shared address", list("shared.example.test"), node(connectText, "shared.example.test", "80"), "ECONNREFUSED", "internal-address shared.example.test 100.100.100.200"},
		{"a listed name with a multicast address", list("multicast.example.test"), node(connectText, "multicast.example.test", "80"), "ECONNREFUSED", "internal-address multicast.example.test 224.0.0.251"},
		{"a listed name with an address of the run's own range", list("self.example.test"), node(connectText, "self.example.test", "80"), "ECONNREFUSED", "internal-address self.example.test 198.18.0.1"},
		{"a listed name that does not exist", list("gone.example.test"), node(connectText, "gone.example.test", "80"), "ECONNREFUSED", ""},
		{"a listed metadata address", list("169.254.169.254"), node(connectText, "169.254.169.254", "80"), "ECONNREFUSED", "internal-address 169.254.169.254 169.254.169.254"},
		{"a listed metadata address in decimal", list("169.254.169.254"), node(connectText, "2852039166", "80"), "ECONNREFUSED", "internal-address 169.254.169.254 169.254.169.254"},
		{"a listed NAT64 address", list("64:ff9b::a9fe:a9fe"), node(connectText, "64:ff9b::a9fe:a9fe", "80"), "ECONNREFUSED", "internal-address 64:ff9b::a9fe:a9fe 64:ff9b::a9fe:a9fe"},
		{"anything when nothing is listed", hosts(), node(connectText, "api.example.test", "80"), "ENOTFOUND", "name-not-listed api.example.test"},
	}
}

func TestRunIsRefused(t *testing.T) {
	for _, row := range refusedRows() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			before := theWorld.internalHits()
			got := start(t, row.config, row.argv...).wait()
			if strings.TrimSpace(got.stdout) != row.stdout {
				t.Errorf("stdout %q, want %q; stderr %q", got.stdout, row.stdout, got.stderr)
			}
			if refusals(got.evidence) != row.record {
				t.Errorf("refused %q, want %q", refusals(got.evidence), row.record)
			}
			if after := theWorld.internalHits(); after != before {
				t.Errorf("%d connections reached an internal server", after-before)
			}
		})
	}
}

// internalHits counts what arrived where nothing may.
func (w *world) internalHits() int64 {
	return w.loopback.Load() + w.private.Load() + w.metadata.Load()
}

func TestRebindingNameIsRefused(t *testing.T) {
	theWorld.rebinds.Store(0)
	before := theWorld.internalHits()
	script := `for i in 1 2 3; do curl -sS --max-time 5 http://rebind.example.test/ 2>/dev/null || echo " failed"; done`
	got := start(t, hosts("rebind.example.test"), "sh", "-c", script).wait()
	if want := "hello rebind.example.test / failed\n failed\n"; got.stdout != want {
		t.Errorf("stdout %q, want %q", got.stdout, want)
	}
	if want := "internal-address rebind.example.test 127.0.0.1"; refusals(got.evidence) != want {
		t.Errorf("refused %q, want %q", refusals(got.evidence), want)
	}
	if after := theWorld.internalHits(); after != before {
		t.Error("the second address was reached")
	}
}

func TestNameWithOnePublicAddressReachesThatOne(t *testing.T) {
	before := theWorld.internalHits()
	got := start(t, hosts("mixed.example.test"), "curl", "-sS", "http://mixed.example.test/").wait()
	if got.stdout != "hello mixed.example.test /" {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
	if want := "internal-address mixed.example.test 127.0.0.1"; refusals(got.evidence) != want {
		t.Errorf("refused %q, want %q", refusals(got.evidence), want)
	}
	if after := theWorld.internalHits(); after != before {
		t.Error("the internal address was reached")
	}
}

func TestPolicyListsInternal(t *testing.T) {
	rows := []struct{ name, internal, host string }{
		{"by name", "private.example.test", "private.example.test"},
		{"by address", "10.9.8.7", "private.example.test"},
		{"by prefix", "10.9.0.0/16", "private.example.test"},
		{"by a wildcard", "*.example.test", "loopback.example.test"},
		{"by address, for a name that is an alias", "10.9.8.7", "alias.example.test"},
		{"by address, for a host that is that address", "10.9.8.7", "10.9.8.7"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := hosts(row.host)
			c.Internal = []string{row.internal}
			got := start(t, c, "curl", "-sS", fmt.Sprintf("http://%s/", row.host)).wait()
			if got.stdout != "internal" {
				t.Errorf("stdout %q, stderr %q, evidence %+v", got.stdout, got.stderr, got.evidence)
			}
			c.Internal = []string{"10.0.0.1", "other.test", "10.9.9.0/24"}
			got = start(t, c, "curl", "-sS", fmt.Sprintf("http://%s/", row.host)).wait()
			if got.stdout != "" {
				t.Errorf("with other entries: stdout %q", got.stdout)
			}
		})
	}
}
