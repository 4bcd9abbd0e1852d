package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// listener is a server over HTTP.
type listener struct {
	led    *ledger
	cmd    *exec.Cmd
	addr   string
	exited chan struct{}
	said   *lines
}

// lines keeps what a server said on its standard error.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps the first 4 MiB.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() < 4<<20 {
		l.text.Write(b)
	}
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newListener starts a server on a free loopback port.
func newListener(led *ledger, bin string, env []string) (*listener, error) {
	l := &listener{led: led, exited: make(chan struct{}), said: &lines{}}
	l.cmd = exec.Command(bin+"/skill-mcp", "serve", "--http", "127.0.0.1:0", "--idle", "5")
	l.cmd.Env, l.cmd.Stderr = env, l.said
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	led.count("servers started over HTTP")
	go func() { _ = l.cmd.Wait(); close(l.exited) }()
	address := regexp.MustCompile(`http://([\d.:]+)/`)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if m := address.FindStringSubmatch(l.said.String()); m != nil {
			l.addr = m[1]
			return l, nil
		}
	}
	_ = l.cmd.Process.Kill()
	return nil, fmt.Errorf("the server over HTTP said no address: %s", l.said)
}

// end asks the server to end and waits.
func (l *listener) end() {
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.exited:
	case <-time.After(30 * time.Second):
		l.led.violate("http: the server did not end within 30 s of SIGTERM")
		_ = l.cmd.Process.Kill()
		<-l.exited
	}
}

// visitor is one client of it, with a session.
type visitor struct {
	led     *ledger
	l       *listener
	client  *http.Client
	session string
	last    atomic.Int64
}

// visit opens a session.
func (l *listener) visit() *visitor {
	v := &visitor{led: l.led, l: l, client: &http.Client{Transport: &http.Transport{}}}
	a := v.request("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "soak", "version": "1"},
	}, 0)
	if a.Result == nil {
		if !a.lost {
			l.led.violate("http: initialize was answered %+v", a.Error)
		}
		return nil
	}
	l.led.count("sessions over HTTP")
	return v
}

// leave ends the session, or forgets it.
func (v *visitor) leave() {
	defer v.client.CloseIdleConnections()
	if rand.IntN(3) == 0 {
		v.led.count("sessions that were abandoned")
		return
	}
	r, err := http.NewRequest(http.MethodDelete, "http://"+v.l.addr+"/mcp", nil)
	if err != nil {
		return
	}
	r.Header.Set("Mcp-Session-Id", v.session)
	if resp, err := v.client.Do(r); err == nil {
		resp.Body.Close()
	}
}

// request asks and waits. With cancelAfter above 0 the client leaves then.
func (v *visitor) request(method string, params map[string]any, cancelAfter time.Duration) answer {
	id := fmt.Sprint(v.last.Add(1))
	if params == nil {
		params = map[string]any{}
	}
	if method == "tools/call" {
		params["_meta"] = map[string]any{"progressToken": json.RawMessage(id)}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		panic(err) // the soak's own maps
	}
	within := answerWithin
	if cancelAfter > 0 {
		within = cancelAfter
		v.led.count("clients that left during a call")
	}
	ctx, done := context.WithTimeout(context.Background(), within)
	defer done()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.l.addr+"/mcp", bytes.NewReader(body))
	if err != nil {
		return answer{lost: true}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if v.session != "" {
		r.Header.Set("Mcp-Session-Id", v.session)
	}
	v.led.count("requests over HTTP")
	resp, err := v.client.Do(r)
	if err == nil {
		defer resp.Body.Close()
		if one := resp.Header.Get("Mcp-Session-Id"); one != "" {
			v.session = one
		}
		var a answer
		if a, err = v.read(resp, id); err == nil {
			v.led.count("answers")
			if a.Error != nil && strings.Contains(a.Error.Message, "no such session") {
				v.led.count("sessions that the server had given up") // idle for five seconds, or others took the places
				a.lost = true
			}
			return a
		}
	}
	if cancelAfter == 0 && !v.over() {
		v.led.violate("http: %s %s: %v", method, id, err)
	}
	return answer{lost: true, cancelled: cancelAfter > 0}
}

// over reports whether the server has ended or is about to.
func (v *visitor) over() bool {
	select {
	case <-v.l.exited:
		return true
	default:
		return false
	}
}

// read takes the one answer, from an object or from a stream.
func (v *visitor) read(resp *http.Response, id string) (answer, error) {
	var body io.Reader = resp.Body
	if rand.IntN(12) == 0 {
		v.led.count("slow readers over HTTP")
		body = &slow{r: resp.Body}
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(body)
		if err != nil {
			return answer{}, err
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			return answer{}, fmt.Errorf("status %d, %.80q: %w", resp.StatusCode, text, err)
		}
		if string(m.ID) != id {
			return answer{}, fmt.Errorf("status %d answers %s: %.200q", resp.StatusCode, m.ID, text)
		}
		return answer{message: m}, nil
	}
	return v.stream(body, id)
}

// stream reads events to their end and holds them to the order.
func (v *visitor) stream(body io.Reader, id string) (answer, error) {
	var got *message
	last := -1.0
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			var m message
			if err := json.Unmarshal(data, &m); err != nil {
				return answer{}, fmt.Errorf("event %.80q: %w", data, err)
			}
			switch {
			case m.Method == "notifications/progress":
				v.led.count("progress notifications")
				if got != nil || m.Params.Progress <= last || string(m.Params.Token) != id {
					v.led.violate("http: progress %v for %s after %v, answered: %v", m.Params.Progress, m.Params.Token, last, got != nil)
				}
				last = m.Params.Progress
			case m.Method != "":
				v.led.count("other notifications")
			case got != nil || string(m.ID) != id:
				v.led.violate("http: a second answer, or one to nothing: id %s in the stream of %s", m.ID, id)
			default:
				got = &m
			}
		}
		if err == io.EOF && got != nil {
			return answer{message: *got}, nil
		}
		if err != nil {
			return answer{}, fmt.Errorf("the stream ended without an answer: %w", err)
		}
	}
}

// slow reads a little at a time, for two seconds.
type slow struct {
	r     io.Reader
	reads int
}

func (s *slow) Read(b []byte) (int, error) {
	if s.reads++; s.reads < 20 {
		time.Sleep(100 * time.Millisecond) // slowness is the act
		b = b[:min(len(b), 512)]
	}
	return s.r.Read(b)
}

// rude clients send half of something, or read nothing, and stay or go.
func (l *listener) rude(mark string) {
	c, err := net.DialTimeout("tcp", l.addr, 5*time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(4 * time.Second))
	head := "POST /mcp HTTP/1.1\r\nHost: " + l.addr + "\r\nContent-Type: application/json\r\n"
	whole := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + mark + `","version":"1"}}}`
	switch rand.IntN(5) {
	case 0: // half a header
		l.led.count("rude: half a header")
		fmt.Fprint(c, head[:40])
		_, _ = c.Read(make([]byte, 1))
	case 1: // half a body
		l.led.count("rude: half a body")
		fmt.Fprintf(c, "%sContent-Length: 4000\r\n\r\n%s", head, whole)
		_, _ = c.Read(make([]byte, 1))
	case 2: // asks and goes
		l.led.count("rude: asked and left")
		fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(whole), whole)
	case 3: // asks again and again and reads nothing
		l.led.count("rude: asked and never read")
		for range 200 {
			if _, err := fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(whole), whole); err != nil {
				return
			}
		}
	case 4: // no HTTP at all
		l.led.count("rude: no HTTP")
		_, _ = c.Write(bytes.Repeat([]byte{0xff, 0x16, 0}, 3000))
		_, _ = c.Read(make([]byte, 1))
	}
}
