package auditfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// askWait bounds the front's wait for an answer: opening a file takes no time,
// but the folder may lie on a network.
var askWait = unix.Timeval{Sec: 5}

// MonitorFD is where the monitor finds its end of the socket when its hand-over
// names an audit file: behind the standard streams, the wire and the hand-over.
const MonitorFD = 5

// maxReason bounds the sentence that comes in place of a descriptor, bytes.
const maxReason = 512

// Pair makes the socket over which the front asks: its own end and the
// monitor's. Messages have borders, so that an answer is one read.
func Pair() (front, monitor *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the audit's socket: %w", err)
	}
	front, monitor = os.NewFile(uintptr(pair[0]), "audit"), os.NewFile(uintptr(pair[1]), "audit")
	for _, option := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, option, &askWait); err != nil {
			front.Close()
			monitor.Close()
			return nil, nil, fmt.Errorf("make the audit's socket: %w", err)
		}
	}
	return front, monitor, nil
}

// Serve answers each question on the socket fd with the file at path, opened
// anew, until the front is gone. It is the monitor's; it owns fd.
func Serve(fd int, path string) {
	defer unix.Close(fd)
	question := make([]byte, 1)
	for {
		n, err := unix.Read(fd, question)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		if answer(fd, path) != nil {
			return
		}
	}
}

// answer sends the descriptor, or why there is none.
func answer(fd int, path string) error {
	f, err := Open(path)
	if err != nil {
		reason := err.Error()
		return unix.Sendmsg(fd, []byte(reason[:min(len(reason), maxReason)]), nil, nil, unix.MSG_NOSIGNAL)
	}
	defer f.Close()
	return unix.Sendmsg(fd, []byte{0}, unix.UnixRights(int(f.Fd())), nil, unix.MSG_NOSIGNAL)
}

// Ask asks for the file once more over the front's end fd. The front's filter
// allows what is used here: write, and receiving on an open socket.
func Ask(fd int) (*os.File, error) {
	if _, err := unix.Write(fd, []byte{1}); err != nil {
		return nil, fmt.Errorf("ask the helper for the audit file: %w", err)
	}
	text, rights := make([]byte, maxReason), make([]byte, unix.CmsgSpace(4))
	for {
		n, got, _, _, err := unix.Recvmsg(fd, text, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, fmt.Errorf("ask the helper for the audit file: %w", err)
		case n == 0:
			return nil, errors.New("ask the helper for the audit file: the helper has ended")
		case got == 0:
			return nil, errors.New(string(text[:n]))
		}
		return received(rights[:got])
	}
}

// received takes the descriptor out of a control message.
func received(rights []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("take the audit file over: %d messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("take the audit file over: %d descriptors: %w", len(fds), err)
	}
	return os.NewFile(uintptr(fds[0]), "audit"), nil
}
