package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// raw is a client that decodes nothing, so that what is measured is the server:
// it writes a line and reads to the end of the answer's line.
type raw struct {
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	read *bufio.Reader
	id   int
}

// startRaw starts a program with a clean environment and the given variables.
func startRaw(env []string, argv ...string) (*raw, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append([]string{pathOnly, "HOME=/nonexistent"}, env...)
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	err = cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		return nil, err
	}
	return &raw{cmd: cmd, in: in, out: out, read: bufio.NewReaderSize(out, 1<<20)}, nil
}

// ask sends a line and returns the beginning of the answer and its length.
func (r *raw) ask(line string) (head []byte, length int, err error) {
	if err := r.out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, 0, err
	}
	if _, err := r.in.WriteString(line + "\n"); err != nil {
		return nil, 0, err
	}
	for {
		part, err := r.read.ReadSlice('\n')
		length += len(part)
		if head == nil {
			head = append(head, part[:min(len(part), 400)]...)
		}
		if err == nil {
			return head, length, nil
		}
		if err != bufio.ErrBufferFull {
			return nil, 0, err
		}
	}
}

// call sends a request and refuses an answer that is an error.
func (r *raw) call(method string, params any) (length int, err error) {
	r.id++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.id, "method": method, "params": params})
	if err != nil {
		return 0, err
	}
	return r.checked(string(line), method)
}

// checked sends a line that is a request.
func (r *raw) checked(line, method string) (int, error) {
	head, n, err := r.ask(line)
	if err == nil && (!bytes.Contains(head, []byte(`"result"`)) || bytes.Contains(head, []byte(`"isError":true`))) {
		err = fmt.Errorf("%s: %s", method, head)
	}
	return n, err
}

// initialize opens a session.
func (r *raw) initialize() error {
	_, err := r.call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "bench", "version": "1"},
	})
	if err == nil {
		_, err = r.in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	}
	return err
}

// close ends the server by the end of its input, or by force.
func (r *raw) close() {
	r.in.Close()
	slow := time.AfterFunc(10*time.Second, func() { r.cmd.Process.Signal(syscall.SIGKILL) })
	_ = r.cmd.Wait()
	slow.Stop()
	r.out.Close()
}
