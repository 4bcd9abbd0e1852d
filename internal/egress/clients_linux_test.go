package egress

import (
	"strings"
	"testing"
)

const (
	fetchText = `fetch(process.argv[1]).then(r => r.text()).then(console.log, e => { console.log('failed', e.cause?.code ?? e.message); process.exit(1) })`
	netText   = `const c = require('net').connect(7, 'api.example.test', () => c.write('ping')); c.on('data', d => { console.log(String(d)); c.end() }); c.on('error', e => { console.log('failed', e.code); process.exit(1) })`
	net6Text  = `const c = require('net').connect({ host: process.argv[1], port: 7, family: 6 }, () => c.write('ping')); c.on('data', d => { console.log(c.remoteAddress, String(d)); c.end() }); c.on('error', e => { console.log('failed', e.code); process.exit(1) })`
	racedText = `const c = require('net').connect({ host: 'api.example.test', port: 7, autoSelectFamily: true }, () => c.write('ping')); c.on('data', d => { console.log(String(d)); c.end() }); c.on('error', e => { console.log('failed', e.code); process.exit(1) })`
	urlopen   = `import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())`
)

// socket6Text asks for IPv6 addresses only.
const socket6Text = `
import socket
at = socket.getaddrinfo('api.example.test', 7, socket.AF_INET6, socket.SOCK_STREAM)
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); s.settimeout(10); s.connect(at[0][4]); s.send(b'ping'); print(s.recv(10).decode())`

func TestProgramsReachAListedHost(t *testing.T) {
	rows := []struct {
		name string
		argv []string
		want string
	}{
		{"node fetch over http", []string{"node", "-e", fetchText, "http://api.example.test/x"}, "hello api.example.test /x"},
		{"node fetch over https with a checked certificate", []string{"node", "-e", fetchText, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"node fetch on another port", []string{"node", "-e", fetchText, "http://api.example.test:8080/x"}, "hello api.example.test:8080 /x"},
		{"node net", []string{"node", "-e", netText}, "ping"},
		{"python urllib over https", []string{"/usr/bin/python3", "-c", urlopen, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"curl over https", []string{"curl", "-sS", "--cacert", theWorld.caFile, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"a name below a wildcard", []string{"curl", "-sS", "http://sub.wild.test/"}, "hello sub.wild.test /"},
		{"a name two below a wildcard", []string{"curl", "-sS", "http://a.b.wild.test/"}, "hello a.b.wild.test /"},
		{"a name with one address that does not answer", []string{"curl", "-sS", "http://two.example.test/"}, "hello two.example.test /"},
		{"a name in capitals", []string{"curl", "-sS", "http://API.example.test/"}, "hello API.example.test /"},
		{"node net over IPv6 alone", []string{"node", "-e", net6Text, "api.example.test"}, "fd5a:9c1e:70b4::c612:100 ping"},
		{"node fetch with IPv6 first", []string{"node", "--dns-result-order=ipv6first", "-e", fetchText, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"node fetch with IPv4 first", []string{"node", "--dns-result-order=ipv4first", "-e", fetchText, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"node with both families raced", []string{"node", "-e", racedText}, "ping"},
		{"python over IPv6 alone", []string{"/usr/bin/python3", "-c", socket6Text}, "ping"},
		{"python's own choice of family", []string{"/usr/bin/python3", "-c", urlopen, "http://api.example.test:8080/x"}, "hello api.example.test:8080 /x"},
		{"curl over IPv6 alone", []string{"curl", "-6", "-sS", "--cacert", theWorld.caFile, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"curl over IPv4 alone", []string{"curl", "-4", "-sS", "--cacert", theWorld.caFile, "https://api.example.test/x"}, "hello api.example.test /x"},
		{"a host that has IPv6 only, over IPv4", []string{"curl", "-4", "-sS", "http://six.example.test/"}, "hello six.example.test /"},
		{"a host that has IPv6 only, over IPv6", []string{"curl", "-6", "-sS", "http://six.example.test/"}, "hello six.example.test /"},
		{"the program itself on loopback", []string{"node", "-e", `require('http').createServer((q, s) => s.end('own')).listen(0, function () { fetch('http://localhost:' + this.address().port).then(r => r.text()).then(x => { console.log(x); process.exit() }) })`}, "own"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := start(t, hosts("api.example.test", "two.example.test", "six.example.test", "*.wild.test"), row.argv...).wait()
			if !strings.Contains(got.stdout, row.want) || got.code != 0 {
				t.Errorf("exit %d, stdout %q, stderr %q, evidence %+v", got.code, got.stdout, got.stderr, got.evidence)
			}
			if len(got.evidence.Refused) != 0 {
				t.Errorf("refused %+v", got.evidence.Refused)
			}
		})
	}
}
