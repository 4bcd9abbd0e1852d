package tun

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Send hands the device to the process at the other end of a unix socket and
// leaves the caller's copy open. The message is one byte, the code, with one
// descriptor.
func Send(socket int, d Device) error {
	rights := unix.UnixRights(d.FD)
	if err := unix.Sendmsg(socket, []byte{d.Code()}, rights, nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("hand over network device: %w", err)
	}
	return nil
}

// Keep makes a second hold on the device, and returns what gives it up. Who
// gives up the last one waits for the kernel to take the interface away, which
// takes 15 ms: a grace period of its network code.
func Keep(d Device) (release func(), err error) {
	fd, err := unix.FcntlInt(uintptr(d.FD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keep network device: %w", err)
	}
	return func() { unix.Close(fd) }, nil
}

// ErrNoDevice is what Receive returns when the other end closed without one.
var ErrNoDevice = errors.New("receive network device: the run ended without one")

// Receive waits for a device from the other end of a unix socket. The
// descriptor is close-on-exec. Anything but one known code with exactly one descriptor is an error and leaves no descriptor open.
func Receive(socket int) (Device, error) {
	var data [2]byte
	rights := make([]byte, unix.CmsgSpace(4*4))
	n, rn, _, err := receive(socket, data[:], rights)
	if err != nil {
		return Device{}, fmt.Errorf("receive network device: %w", err)
	}
	fds := descriptors(rights[:rn])
	if n == 0 && len(fds) == 0 {
		return Device{}, ErrNoDevice
	}
	if d, ok := device(data[:n], fds); ok {
		return d, nil
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return Device{}, fmt.Errorf("receive network device: unexpected message of %d bytes, %d descriptors", n, len(fds))
}

// device reads a message of one code and one descriptor.
func device(message []byte, fds []int) (Device, bool) {
	if len(message) != 1 || len(fds) != 1 {
		return Device{}, false
	}
	return DeviceOf(message[0], fds[0])
}

// receive is recvmsg, again after a signal.
func receive(socket int, data, rights []byte) (n, rn, flags int, err error) {
	for {
		n, rn, flags, _, err = unix.Recvmsg(socket, data, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, rn, flags, err
		}
	}
}

// descriptors lists what arrived, in order.
func descriptors(rights []byte) []int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	var out []int
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			out = append(out, fds...)
		}
	}
	return out
}
