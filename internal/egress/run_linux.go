package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
	glog "gvisor.dev/gvisor/pkg/log"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/tun"
)

// Run is the whole life of the process: it reads its configuration from the
// control socket, confines itself, waits for the run's hosts, serves the run that arrives on handover,
// and returns when the control socket ends, after a last report. Both are
// descriptors it takes over (package egresswire says what they are).
//
// An error has been sent as a fault message already, where that was possible.
func Run(control, handover int) error {
	glog.SetTarget(glog.GoogleEmitter{Writer: &glog.Writer{Next: io.Discard}}) // the run must not write to the owner's log
	c, err := readConfig(control)
	if err != nil {
		return fault(control, "configuration", err)
	}
	ready, err := confine(c)
	if err != nil {
		return fault(control, "confine", err)
	}
	if err := send(control, egresswire.KindReady, ready); err != nil {
		return err
	}
	told, err := awaitHosts(control, &c, egresswire.StandbyTime)
	if err != nil {
		return fault(control, "hosts", err)
	}
	if !told {
		return nil
	}
	record := newRecorder()
	d, err := newDialer(c, record)
	if err != nil {
		return fault(control, "hosts", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go serve(ctx, c.Mode, handover, d)
	return answerControl(control, record)
}

// readConfig reads the first message.
func readConfig(control int) (egresswire.Config, error) {
	var c egresswire.Config
	message, err := receive(control)
	if err != nil {
		return c, err
	}
	if err := egresswire.Decode(message, egresswire.KindConfig, &c); err != nil {
		return c, err
	}
	return c, c.Check()
}

// awaitHosts waits for the run and takes its hosts into c; false when none came
// in time or the monitor is gone.
func awaitHosts(control int, c *egresswire.Config, within time.Duration) (told bool, err error) {
	bound := unix.NsecToTimeval(int64(within))
	if err := unix.SetsockoptTimeval(control, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &bound); err != nil {
		return false, fmt.Errorf("bound the wait for the run: %w", err)
	}
	message, err := receive(control)
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EAGAIN) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var h egresswire.Hosts
	if err := egresswire.Decode(message, egresswire.KindHosts, &h); err != nil {
		return false, err
	}
	if err := unix.SetsockoptTimeval(control, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{}); err != nil {
		return false, fmt.Errorf("wait without a bound: %w", err)
	}
	c.Hosts = h.Hosts
	return true, c.Check()
}

// serve runs the way in. When it cannot, or its device is gone, the run is
// without a network and the process goes on to report.
func serve(ctx context.Context, mode egresswire.Mode, handover int, d *dialer) {
	way := serveDevice
	if mode == egresswire.ModeProxy {
		way = serveListener
	}
	if err := way(ctx, handover, d); err != nil && !errors.Is(err, tun.ErrNoDevice) {
		fmt.Fprintln(os.Stderr, "skill-egress:", err)
	}
}

func serveDevice(ctx context.Context, handover int, d *dialer) error {
	device, err := tun.Receive(handover)
	unix.Close(handover)
	if err != nil {
		return err
	}
	names := newNameTable()
	other := newNotTCP(&nameServer{list: d.list, names: names, record: d.record, ipv6: device.IPv6}, d.limits.DNSPerSecond)
	l := newLink(device, other.handle)
	other.send = l.send
	if _, err := newStack(ctx, l, &server{names: names, dialer: d, mover: newMover(d)}); err != nil {
		return err
	}
	d.record.setWay(device.Kind.String())
	return l.run()
}

func serveListener(ctx context.Context, handover int, d *dialer) error {
	f := os.NewFile(uintptr(handover), "listener")
	l, err := net.FileListener(f)
	f.Close()
	if err != nil {
		return fmt.Errorf("take over proxy socket: %w", err)
	}
	d.record.setWay(string(egresswire.ModeProxy))
	return newProxyServer(d, newMover(d)).serve(ctx, l)
}

// answerControl answers each ask with a report, and the end of the socket with
// the last one.
func answerControl(control int, record *recorder) error {
	for {
		message, err := receive(control)
		if err == nil {
			err = egresswire.Decode(message, egresswire.KindAsk, &egresswire.Ask{})
		}
		// The monitor may be gone at the end, and then nobody wants the report.
		sent := send(control, egresswire.KindReport, record.evidence())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := errors.Join(err, sent); err != nil {
			return err
		}
	}
}

// receive reads one message of the control socket.
func receive(control int) ([]byte, error) {
	buf := make([]byte, egresswire.MaxMessage+1)
	for {
		n, err := unix.Read(control, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("read control socket: %w", err)
		case n == 0:
			return nil, io.EOF
		}
		return buf[:n], nil
	}
}

func send(control int, kind egresswire.Kind, body any) error {
	message, err := egresswire.Encode(kind, body)
	if err != nil {
		return err
	}
	if err := unix.Send(control, message, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("write control socket: %w", err)
	}
	return nil
}

// fault tells the monitor why the process ends, and returns the cause.
func fault(control int, stage string, cause error) error {
	err := fmt.Errorf("%s: %w", stage, cause)
	return errors.Join(err, send(control, egresswire.KindFault, egresswire.Fault{Stage: stage, Error: cause.Error()}))
}
