// Package mcpclient is a small MCP client over stdio for the project's own
// demonstration, benchmarks and end-to-end tests. It drives the built server
// as any client would, and it can answer elicitations.
package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Message is one JSON-RPC message in either direction.
type Message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

// RPCError is a JSON-RPC error.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error gives code and message.
func (e *RPCError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Options say what to start and how.
type Options struct {
	Command []string // program and arguments
	Env     []string // NAME=value; nil = this process's
	Dir     string
	Stderr  io.Writer // nil = dropped
	// OnMessage sees every notification and request of the server. A returned
	// value answers a request; nil leaves it unanswered.
	OnMessage func(m Message) any
}

// Client is one started server and the session with it.
type Client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	mu   sync.Mutex // of in and waiting
	last int
	wait map[string]chan Message
	opts Options
	gone chan struct{}
}

// ErrGone means that the server ended before it answered.
var ErrGone = errors.New("the server ended")

// Start starts a server. Call [Client.Close] in the end.
func Start(o Options) (*Client, error) {
	c := &Client{opts: o, wait: map[string]chan Message{}, gone: make(chan struct{})}
	c.cmd = exec.Command(o.Command[0], o.Command[1:]...)
	c.cmd.Env, c.cmd.Dir, c.cmd.Stderr = o.Env, o.Dir, o.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Command[0], err)
	}
	c.in = in
	go c.read(out)
	return c, nil
}

// Process is the started server's process.
func (c *Client) Process() *os.Process { return c.cmd.Process }

// read takes messages until the server closes its output.
func (c *Client) read(out io.Reader) {
	defer close(c.gone)
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var m Message
			if json.Unmarshal(line, &m) == nil {
				c.take(m)
			}
		}
		if err != nil {
			return
		}
	}
}

// take hands a message to whoever waits for it.
func (c *Client) take(m Message) {
	if m.Method == "" {
		c.mu.Lock()
		ch := c.wait[string(m.ID)]
		delete(c.wait, string(m.ID))
		c.mu.Unlock()
		if ch != nil {
			ch <- m
		}
		return
	}
	if c.opts.OnMessage == nil {
		return
	}
	go func() {
		if answer := c.opts.OnMessage(m); answer != nil && m.ID != nil {
			result, err := json.Marshal(answer)
			if err == nil {
				c.send(Message{JSONRPC: "2.0", ID: m.ID, Result: result})
			}
		}
	}()
}

// send writes one message.
func (c *Client) send(m Message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.SendRaw(append(line, '\n'))
}

// SendRaw writes bytes as they are, for tests of the transport.
func (c *Client) SendRaw(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.in.Write(b)
	return err
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(Message{JSONRPC: "2.0", Method: method, Params: raw})
}

// Begin sends a request and returns its id and the channel of its answer.
func (c *Client) Begin(method string, params any) (id int, answer <-chan Message, err error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan Message, 1)
	c.mu.Lock()
	c.last++
	id = c.last
	key := fmt.Sprint(id)
	c.wait[key] = ch
	c.mu.Unlock()
	return id, ch, c.send(Message{JSONRPC: "2.0", ID: json.RawMessage(key), Method: method, Params: raw})
}

// Call sends a request and waits at most within for its result.
func (c *Client) Call(method string, params any, within time.Duration) (json.RawMessage, error) {
	_, ch, err := c.Begin(method, params)
	if err != nil {
		return nil, err
	}
	select {
	case m := <-ch:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-c.gone:
		return nil, ErrGone
	case <-time.After(within):
		return nil, fmt.Errorf("%s: no answer in %s", method, within)
	}
}

// Initialize opens a session of the given revision with the given capabilities.
func (c *Client) Initialize(revision string, capabilities any) (json.RawMessage, error) {
	if capabilities == nil {
		capabilities = struct{}{}
	}
	r, err := c.Call("initialize", map[string]any{
		"protocolVersion": revision, "capabilities": capabilities,
		"clientInfo": map[string]string{"name": "skill-mcp-test", "version": "1"},
	}, 15*time.Second)
	if err != nil {
		return nil, err
	}
	return r, c.Notify("notifications/initialized", struct{}{})
}

// ToolResult is the answer of tools/call.
type ToolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

// Text joins the text blocks.
func (r ToolResult) Text() string {
	var b bytes.Buffer
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Tool calls a tool.
func (c *Client) Tool(name string, arguments any, within time.Duration) (ToolResult, error) {
	var t ToolResult
	r, err := c.Call("tools/call", map[string]any{"name": name, "arguments": arguments}, within)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(r, &t)
}

// Close ends the server's input and waits at most within for it to exit; then
// it is killed. The error is the exit error of a server that ended itself.
func (c *Client) Close(within time.Duration) error {
	c.in.Close()
	done := make(chan error, 1)
	go func() { <-c.gone; done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		c.cmd.Process.Kill()
		<-done
		return fmt.Errorf("the server did not exit within %s of the end of its input", within)
	}
}
