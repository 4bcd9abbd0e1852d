package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"skill-mcp/internal/capture"
)

// role is a process that a table needs: something that keeps a core busy, the
// bare pipe copy, and both ends of a flood.
func role(args []string) error {
	n := 0
	if len(args) > 1 {
		var err error
		if n, err = strconv.Atoi(args[1]); err != nil {
			return err
		}
	}
	switch args[0] {
	case "spin":
		return spin()
	case "reply":
		return reply(n)
	case "pour":
		return pour(n)
	case "drain":
		return drain(args[1])
	}
	return fmt.Errorf("no role %q", args[0])
}

// spin keeps every core busy until its input ends.
func spin() error {
	for range runtime.NumCPU() {
		go func() {
			for i := 0; ; i++ {
				_ = i
			}
		}()
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// reply answers each line with n bytes, the last of which ends the line.
func reply(n int) error {
	answer := append(bytes.Repeat([]byte("a"), n-1), '\n')
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return nil // the end of its input
		}
		if _, err := os.Stdout.Write(answer); err != nil {
			return err
		}
	}
}

// pour writes n MiB as fast as a program can that has its bytes ready: in
// writes as large as the pipe.
func pour(n int) error {
	chunk := bytes.Repeat([]byte("a line of thirty-one characters\n"), 1<<15)
	for range n {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// drained is what a drain of a flood found.
type drained struct {
	Bytes   int64
	Seconds float64
	Growth  int64 // of the resident memory's peak, in bytes
}

// drain takes in what `pour` of this program writes, as the monitor does, and
// prints what it found.
func drain(mib string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, _, err := takeIn(self, "0"); err != nil { // so that what a start needs is in memory
		return err
	}
	before := residentPeak(os.Getpid())
	n, took, err := takeIn(self, mib)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(drained{n, took.Seconds(), residentPeak(os.Getpid()) - before})
}

// takeIn captures all that one `pour` writes.
func takeIn(self, mib string) (bytes int64, took time.Duration, err error) {
	c, err := capture.New(1 << 60)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	cmd := exec.Command(self, "role", "pour", mib)
	cmd.Stdout, cmd.Stderr = c.Out.W, c.Err.W
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	c.Started()
	begun := time.Now()
	if err := cmd.Wait(); err != nil {
		return 0, 0, err
	}
	if held := c.Drain(30*time.Second, 0); held {
		return 0, 0, fmt.Errorf("the flood did not end")
	}
	return c.Out.Total(), time.Since(begun), nil
}

// residentPeak and resident are of a process, in bytes; 0 when it is gone.
func residentPeak(pid int) int64 { return statusBytes(pid, "VmHWM:") }
func resident(pid int) int64     { return statusBytes(pid, "VmRSS:") }

func statusBytes(pid int, key string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), key)
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
