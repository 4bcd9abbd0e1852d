package runner

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/report"
	"skill-mcp/internal/wire"
)

// patience bounds every wait of these tests.
const patience = 10 * time.Second

// double is a monitor that the test plays.
type double struct {
	t    *testing.T
	sock net.Conn
	conn *wire.Conn
}

// pair gives a runner and the monitor at its other end, greeted.
func pair(t *testing.T) (*Runner, *double) {
	t.Helper()
	a, b := net.Pipe()
	r, d := New(a), &double{t, b, wire.NewConn(wire.Monitor, b)}
	t.Cleanup(func() { _ = r.Close(); _ = b.Close(); <-r.Done() })
	_ = b.SetDeadline(time.Now().Add(patience))
	r.Begin()
	d.expect(wire.KindBegin)
	d.send(wire.KindReady, wire.Ready{Version: "v"})
	if got, err := r.Ready(within(t)); err != nil || got.Version != "v" {
		t.Fatal(got, err)
	}
	return r, d
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (d *double) send(k wire.Kind, v any) {
	d.t.Helper()
	if err := d.conn.SendValue(k, v); err != nil {
		d.t.Error(err)
	}
}

func (d *double) expect(want wire.Kind) []byte {
	d.t.Helper()
	k, payload, err := d.conn.Receive()
	if err != nil || k != want {
		d.t.Errorf("got %q, %v, want %q", k, err, want)
	}
	return payload
}

// ended is what a call returned.
type ended struct {
	out Outcome
	err error
}

func start(ctx context.Context, r *Runner, config []byte, progress func(wire.Progress)) <-chan ended {
	c := make(chan ended, 1)
	go func() {
		out, err := r.Run(ctx, wire.Request{TimeoutMs: 1000, Config: config != nil}, config, progress)
		c <- ended{out, err}
	}()
	return c
}

func TestARunBringsItsOutputAndResult(t *testing.T) {
	r, d := pair(t)
	seen := make(chan wire.Progress, 1)
	done := start(within(t), r, []byte(strings.Repeat("c", wire.MaxChunk+1)), func(p wire.Progress) { seen <- p })
	if n := len(d.expect(wire.KindConfig)) + len(d.expect(wire.KindConfig)); n != wire.MaxChunk+1 {
		t.Errorf("%d bytes of configuration", n)
	}
	d.expect(wire.KindRun)
	d.send(wire.KindStarted, wire.Started{Pid: 1})
	d.send(wire.KindProgress, wire.Progress{StdoutBytes: 3})
	if p := <-seen; p.StdoutBytes != 3 {
		t.Error(p)
	}
	_ = d.conn.SendChunks(wire.KindStdout, []byte("out"))
	_ = d.conn.SendChunks(wire.KindStderr, []byte("err"))
	d.send(wire.KindResult, wire.Result{Verdict: report.Exited})
	if e := <-done; e.err != nil || string(e.out.Stdout) != "out" || string(e.out.Stderr) != "err" || e.out.Verdict != report.Exited {
		t.Error(e)
	}
	if r.InFlight() {
		t.Error("a run is still in flight after its result")
	}
}

func TestASecondRunIsBusyAtOnceAndAPlanIsNot(t *testing.T) {
	r, d := pair(t)
	done := start(within(t), r, nil, nil)
	d.expect(wire.KindRun)
	d.send(wire.KindStarted, wire.Started{})
	var refused *RefusedError
	if _, err := r.Run(within(t), wire.Request{}, nil, nil); !errors.As(err, &refused) || refused.Code != wire.CodeBusy {
		t.Fatal(err)
	}
	go func() { d.expect(wire.KindPlan); d.send(wire.KindPlanned, wire.Planned{CWD: "/s"}) }()
	if p, err := r.Plan(within(t), wire.Request{}); err != nil || p.CWD != "/s" {
		t.Fatal(p, err)
	}
	d.send(wire.KindResult, wire.Result{})
	if e := <-done; e.err != nil {
		t.Fatal(e.err)
	}
}

func TestRefusalsReachTheRightCall(t *testing.T) {
	r, d := pair(t)
	done := start(within(t), r, nil, nil)
	d.expect(wire.KindRun)
	d.send(wire.KindRefused, wire.Refused{Code: wire.CodePath})
	var refused *RefusedError
	if e := <-done; !errors.As(e.err, &refused) || refused.Code != wire.CodePath {
		t.Fatal(e.err)
	}
	done = start(within(t), r, nil, nil)
	d.expect(wire.KindRun)
	d.send(wire.KindStarted, wire.Started{})
	go func() { d.expect(wire.KindPlan); d.send(wire.KindRefused, wire.Refused{Code: wire.CodeArgs}) }()
	if _, err := r.Plan(within(t), wire.Request{}); !errors.As(err, &refused) || refused.Code != wire.CodeArgs {
		t.Fatal(err)
	}
	d.send(wire.KindResult, wire.Result{})
	if e := <-done; e.err != nil {
		t.Fatal(e.err)
	}
}

func TestCancelIsSentOnceAndTheEndIsAwaited(t *testing.T) {
	r, d := pair(t)
	ctx, cancel := context.WithCancel(within(t))
	done := start(ctx, r, nil, nil)
	d.expect(wire.KindRun)
	d.send(wire.KindStarted, wire.Started{})
	cancel()
	d.expect(wire.KindCancel)
	select {
	case e := <-done:
		t.Fatal("the call returned before the run ended", e)
	default:
	}
	d.send(wire.KindResult, wire.Result{Verdict: report.Cancelled})
	if e := <-done; e.err != nil || e.out.Verdict != report.Cancelled {
		t.Fatal(e)
	}
}

func TestAPlanGivenUpDoesNotConfuseTheNext(t *testing.T) {
	r, d := pair(t)
	ctx, cancel := context.WithCancel(within(t))
	gaveUp := make(chan error, 1)
	go func() { _, err := r.Plan(ctx, wire.Request{}); gaveUp <- err }()
	d.expect(wire.KindPlan)
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go func() {
		d.send(wire.KindPlanned, wire.Planned{CWD: "/late"})
		d.expect(wire.KindPlan)
		d.send(wire.KindPlanned, wire.Planned{CWD: "/next"})
	}()
	if p, err := r.Plan(within(t), wire.Request{}); err != nil || p.CWD != "/next" {
		t.Fatal(p, err)
	}
}

func TestADeadMonitorFailsWaitingAndLaterCalls(t *testing.T) {
	for name, kill := range map[string]func(*double){
		"it closes the socket":      func(d *double) { _ = d.sock.Close() },
		"it speaks out of order":    func(d *double) { _, _ = d.sock.Write([]byte{byte(wire.KindPlanned), 0, 0, 0, 0}) },
		"it sends no protocol":      func(d *double) { _, _ = d.sock.Write([]byte("HTTP/1.1 200 OK")) },
		"it sends a malformed word": func(d *double) { _, _ = d.sock.Write([]byte{byte(wire.KindResult), 0, 0, 0, 1, '{'}) },
	} {
		t.Run(name, func(t *testing.T) {
			r, d := pair(t)
			done := start(within(t), r, nil, nil)
			d.expect(wire.KindRun)
			d.send(wire.KindStarted, wire.Started{})
			go kill(d)
			if e := <-done; !errors.Is(e.err, ErrMonitor) {
				t.Errorf("the waiting run: %v", e.err)
			}
			<-r.Done()
			if _, err := r.Plan(within(t), wire.Request{}); !errors.Is(err, ErrMonitor) {
				t.Errorf("a later plan: %v", err)
			}
			if _, err := r.Run(within(t), wire.Request{}, nil, nil); !errors.Is(err, ErrMonitor) {
				t.Errorf("a later run: %v", err)
			}
		})
	}
	a, b := net.Pipe()
	r := New(a)
	_ = b.Close()
	if _, err := r.Ready(within(t)); !errors.Is(err, ErrMonitor) {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		cut  bool
		want string
	}{
		"text stays":                              {"aé€😀", false, "aé€😀"},
		"a cut drops an incomplete character":     {"a\xe2\x82", true, "a"},
		"a cut keeps a whole one":                 {"a€", true, "a€"},
		"a cut keeps what was broken before":      {"a\xff", true, "a\uFFFD"},
		"an incomplete one that was not cut":      {"a\xe2\x82", false, "a\uFFFD"},
		"each stray byte is replaced":             {"\xff\xfeb", false, "\uFFFD\uFFFDb"},
		"one for a broken character, then more":   {"\xf0\x9f\x98A", false, "\uFFFDA"},
		"a surrogate is three":                    {"\xed\xa0\x80", false, "\uFFFD\uFFFD\uFFFD"},
		"an overlong form is two":                 {"\xc0\xaf", false, "\uFFFD\uFFFD"},
		"nothing":                                 {"", true, ""},
		"only continuation bytes are each broken": {"\x80\x80\x80\x80", true, "\uFFFD\uFFFD\uFFFD\uFFFD"},
	} {
		if got := Text([]byte(c.in), c.cut); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzText: the result is UTF-8 and text is left alone.
func FuzzText(f *testing.F) {
	f.Add([]byte("a\xe2\x82"), true)
	f.Fuzz(func(t *testing.T, b []byte, cut bool) {
		got := Text(b, cut)
		if strings.ToValidUTF8(got, "") != got {
			t.Fatalf("%q", got)
		}
		if s := string(b); strings.ToValidUTF8(s, "") == s && got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
