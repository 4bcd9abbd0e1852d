package egress

import (
	"context"
	"io"
	"sync"

	"golang.org/x/time/rate"
)

// pieceSize is how many bytes move at a time. One packet of the run's device
// carries as many; two for each of 256 connections are 32 MiB, inside the
// memory limit.
const pieceSize = 64 << 10

// stream is the run's side of a connection.
type stream interface {
	io.ReadWriteCloser
	CloseWrite() error
	// abort ends the connection with a reset, so that the run sees an error and
	// not an end.
	abort()
}

// mover moves bytes between runs and hosts.
type mover struct {
	pieces  sync.Pool
	limiter *rate.Limiter // nil: no bound
	record  *recorder
	listed  func(host string) bool
}

func newMover(d *dialer) *mover {
	m := &mover{record: d.record, listed: d.list.Has}
	m.pieces.New = func() any { return new([pieceSize]byte) }
	if n := d.limits.BytesPerSecond; n > 0 {
		m.limiter = rate.NewLimiter(rate.Limit(n), pieceSize)
	}
	return m
}

// join moves bytes both ways until both ends are done or one fails. It closes
// both.
func (m *mover) join(ctx context.Context, run stream, host *outside) {
	defer host.Close()
	defer run.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := m.inward(ctx, run, host); err != nil {
			reset(run, host)
		}
	}()
	if err := m.outward(ctx, run, host); err != nil {
		reset(run, host)
	}
	<-done
}

// reset ends both sides at once; a copy that waits on either returns.
func reset(run stream, host *outside) {
	_ = host.SetLinger(0) // the connection may be closed already
	host.Close()
	run.abort()
}

// inward moves what the host sends.
func (m *mover) inward(ctx context.Context, run stream, host *outside) error {
	err := m.copy(ctx, run, host.TCPConn, func(piece []byte) error {
		host.count.in.Add(int64(len(piece)))
		return nil
	})
	if err != nil {
		return err
	}
	return run.CloseWrite()
}

// outward moves what the run sends, and looks at it first.
func (m *mover) outward(ctx context.Context, run stream, host *outside) error {
	look := &inspector{listed: m.listed}
	err := m.copy(ctx, host.TCPConn, run, func(piece []byte) error {
		if look != nil {
			found, done := look.check(piece)
			if found != nil {
				return m.violated(found, host)
			}
			if done {
				look = nil
			}
		}
		host.count.out.Add(int64(len(piece)))
		return nil
	})
	if err != nil {
		return err
	}
	return host.CloseWrite()
}

// violated records what an inspector found; what cannot be read is put down to
// the host it was sent to.
func (m *mover) violated(v *violation, host *outside) error {
	target := v.target
	if target == "" {
		target = host.count.name
	}
	m.record.refuse(target, v.reason, "")
	return errRefused
}

// copy moves pieces until the end of src; each passes before first.
func (m *mover) copy(ctx context.Context, dst io.Writer, src io.Reader, before func([]byte) error) error {
	buf := m.pieces.Get().(*[pieceSize]byte)
	defer m.pieces.Put(buf)
	for {
		n, err := src.Read(buf[:])
		if n > 0 {
			if err := m.pass(ctx, dst, buf[:n], before); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (m *mover) pass(ctx context.Context, dst io.Writer, piece []byte, before func([]byte) error) error {
	if err := before(piece); err != nil {
		return err
	}
	if m.limiter != nil {
		if err := m.limiter.WaitN(ctx, len(piece)); err != nil {
			return err
		}
	}
	_, err := dst.Write(piece)
	return err
}
