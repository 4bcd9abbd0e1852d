package tun

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// native is the byte order of netlink headers.
var native = binary.NativeEndian

// loopbackIndex is the index of `lo` in every network namespace.
const loopbackIndex = 1

// addrGenNone stops the kernel from giving the interface an IPv6 link-local
// address (IN6_ADDR_GEN_MODE_NONE): the run has no IPv6 but ::1.
const addrGenNone = 1

// linkInfoPeer is VETH_INFO_PEER of linux/veth.h, which x/sys does not name.
const linkInfoPeer = 1

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

// linkBody is a struct ifinfomsg that sets the given flags and no others.
func linkBody(index int32, flags uint32) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	native.PutUint32(b[4:], uint32(index))
	native.PutUint32(b[8:], flags)
	native.PutUint32(b[12:], flags)
	return b
}

// linkUp brings an interface up; mtu 0 leaves its size.
func linkUp(index int32, mtu uint32) request {
	var attributes [][]byte
	if mtu != 0 {
		attributes = append(attributes, attribute(unix.IFLA_MTU, u32(mtu)))
	}
	return request{
		what: fmt.Sprintf("bring interface %d up", index),
		raw:  message(unix.RTM_NEWLINK, 0, linkBody(index, unix.IFF_UP), attributes...),
	}
}

// noIPv6 keeps the kernel from giving the interface an IPv6 address of its
// own when it comes up.
//
// Precondition: the interface is down.
func noIPv6(index int32) request {
	mode := attribute(unix.IFLA_INET6_ADDR_GEN_MODE, []byte{addrGenNone})
	return request{
		what: fmt.Sprintf("keep IPv6 off interface %d", index),
		raw: message(unix.RTM_NEWLINK, 0, linkBody(index, 0),
			attribute(unix.IFLA_AF_SPEC, attribute(unix.AF_INET6, mode))),
	}
}

// configure gives the run's interface its address and route and brings it, the
// loopback interface and the others up.
func (n *netlink) configure(run int32, others ...int32) error {
	// A kernel without IPv6 refuses this one, and has nothing to keep off.
	if err := n.do(noIPv6(run)); err != nil && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	requests := []request{linkUp(loopbackIndex, 0)}
	for _, index := range others {
		requests = append(requests, linkUp(index, MTU))
	}
	return n.do(append(requests, linkUp(run, MTU), address(run), defaultRoute(run))...)
}

// address gives the interface Address/32.
func address(index int32) request {
	ip := fourBytes(Address)
	body := make([]byte, unix.SizeofIfAddrmsg)
	body[0], body[1] = unix.AF_INET, 32
	native.PutUint32(body[4:], uint32(index))
	return request{
		what: "add address " + Address,
		raw: message(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body,
			attribute(unix.IFA_LOCAL, ip), attribute(unix.IFA_ADDRESS, ip)),
	}
}

// defaultRoute sends everything that is not loopback into the interface, so
// that a refused address is seen and recorded instead of failing unseen.
func defaultRoute(index int32) request {
	body := make([]byte, unix.SizeofRtMsg)
	body[0] = unix.AF_INET
	body[4], body[5] = unix.RT_TABLE_MAIN, unix.RTPROT_STATIC
	body[6], body[7] = unix.RT_SCOPE_LINK, unix.RTN_UNICAST
	return request{
		what: "add default route",
		raw: message(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body,
			attribute(unix.RTA_OIF, u32(uint32(index)))),
	}
}

// vethPair creates both ends, with fixed hardware addresses. The run's end
// does not use ARP: with it off the kernel addresses every frame to the
// sender's own hardware address and asks nobody.
func vethPair(run, peer string) request {
	peerLink := attribute(linkInfoPeer,
		linkBody(0, 0), attribute(unix.IFLA_IFNAME, []byte(peer+"\x00")),
		attribute(unix.IFLA_ADDRESS, PeerMAC[:]))
	info := attribute(unix.IFLA_LINKINFO,
		attribute(unix.IFLA_INFO_KIND, []byte("veth")),
		attribute(unix.IFLA_INFO_DATA, peerLink))
	return request{
		what: "create " + run,
		raw: message(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, linkBody(0, unix.IFF_NOARP),
			attribute(unix.IFLA_IFNAME, []byte(run+"\x00")),
			attribute(unix.IFLA_ADDRESS, RunMAC[:]), info),
	}
}

// fourBytes parses a dotted address of this package's constants.
func fourBytes(s string) []byte {
	out := make([]byte, 0, 4)
	var v byte
	for _, c := range []byte(s + ".") {
		if c == '.' {
			out, v = append(out, v), 0
			continue
		}
		v = v*10 + (c - '0')
	}
	return out
}
