package tun

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// native is the byte order of netlink headers.
var native = binary.NativeEndian

// netlink is a route socket of the calling thread's network namespace.
type netlink struct{ fd int }

func dialNetlink() (*netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open route socket: %w", err)
	}
	return &netlink{fd: fd}, nil
}

// index is the interface index of a name.
func (n *netlink) index(name string) (int32, error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return 0, fmt.Errorf("name interface %s: %w", name, err)
	}
	if err := unix.IoctlIfreq(n.fd, unix.SIOCGIFINDEX, ifr); err != nil {
		return 0, fmt.Errorf("find interface %s: %w", name, err)
	}
	return int32(ifr.Uint32()), nil
}

// request is one netlink message: what it does, for the error, and its bytes.
type request struct {
	what string
	raw  []byte
}

// do sends all requests in one write and waits for the answer to each. The
// kernel runs them inside the write, so the reads never wait.
func (n *netlink) do(requests ...request) error {
	var out []byte
	for i, r := range requests {
		native.PutUint32(r.raw[8:], uint32(i)+1)
		out = append(out, r.raw...)
	}
	if err := unix.Sendto(n.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("write to route socket: %w", err)
	}
	for seen := 0; seen < len(requests); {
		buf := make([]byte, 8192)
		got, err := unix.Read(n.fd, buf)
		if err != nil {
			return fmt.Errorf("read route socket: %w", err)
		}
		count, err := answers(buf[:got], requests)
		if err != nil {
			return err
		}
		seen += count
	}
	return nil
}

// answers counts the acknowledgements in one read and returns the first
// refusal among them.
func answers(b []byte, requests []request) (int, error) {
	count := 0
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(native.Uint32(b))
		if size < unix.NLMSG_HDRLEN+4 || size > len(b) {
			return count, errors.New("read route socket: malformed answer")
		}
		if native.Uint16(b[4:]) == unix.NLMSG_ERROR {
			count++
			errno := unix.Errno(-int32(native.Uint32(b[unix.NLMSG_HDRLEN:])))
			seq := int(native.Uint32(b[8:]))
			if errno != 0 && seq >= 1 && seq <= len(requests) {
				return count, fmt.Errorf("%s: %w", requests[seq-1].what, errno)
			}
		}
		b = b[min(align(size), len(b)):]
	}
	return count, nil
}

// message starts a netlink message of the type with its fixed body.
func message(kind, flags uint16, body []byte, attributes ...[]byte) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN)
	native.PutUint16(b[4:], kind)
	native.PutUint16(b[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = append(b, body...)
	for _, a := range attributes {
		b = append(b, a...)
	}
	native.PutUint32(b, uint32(len(b)))
	return b
}

// attribute is one netlink attribute, padded; values are joined.
func attribute(kind uint16, values ...[]byte) []byte {
	b := make([]byte, 4)
	native.PutUint16(b[2:], kind)
	for _, v := range values {
		b = append(b, v...)
	}
	native.PutUint16(b, uint16(len(b)))
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func align(n int) int { return (n + 3) &^ 3 }

func u32(v uint32) []byte { return native.AppendUint32(nil, v) }
