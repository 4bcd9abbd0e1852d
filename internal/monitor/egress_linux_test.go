package monitor

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/runner"
	"skill-mcp/internal/tun"
	"skill-mcp/internal/wire"
)

// nameServer answers every name with the loopback address.
func nameServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Header.Response, m.Header.RecursionAvailable, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			answer, err := m.Pack()
			if err == nil {
				_, _ = conn.WriteTo(answer, from) // a client that is gone
			}
		}
	}()
	return conn.LocalAddr().String()
}

// web is a listener that answers every connection with one HTTP page.
func web(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"))
			_ = c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// fetch asks two hosts and prints what came of each.
const fetch = `
const http = require('http');
const ask = host => new Promise(done => http.get({host, port: process.argv[2], path: '/'}, r => {
  let t = ''; r.on('data', d => t += d); r.on('end', () => done(t)); }).on('error', e => done(e.code)));
(async () => { console.log(await ask('listed.test'), await ask('other.test')); process.exit(3); })();`

func declared(t *testing.T, change func(*wire.Boot)) func(*wire.Boot) {
	dns := nameServer(t)
	return func(b *wire.Boot) {
		b.Policy.Network = policy.NetDeclared
		b.Policy.Egress = policy.Egress{Resolver: dns, Internal: []policy.Path{{Path: "127.0.0.1", Why: "test"}}}
		if change != nil {
			change(b)
		}
	}
}

func TestModeDeclaredReachesTheListedHostOnly(t *testing.T) {
	port := web(t)
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, env: []string{"no_proxy=x"}, boot: declared(t, nil)})
		req := s.script("node", fetch, port)
		req.Hosts = []string{"listed.test"}
		plan, err := s.Plan(within(t), req)
		if err != nil || !slices.Equal(plan.Hosts, req.Hosts) {
			t.Fatal(plan.Hosts, err)
		}
		out := s.run(req)
		if got := strings.Fields(string(out.Stdout)); len(got) != 2 || got[0] != "hello" || got[1] == "hello" {
			t.Fatalf("%q %s %+v", out.Stdout, out.Stderr, out.Result)
		}
		if !slices.Equal(plan.EnvNames, out.EnvNames) || slices.Contains(out.EnvNames, "no_proxy") {
			t.Errorf("planned %v, received %v", plan.EnvNames, out.EnvNames)
		}
		e := out.Evidence.Egress
		if len(e) < 2 || e[0].Host != "listed.test" || e[0].Connections != 1 || e[0].BytesIn == 0 || e[1].Host != "other.test" || e[1].Refused == 0 {
			t.Errorf("%+v", e)
		}
		if !strings.Contains(out.NetworkNote, `the line "- other.test" under mcp-host.egress`) {
			t.Error(out.NetworkNote)
		}
		kind := tun.KindTUN
		if node, err := os.Stat("/dev/net/tun"); uid != 0 && (err != nil || node.Mode().Perm()&0o006 != 0o006) {
			kind = tun.KindPacket
		}
		if r := out.Fence.Row(report.NSNet); r.Got != report.Enforced || r.Level != kind.String() {
			t.Errorf("%+v, want level %s", r, kind)
		}
		none := s.run(s.script("node", fetch, port))
		if strings.Contains(string(none.Stdout), "hello") || none.Fence.Network != string(policy.NetNone) {
			t.Errorf("a skill that declares no host: %q in mode %s", none.Stdout, none.Fence.Network)
		}
	})
}

// TestDeclaredRunsLeaveNothing: neither a process nor a descriptor of a
// device or of a socket stays, also of a run that was ended.
func TestDeclaredRunsLeaveNothing(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, boot: declared(t, nil)})
		req := s.script("true", "")
		req.Hosts = []string{"listed.test"}
		for _, i := range []string{"node", "bash", "true"} { // also waits for every question for a version
			s.run(s.script(i, ""))
		}
		before := tracesOf(s.cmd.Process.Pid)
		const runs = 25
		for range runs {
			if out := s.run(req); out.Verdict != report.Exited || len(out.Evidence.Leftovers)+len(out.Evidence.Survivors) > 0 {
				t.Fatalf("%+v", out.Result)
			}
		}
		// The fence keeps children ready, so their number is not compared.
		if left := egressProcesses(s.cmd.Process.Pid); len(left) != 0 {
			t.Errorf("egress processes %v are left", left)
		}
		if after := tracesOf(s.cmd.Process.Pid); after.fds >= before.fds+runs || after.mounts > before.mounts {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})
}

// TestAnEgressProcessWaitsForAPreviewedRun: it is started by the preview, used
// by the run, and gone after it; one that was killed meanwhile is not missed.
func TestAnEgressProcessWaitsForAPreviewedRun(t *testing.T) {
	port := web(t)
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, boot: declared(t, nil)})
		processes := func() []int { return egressProcesses(s.cmd.Process.Pid) }
		req := s.script("node", fetch, port)
		if s.plan(req); len(processes()) != 0 {
			t.Fatal("a process waits for a run without hosts")
		}
		req.Hosts = []string{"other.test"}
		s.plan(req)
		until(t, "a process waits", func() bool { return len(processes()) == 1 })
		first := processes()[0]
		req.Hosts = []string{"listed.test"} // which is told last
		if s.plan(req); !slices.Equal(processes(), []int{first}) {
			t.Errorf("after two previews %v, first %d", processes(), first)
		}
		for _, kill := range []bool{false, true} {
			s.plan(req)
			until(t, "a process waits", func() bool { return len(processes()) == 1 })
			if kill {
				pid := processes()[0]
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					t.Fatal(err)
				}
				until(t, "it is gone", func() bool { return !slices.Contains(processes(), pid) })
			}
			out := s.run(req)
			if got := strings.Fields(string(out.Stdout)); len(got) != 2 || got[0] != "hello" || got[1] == "hello" {
				t.Errorf("killed %v: %q %s %+v", kill, out.Stdout, out.Stderr, out.Result)
			}
			if left := processes(); len(left) != 0 {
				t.Errorf("killed %v: %v are left", kill, left)
			}
		}
		s.plan(req)
		until(t, "a process waits", func() bool { return len(processes()) == 1 })
		last := processes()[0]
		_ = s.Close() // the monitor ends with its front
		until(t, "it ended with the monitor", func() bool { return unix.Kill(last, 0) == unix.ESRCH })
	})
}

// plan asks what a run would get.
func (s *server) plan(req wire.Request) {
	s.t.Helper()
	if _, err := s.Plan(within(s.t), req); err != nil {
		s.t.Fatal(err)
	}
}

// TestALostEgressProcessEndsTheRun: a connection of the run would else hang to
// the deadline, and the result would put it down to the script.
func TestALostEgressProcessEndsTheRun(t *testing.T) {
	port := web(t)
	for _, way := range []string{"device", "proxy"} {
		t.Run(way, func(t *testing.T) {
			users(t, func(t *testing.T, uid int) {
				s := serve(t, options{uid: uid, boot: declared(t, func(b *wire.Boot) {
					for i, l := range b.Policy.Layers {
						if l.Layer == report.NSNet && way == "proxy" {
							b.Policy.Layers[i].Want = report.Off
						}
					}
				})})
				// The script holds a connection, waits for its end and never goes by itself.
				req := s.script("node", `
const via = process.env.HTTP_PROXY ? new URL(process.env.HTTP_PROXY) : {hostname: 'listed.test', port: process.argv[2]};
require('net').connect(+via.port, via.hostname, () => console.log('open')).on('error', e => console.log(e.code));
setInterval(() => {}, 1000);`, port)
				req.Hosts = []string{"listed.test"}
				begin := time.Now()
				out, err := s.Run(within(t), req, nil, func(p wire.Progress) {
					for _, pid := range egressProcesses(s.cmd.Process.Pid) {
						if p.StdoutBytes == int64(len("open\n")) {
							_ = unix.Kill(pid, unix.SIGKILL) // an earlier word of progress may have ended it
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if out.Verdict != report.NetworkLost || out.TimedOut || out.Signal != "SIGTERM" {
					t.Errorf("after %v: %+v", time.Since(begin), out.Result)
				}
				if !strings.Contains(out.NetworkNote, "lost its network") || len(out.Evidence.Egress) != 1 || !strings.HasPrefix(out.Evidence.Egress[0].Reason, "no report") {
					t.Errorf("%q %+v", out.NetworkNote, out.Evidence.Egress)
				}
				if again := s.run(s.script("true", "")); again.Verdict != report.Exited {
					t.Errorf("the next run: %+v", again.Result)
				}
			})
		})
	}
}

// egressProcesses lists those that a process has started and not reaped.
func egressProcesses(pid int) (pids []int) {
	lists, _ := filepath.Glob("/proc/" + itoa(pid) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(text)) {
			// A process that ended and was not reaped still has its name.
			if name, _ := os.ReadFile("/proc/" + child + "/comm"); strings.HasPrefix(string(name), "skill-egress") {
				n, _ := strconv.Atoi(child)
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// TestModeDeclaredWithoutANamespace is kept by a proxy on one port.
func TestModeDeclaredWithoutANamespace(t *testing.T) {
	port := web(t)
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid, boot: declared(t, func(b *wire.Boot) {
			for i, l := range b.Policy.Layers {
				if l.Layer == report.NSNet {
					b.Policy.Layers[i].Want = report.Off
				}
			}
		})})
		req := s.script("node", `
const http = require('http'), proxy = new URL(process.env.HTTP_PROXY);
const ask = host => new Promise(done => http.get({host: proxy.hostname, port: proxy.port, path: 'http://' + host + ':' + process.argv[2] + '/', headers: {host: host + ':' + process.argv[2]}}, r => {
  let t = ''; r.on('data', d => t += d); r.on('end', () => done(r.statusCode)); }).on('error', e => done(e.code)));
const direct = () => new Promise(done => require('net').connect(+process.argv[2], '127.0.0.1').on('connect', () => done('direct')).on('error', e => done(e.code)));
(async () => { console.log(await ask('listed.test'), await ask('other.test'), await direct()); process.exit(0); })();`, port)
		req.Hosts = []string{"listed.test"}
		plan, err := s.Plan(within(t), req)
		if err != nil {
			t.Fatal(err)
		}
		out := s.run(req)
		if got := strings.TrimSpace(string(out.Stdout)); got != "200 403 EACCES" || !slices.Equal(plan.EnvNames, out.EnvNames) {
			t.Errorf("%q %s; planned %v, received %v", got, out.Stderr, plan.EnvNames, out.EnvNames)
		}
		for _, f := range []report.Fence{plan.Fence, out.Fence} {
			if r := f.Row(report.NSNet); r.Got != report.Partial || r.Level != "proxy" || !strings.Contains(r.Reason, "proxy variables") {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestModeDeclaredRefusesWhatItCannotKeep(t *testing.T) {
	s := serve(t, options{boot: declared(t, func(b *wire.Boot) {
		for i, l := range b.Policy.Layers {
			if l.Layer == report.NSNet || l.Layer == report.LandlockNet {
				b.Policy.Layers[i].Want = report.Off
			}
		}
	})})
	req := s.script("true", "")
	req.Hosts = []string{"listed.test"}
	var refused *runner.RefusedError
	if _, err := s.Plan(within(t), req); !errors.As(err, &refused) || refused.Code != wire.CodeFence {
		t.Errorf("neither namespace nor ports: %v", err)
	}
	s = serve(t, options{boot: declared(t, nil)})
	req = s.script("true", "")
	req.Hosts = []string{"*", "http://listed.test/", "listed.test", "*.com", "*.listed.test",
		"2852039166", "0251.0376.0251.0376", "0xa9fea9fe", "169.254.43518", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"}
	plan, err := s.Plan(within(t), req)
	if err != nil || !slices.Equal(plan.Hosts, []string{"listed.test", "*.listed.test"}) {
		t.Errorf("entries that name no host: %v %v", plan.Hosts, err)
	}
}
