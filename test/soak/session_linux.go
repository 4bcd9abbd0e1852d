package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// answerWithin is how long any request may take. The longest run has 20 s, the
// machine is shared, and a slow reader rests for up to 3 s.
const answerWithin = 90 * time.Second

// message is one JSON-RPC message from the server.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// answer is how a request ended.
type answer struct {
	message
	lost      bool // the server ended first, or the client left
	cancelled bool // the client took it back
}

// call is a request that was sent.
type call struct {
	method    string
	done      bool
	cancelled bool
	progress  float64
	answer    chan message // has room for one
}

// session is a server over stdio and the book of what was asked of it.
type session struct {
	led *ledger
	cmd *exec.Cmd
	in  io.WriteCloser

	resting atomic.Int64 // how long a slow reader rests before its next line, in ns
	mu      sync.Mutex   // of what follows, and of in
	last    int
	calls   map[string]*call
	gone    chan struct{} // the output has ended
	exited  chan struct{}
}

// newSession starts a server. stderr is kept for a post-mortem.
func newSession(led *ledger, bin string, env []string, stderr io.Writer) (*session, error) {
	s := &session{led: led, calls: map[string]*call{}, gone: make(chan struct{}), exited: make(chan struct{})}
	s.cmd = exec.Command(bin + "/skill-mcp")
	s.cmd.Env, s.cmd.Stderr = env, stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout = w
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	w.Close()
	s.in = in
	led.count("servers started over stdio")
	go s.read(r)
	go func() { _ = s.cmd.Wait(); close(s.exited) }()
	return s, nil
}

// pid is the front's process.
func (s *session) pid() int { return s.cmd.Process.Pid }

// read takes messages until the output ends.
func (s *session) read(out io.ReadCloser) {
	defer close(s.gone)
	defer out.Close()
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		time.Sleep(time.Duration(s.resting.Swap(0))) // the pause is the act
		line, err := r.ReadBytes('\n')
		if err != nil {
			return // what a killed server did not finish is no line
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			s.led.violate("stdio: a line is no message: %v: %.80q", err, line)
			continue
		}
		s.take(m)
	}
}

// take enters one message in the book.
func (s *session) take(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Method == "notifications/progress":
		s.led.count("progress notifications")
		c := s.calls[string(m.Params.Token)]
		if c == nil || c.done {
			s.led.violate("stdio: progress for %s, which is unknown or answered", m.Params.Token)
		} else if m.Params.Progress <= c.progress {
			s.led.violate("stdio: progress %v after %v", m.Params.Progress, c.progress)
		} else {
			c.progress = m.Params.Progress
		}
	case m.Method == "elicitation/create":
		go s.elicit(m.ID)
	case m.Method != "":
		s.led.count("other notifications")
	default:
		if string(m.ID) == "null" {
			s.led.count("answers to what is no message")
			return
		}
		c := s.calls[string(m.ID)]
		if c == nil || c.done {
			s.led.violate("stdio: a second answer, or one to nothing: id %s", m.ID)
			return
		}
		c.done = true
		c.answer <- m
	}
}

// elicit answers a prompt as some person might.
func (s *session) elicit(id json.RawMessage) {
	s.led.count("prompts")
	choice := []string{
		`{"action":"accept","content":{"confirmed":true}}`, `{"action":"accept","content":{"confirmed":true}}`,
		`{"action":"decline"}`, `{"action":"cancel"}`, `{"action":17}`,
	}[rand.IntN(5)]
	s.write([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, choice)))
}

// write sends one line; a server that ended does not take it.
func (s *session) write(line []byte) {
	s.mu.Lock()
	in := s.in
	s.mu.Unlock()
	_, _ = in.Write(append(line, '\n')) // one write of a line: it is not mixed up with others below PIPE_BUF
}

// request asks and waits. With cancelAfter above 0 it is taken back then.
func (s *session) request(method string, params map[string]any, cancelAfter time.Duration) answer {
	c := &call{method: method, progress: -1, answer: make(chan message, 1)}
	s.mu.Lock()
	s.last++
	id := fmt.Sprint(s.last)
	s.calls[id] = c
	s.mu.Unlock()
	if params == nil {
		params = map[string]any{}
	}
	if method == "tools/call" {
		params["_meta"] = map[string]any{"progressToken": json.RawMessage(id)}
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		panic(err) // the soak's own maps
	}
	s.led.count("requests over stdio")
	s.write(line)
	if cancelAfter > 0 {
		stop := time.AfterFunc(cancelAfter, func() { s.cancel(id, c) })
		defer stop.Stop()
	}
	return s.wait(id, c)
}

// cancel takes a request back, unless it is answered.
func (s *session) cancel(id string, c *call) {
	s.mu.Lock()
	if c.done {
		s.mu.Unlock()
		return
	}
	c.cancelled = true
	s.mu.Unlock()
	s.led.count("cancels")
	s.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
}

// wait is the one place where an answer is missed.
func (s *session) wait(id string, c *call) answer {
	tick := time.NewTimer(answerWithin)
	defer tick.Stop()
	settled := time.NewTicker(250 * time.Millisecond)
	defer settled.Stop()
	quiet := 0
	for {
		select {
		case m := <-c.answer:
			s.led.count("answers")
			return answer{message: m}
		case <-s.gone:
			select {
			case m := <-c.answer:
				s.led.count("answers")
				return answer{message: m}
			default:
				return answer{lost: true}
			}
		case <-settled.C: // a request that was taken back may have no answer
			s.mu.Lock()
			back := c.cancelled
			s.mu.Unlock()
			if quiet++; back && quiet > 40 {
				return answer{cancelled: true}
			}
		case <-tick.C:
			s.led.violate("stdio: no answer to %s %s within %v", c.method, id, answerWithin)
			return answer{lost: true}
		}
	}
}

// open begins the session.
func (s *session) open(prompts bool) bool {
	capabilities := map[string]any{}
	if prompts {
		capabilities["elicitation"] = map[string]any{}
	}
	a := s.request("initialize", map[string]any{
		"protocolVersion": []string{"2025-11-25", "2025-06-18", "2024-11-05"}[rand.IntN(3)],
		"capabilities":    capabilities, "clientInfo": map[string]any{"name": "soak", "version": "1"},
	}, 0)
	if a.Result != nil {
		s.write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	return a.Result != nil
}

// end closes the input and holds the server to its promise: it exits within
// its own 4.5 s (and what a busy machine adds), with everything answered.
func (s *session) end() {
	_ = s.in.Close()
	select {
	case <-s.exited:
	case <-time.After(30 * time.Second):
		s.led.violate("stdio: the server did not end within 30 s of the end of its input")
		s.explain()
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	<-s.gone
}

// explain lets front and monitor write their goroutines, for the log.
func (s *session) explain() {
	for _, pid := range append(family(s.pid()), s.pid()) {
		if strings.Contains(cmdline(pid), "monitor") || pid == s.pid() {
			_ = syscall.Kill(pid, syscall.SIGQUIT)
			time.Sleep(500 * time.Millisecond) // one after the other, so that the text is not mixed up
		}
	}
	fmt.Fprintf(os.Stderr, "where it hung:\n%s\n", s.cmd.Stderr)
}

// hup asks for a scan.
func (s *session) hup() {
	s.led.count("reloads by SIGHUP")
	_ = s.cmd.Process.Signal(syscall.SIGHUP)
}

// rest lets the reader not read for a while.
func (s *session) rest(d time.Duration) {
	s.led.count("pauses of a reader")
	s.resting.Store(int64(d))
}
