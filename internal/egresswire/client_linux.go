package egresswire

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a running egress process. It is not safe for use by several
// goroutines at once.
type Process struct {
	process *os.Process
	ended   chan struct{} // closed when the process is gone and reaped
	control int
	ready   bool  // a first message came
	state   Ready // which it was
	closed  bool
}

// HandoverPair makes the socket pair over which the child hands its device to
// the egress process: the first end is Options.Handover, the second goes to
// the child. Both are close-on-exec.
func HandoverPair() (egress, child *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make handover sockets: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "handover"), os.NewFile(uintptr(fds[1]), "handover"), nil
}

// ListenLoopback opens the listening socket of ModeProxy on 127.0.0.1 and
// returns it with its port, which is what the proxy variables of the run name.
func ListenLoopback() (*os.File, int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open proxy socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), "proxy")
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("bind proxy socket: %w", err)
	}
	if err := unix.Listen(fd, 128); err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("listen on proxy socket: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("read port of proxy socket: %w", err)
	}
	return f, name.(*unix.SockaddrInet4).Port, nil
}

// Start runs the process with an empty environment, in a session of its own,
// and sends it the configuration. It does not wait for the process to be
// ready. The process serves its run when it is told the hosts.
func Start(o Options) (*Process, error) {
	defer o.Handover.Close()
	if err := o.Config.Check(); err != nil {
		return nil, err
	}
	message, err := Encode(KindConfig, o.Config)
	if err != nil {
		return nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make egress control sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	// Sent before the start: the bytes wait in the socket, and a process that
	// cannot be started is told by the start.
	if err := unix.Send(fds[0], message, unix.MSG_NOSIGNAL); err != nil {
		unix.Close(fds[0])
		return nil, fmt.Errorf("send egress configuration: %w", err)
	}
	process, err := spawn(o, theirs)
	if err != nil {
		unix.Close(fds[0])
		return nil, fmt.Errorf("start egress process: %w", err)
	}
	p := &Process{process: process, control: fds[0], ended: make(chan struct{})}
	go func() { // until Kill, which waits for it
		_, _ = process.Wait() // it is this process's child, and nobody else's to wait for
		close(p.ended)
	}()
	return p, nil
}

// Ended is closed when the process is gone, whoever ended it. Before Stop or
// Kill that means that the run has lost its network. It may be waited for by
// any goroutine.
func (p *Process) Ended() <-chan struct{} { return p.ended }

func spawn(o Options, control *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	stderr := o.Stderr
	if stderr == nil {
		stderr = null
	}
	return os.StartProcess(o.Path, []string{"skill-egress"}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []*os.File{null, null, stderr, control, o.Handover},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

// PID is the process id.
func (p *Process) PID() int { return p.process.Pid }

// Tell has the process serve its run, which may reach the hosts. It waits for
// nothing: packets of the run wait in the device, connections in the backlog.
// It may be called once.
func (p *Process) Tell(hosts []string) error {
	message, err := Encode(KindHosts, Hosts{Hosts: append([]string{}, hosts...)})
	if err != nil {
		return err
	}
	if err := unix.Send(p.control, message, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("tell the egress process its hosts: %w", errors.Join(ErrEnded, err))
	}
	return nil
}

// WaitReady waits until the process has confined itself; it may be called
// again. A fault message becomes the error.
func (p *Process) WaitReady(timeout time.Duration) (Ready, error) {
	if p.ready {
		return p.state, nil
	}
	message, err := p.receive(time.Now().Add(timeout))
	if err != nil {
		return Ready{}, err
	}
	if p.state, err = decodeReady(message); err == nil {
		p.ready = true
	}
	return p.state, err
}

func decodeReady(message []byte) (Ready, error) {
	if KindOf(message) == KindFault {
		var fault Fault
		if err := Decode(message, KindFault, &fault); err != nil {
			return Ready{}, err
		}
		return Ready{}, fmt.Errorf("egress process, %s: %s", fault.Stage, fault.Error)
	}
	var ready Ready
	err := Decode(message, KindReady, &ready)
	return ready, err
}

// Evidence asks for a report and waits for it.
func (p *Process) Evidence(timeout time.Duration) (Evidence, error) {
	message, err := Encode(KindAsk, Ask{})
	if err != nil {
		return Evidence{}, err
	}
	if err := unix.Send(p.control, message, unix.MSG_NOSIGNAL); err != nil {
		return Evidence{}, fmt.Errorf("ask for egress report: %w", errors.Join(ErrEnded, err))
	}
	return p.report(time.Now().Add(timeout))
}

// Stop ends the process and returns its last report. It returns within the
// timeout and the moment a SIGKILL takes; after it the process is gone and
// reaped whatever the error says. It may be called once.
func (p *Process) Stop(timeout time.Duration) (Evidence, error) {
	deadline := time.Now().Add(timeout)
	_ = unix.Shutdown(p.control, unix.SHUT_WR) // a process that is gone reports nothing below
	evidence, err := p.report(deadline)
	if err == nil {
		p.awaitEnd(deadline)
	}
	p.Kill()
	return evidence, err
}

// Kill ends the process at once, without a report, and reaps it. It may be
// called after Stop.
func (p *Process) Kill() {
	if p.closed {
		return
	}
	p.closed = true
	unix.Close(p.control)
	_ = p.process.Kill() // it may have ended
	<-p.ended
}

// awaitEnd reads until the other end of the control socket is closed.
func (p *Process) awaitEnd(deadline time.Time) {
	for {
		if _, err := p.receive(deadline); err != nil {
			return
		}
	}
}

// report waits for the next report, past a ready message nobody waited for.
func (p *Process) report(deadline time.Time) (Evidence, error) {
	message, err := p.receive(deadline)
	if err != nil {
		return Evidence{}, err
	}
	if !p.ready {
		p.ready = true
		if _, err := decodeReady(message); err != nil {
			return Evidence{}, err
		}
		return p.report(deadline)
	}
	var evidence Evidence
	err = Decode(message, KindReport, &evidence)
	return evidence, err
}

// receive reads one message before the deadline.
func (p *Process) receive(deadline time.Time) ([]byte, error) {
	if err := waitReadable(p.control, deadline); err != nil {
		return nil, err
	}
	buf := make([]byte, MaxMessage+1)
	n, err := unix.Read(p.control, buf)
	if err != nil || n == 0 {
		return nil, errors.Join(ErrEnded, err)
	}
	return buf[:n], nil
}

func waitReadable(fd int, deadline time.Time) error {
	for {
		// Rounded up, so that the last millisecond is waited for and not spun.
		left := time.Until(deadline) + time.Millisecond - 1
		if left < time.Millisecond {
			left = 0
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(left/time.Millisecond))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for egress process: %w", err)
		case n > 0:
			return nil
		case left == 0:
			return ErrTimeout
		}
	}
}
