package egress

import (
	"strings"
	"testing"
)

const (
	fetchText = `fetch(process.argv[1]).then(r => r.text()).then(console.log, e => { console.log('failed', e.cause?.code ?? e.message); process.exit(1) })`
	netText   = `const c = require('net').connect(7, 'api.example.test', () => c.write('ping')); c.on('data', d => { console.log(String(d)); c.end() }); c.on('error', e => { console.log('failed', e.code); process.exit(1) })`
	urlopen   = `import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())`
)

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
		{"the program itself on loopback", []string{"node", "-e", `require('http').createServer((q, s) => s.end('own')).listen(0, function () { fetch('http://localhost:' + this.address().port).then(r => r.text()).then(x => { console.log(x); process.exit() }) })`}, "own"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := start(t, hosts("api.example.test", "two.example.test", "*.wild.test"), row.argv...).wait()
			if !strings.Contains(got.stdout, row.want) || got.code != 0 {
				t.Errorf("exit %d, stdout %q, stderr %q, evidence %+v", got.code, got.stdout, got.stderr, got.evidence)
			}
			if len(got.evidence.Refused) != 0 {
				t.Errorf("refused %+v", got.evidence.Refused)
			}
		})
	}
}
