package egress

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/egresswire"
)

// Throughput: at least one of these two, in MiB a second and as a part of what
// socat moves between the same ends in the same test.
const (
	enoughMiB   = 200.0
	enoughShare = 0.3
)

// movedBlocks is 256 MiB, for which the first round trips do not count.
const movedBlocks = 1024

// throughputRounds is how often a pair is measured before it counts as slow:
// other work on the machine slows one of a pair more than the other.
const throughputRounds = 3

func TestThroughput(t *testing.T) {
	socat := startSocat(t, publicAddress+":9", publicAddress+":19")
	for i, what := range []string{"send", "receive"} {
		port := []string{"9", "19"}[i]
		t.Run(what, func(t *testing.T) {
			for range throughputRounds {
				through := moveThroughRun(t, what, "api.example.test:"+port)
				beside := moveDirectly(t, what, socat[i])
				t.Logf("through the run's network %.0f MiB/s, through socat %.0f MiB/s, ratio %.2f", through, beside, through/beside)
				if through >= enoughMiB || through >= enoughShare*beside {
					return
				}
			}
			t.Errorf("every round is below %.0f MiB/s and below %.1f of socat", enoughMiB, enoughShare)
		})
	}
}

func moveThroughRun(t *testing.T, what, address string) float64 {
	t.Helper()
	got := start(t, hosts("api.example.test"), clientCommand(what, address, strconv.Itoa(movedBlocks))...).wait()
	if got.code != 0 {
		t.Fatalf("%s: %s", what, got.stderr)
	}
	want := int64(movedBlocks * blockSize)
	h := got.evidence.Hosts[0]
	if moved := max(h.BytesIn, h.BytesOut); moved < want {
		t.Errorf("counted %d bytes of %d", moved, want)
	}
	return mibPerSecond(t, got.stdout)
}

func moveDirectly(t *testing.T, what, address string) float64 {
	t.Helper()
	argv := clientCommand(what, address, strconv.Itoa(movedBlocks))
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return mibPerSecond(t, string(out))
}

func mibPerSecond(t *testing.T, seconds string) float64 {
	t.Helper()
	s, err := strconv.ParseFloat(strings.TrimSpace(seconds), 64)
	if err != nil {
		t.Fatal(err)
	}
	return float64(movedBlocks*blockSize) / (1 << 20) / s
}

// startSocat forwards a port for each address and returns the addresses.
func startSocat(t *testing.T, to ...string) []string {
	t.Helper()
	var out []string
	for i, address := range to {
		port := 4000 + i
		cmd := exec.Command("socat", "-b", "262144", fmt.Sprintf("TCP4-LISTEN:%d,bind=127.0.0.1,fork,reuseaddr", port), "TCP4:"+address)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatalf("start socat: %v", err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		out = append(out, fmt.Sprintf("127.0.0.1:%d", port))
		awaitListener(t, out[i])
	}
	return out
}

// awaitListener returns when the address accepts.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("nothing listens on %s", address)
}

func TestShortConnectionsLeaveNothing(t *testing.T) {
	const count = 2000
	// The program goes on after its connections, so that what they leave can be
	// told from what the end of the run takes away.
	script := `"$@" && echo over && exec sleep 60`
	r := start(t, hosts("api.example.test"), append([]string{"sh", "-c", script, "sh"}, clientCommand("short", "api.example.test:7", strconv.Itoa(count))...)...)
	ready, err := r.egress.WaitReady(runTimeout)
	if err != nil || !ready.Seccomp {
		t.Fatalf("ready %+v: %v", ready, err)
	}
	before := descriptors(t, r.egress.PID())
	awaitOutput(t, r, "over")
	eventually(t, "descriptors are closed", func() bool { return descriptors(t, r.egress.PID()) <= before+4 })
	if rss := residentMiB(t, r.egress.PID()); rss > 100 {
		t.Errorf("%d MiB are resident after %d connections", rss, count)
	}
	r.cmd.Process.Kill()
	got := r.wait()
	h := got.evidence.Hosts[0]
	if h.Connections != count || h.BytesIn != 4*count || h.BytesOut != 4*count {
		t.Errorf("evidence %+v", got.evidence)
	}
}

func TestConnectionLimitHolds(t *testing.T) {
	c := hosts("api.example.test")
	c.Limits.Connections = 10
	got := start(t, c, clientCommand("hold", "api.example.test:7", "30")...).wait()
	if !strings.HasPrefix(got.stdout, "10 ") {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
	if got.evidence.Dropped.Connections != 20 {
		t.Errorf("dropped %+v", got.evidence.Dropped)
	}
}

func TestQuestionLimitHolds(t *testing.T) {
	c := hosts("api.example.test")
	c.Limits.DNSPerSecond = 5
	flood := `const { Resolver } = require('dns'); const r = new Resolver({ timeout: 500, tries: 1 }); let ok = 0, left = 100
for (let i = 0; i < 100; i++) r.resolve4('api.example.test', e => { if (!e) ok++; if (!--left) console.log(ok) })`
	got := start(t, c, "node", "-e", flood).wait()
	answered, err := strconv.Atoi(strings.TrimSpace(got.stdout))
	if err != nil || answered < 5 || answered > 30 {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
	if dropped := got.evidence.Dropped.DNSQueries; dropped < 70 {
		t.Errorf("dropped %d", dropped)
	}
}

func TestByteLimitHolds(t *testing.T) {
	c := hosts("api.example.test")
	c.Limits.BytesPerSecond = 1 << 20
	got := start(t, c, clientCommand("receive", "api.example.test:19", "4")...).wait() // 1 MiB
	seconds, err := strconv.ParseFloat(strings.TrimSpace(got.stdout), 64)
	if err != nil || seconds < 0.7 {
		t.Errorf("1 MiB took %q s, stderr %q", got.stdout, got.stderr)
	}
}

func TestUnreadBytesStayBounded(t *testing.T) {
	script := `const net = require('net'); let open = 0
for (let i = 0; i < 200; i++) net.connect(19, 'api.example.test', function () { this.pause(); if (++open === 200) setTimeout(() => console.log('over'), 1000) })`
	r := start(t, hosts("api.example.test"), "node", "-e", script)
	awaitOutput(t, r, "over")
	if rss := residentMiB(t, r.egress.PID()); rss > 192 {
		t.Errorf("%d MiB are resident", rss)
	}
	r.cmd.Process.Kill()
	if got := r.wait(); got.evidence.Hosts[0].Connections != 200 {
		t.Errorf("evidence %+v", got.evidence)
	}
}

func TestEgressEndsWithTheMonitor(t *testing.T) {
	r := start(t, hosts("api.example.test"), "sleep", "60")
	if _, err := r.egress.WaitReady(runTimeout); err != nil {
		t.Fatal(err)
	}
	// The end of the control socket is all a monitor that was killed leaves.
	if _, err := r.egress.Stop(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(r.egress.PID(), 0); err == nil {
		t.Error("the process is still there")
	}
	r.cmd.Process.Kill()
	<-r.done
}

func TestRunHasNoNetworkAfterAKilledEgress(t *testing.T) {
	script := `const net = require('net'); const first = net.connect(7, 'api.example.test', () => {
  const { remoteAddress } = first; console.log('open')
  process.stdin.resume().once('end', () => {
    net.connect(7, remoteAddress, () => console.log('reached')).on('error', e => { console.log('lost', e.code) })
    setTimeout(() => process.exit(), 500) }) })`
	r := start(t, hosts("api.example.test"), "node", "-e", script)
	awaitOutput(t, r, "open")
	if err := unix.Kill(r.egress.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := r.egress.Stop(5 * time.Second); err == nil {
		t.Error("a report came from a process that was killed")
	}
	r.stdin.Close()
	<-r.done
	// With a TUN device the interface is gone and the program is told at once.
	if out := r.out.String(); strings.Contains(out, "reached") || (os.Getenv(userVariable) == "" && !strings.Contains(out, "lost ENETUNREACH")) {
		t.Errorf("stdout %q, stderr %q", out, r.err.String())
	}
}

func TestFaultIsReported(t *testing.T) {
	egressEnd, childEnd, err := egresswire.HandoverPair()
	if err != nil {
		t.Fatal(err)
	}
	childEnd.Close()
	c := hosts("api.example.test")
	c.Mode = egresswire.ModeTUN
	p := startEgress(t, c, egressEnd)
	e, err := p.Stop(5 * time.Second)
	if err != nil || e.Way != "none" {
		t.Errorf("a run without a device: evidence %+v, error %v", e, err)
	}
}

// awaitOutput returns when the program has said the word.
func awaitOutput(t *testing.T, r *running, word string) {
	t.Helper()
	eventually(t, "the program says "+word, func() bool { return strings.Contains(r.out.String(), word) })
}

// eventually waits for the condition, with a deadline.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(runTimeout); time.Now().Before(deadline); <-tick.C {
		if condition() {
			return
		}
	}
	t.Fatalf("waited %s until %s", runTimeout, what)
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 20
}
