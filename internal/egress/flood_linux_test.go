package egress

import (
	"bufio"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/egresswire"
)

// stalledPort is where connections to the public address are never answered.
const stalledPort = 81

// stall makes a listener whose backlog is full: the kernel drops what else
// asks for a connection, as an unreachable host would.
func stall(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	at := &unix.SockaddrInet4{Port: stalledPort, Addr: [4]byte(net.ParseIP(publicAddress).To4())}
	if err := unix.Bind(fd, at); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		c, err := net.DialTimeout("tcp4", net.JoinHostPort(publicAddress, strconv.Itoa(stalledPort)), 100*time.Millisecond)
		if err != nil {
			return
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the backlog does not fill")
}

// asking counts the connections to the stalled port that wait for an answer.
func asking(t *testing.T) int {
	t.Helper()
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const synSent = "02"
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 3 && strings.HasSuffix(fields[2], ":0051") && fields[3] == synSent {
			n++
		}
	}
	return n
}

func TestHalfOpenLimitHolds(t *testing.T) {
	stall(t)
	const limit = 4
	script := `const net = require('net'); for (let i = 0; i < 40; i++) net.connect(+process.argv[1], 'api.example.test').on('error', () => {}); setInterval(() => {}, 1000)`
	c := hosts("api.example.test")
	c.Limits.HalfOpen = limit
	r := start(t, c, "node", "-e", script, strconv.Itoa(stalledPort))
	var last egresswire.Evidence
	most := 0
	eventually(t, "requests are dropped", func() bool {
		most = max(most, asking(t))
		var err error
		if last, err = r.egress.Evidence(runTimeout); err != nil {
			t.Fatal(err)
		}
		return last.Dropped.HalfOpen > 0
	})
	if most = max(most, asking(t)); most == 0 || most > limit {
		t.Errorf("%d connections wait for the host, the limit is %d", most, limit)
	}
	other := start(t, hosts("api.example.test"), "curl", "-sS", "http://api.example.test/x").wait()
	if other.stdout != "hello api.example.test /x" {
		t.Errorf("another run: %q %q", other.stdout, other.stderr)
	}
	r.cmd.Process.Kill()
	r.wait()
	eventually(t, "nobody asks any more", func() bool { return asking(t) == 0 })
}

// floodText sends what a hostile run would: requests for connections that are
// never completed, in both families, questions, and datagrams to everywhere.
// The raw sockets are the test's; a fenced run has none.
const floodText = `
import random, socket, struct, sys, urllib.request
four = socket.getaddrinfo('api.example.test', 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
six = socket.getaddrinfo('api.example.test', 80, socket.AF_INET6, socket.SOCK_STREAM)[0][4][0]
def syn(pseudo):
    head = struct.pack('!HHIIBBHHH', random.randrange(1024, 65536), 80, random.getrandbits(32), 0, 0x50, 2, 65535, 0, 0)
    data = pseudo + head
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total > 0xffff: total = (total >> 16) + (total & 0xffff)
    return head[:16] + struct.pack('!H', ~total & 0xffff) + head[18:]
p4 = socket.inet_pton(socket.AF_INET, '198.18.0.2') + socket.inet_pton(socket.AF_INET, four) + struct.pack('!HH', 6, 20)
p6 = socket.inet_pton(socket.AF_INET6, 'fd5a:9c1e:70b4::198.18.0.2') + socket.inet_pton(socket.AF_INET6, six) + struct.pack('!II', 20, 6)
r4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
r6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_TCP)
u4 = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
def quietly(f, *a):
    try: f(*a)
    except OSError: pass
question = lambda i: struct.pack('!HHHHHH', i & 0xffff, 256, 1, 0, 0, 0) + b'\x08' + (b'%08d' % i) + b'\x04test\x00\x00\x01\x00\x01'
print('begun', flush=True)
for i in range(int(sys.argv[1])):
    quietly(r4.sendto, syn(p4), (four, 0))
    quietly(r6.sendto, syn(p6), (six, 0))
    quietly(u4.sendto, question(i), ('198.18.0.1', 53))
    quietly(u4.sendto, b'x', ('192.0.2.%d' % (i % 256), 1 + i % 65000))
    quietly(u6.sendto, b'x', ('2001:db8::%x' % (i % 65536), 1 + i % 65000))
print(urllib.request.urlopen('http://api.example.test/after', timeout=20).read().decode())`

// TestAFloodInsideEndsNothingOutside: neither the process nor another run nor
// the host suffers from it, and the run itself has its network afterwards.
func TestAFloodInsideEndsNothingOutside(t *testing.T) {
	r := start(t, hosts("api.example.test"), "/usr/bin/python3", "-c", floodText, "8000")
	awaitOutput(t, r, "begun")
	for range 3 { // while it lasts
		other := start(t, hosts("api.example.test"), "curl", "-sS", "--max-time", "10", "http://api.example.test/x").wait()
		if other.stdout != "hello api.example.test /x" {
			t.Errorf("another run: %q %q", other.stdout, other.stderr)
		}
	}
	most, resident := 0, 0
	eventually(t, "the flood is over", func() bool {
		most, resident = max(most, descriptors(t, r.egress.PID())), max(resident, residentMiB(t, r.egress.PID()))
		return strings.Contains(r.out.String(), "after") || r.err.String() != ""
	})
	limits := egresswire.DefaultLimits()
	if most > 2*limits.Connections+64 || resident > 128 {
		t.Errorf("%d descriptors, %d MiB", most, resident)
	}
	got := r.wait()
	if !strings.Contains(got.stdout, "hello api.example.test /after") {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
	d := got.evidence.Dropped
	if got.evidence.RefusedMore == 0 || d.DNSQueries == 0 {
		t.Errorf("evidence %+v, %d refusals", d, len(got.evidence.Refused))
	}
	t.Logf("%d descriptors, %d MiB at most; dropped %+v, refused %d and %d more", most, resident, d, len(got.evidence.Refused), got.evidence.RefusedMore)
}
