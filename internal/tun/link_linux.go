package tun

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// loopbackIndex is the index of `lo` in every network namespace.
const loopbackIndex = 1

// addrGenNone stops the kernel from giving the interface an IPv6 link-local
// address (IN6_ADDR_GEN_MODE_NONE).
const addrGenNone = 1

// linkInfoPeer is VETH_INFO_PEER of linux/veth.h, which x/sys does not name.
const linkInfoPeer = 1

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

// noOwnIPv6 keeps the kernel from giving the interface an IPv6 address of its
// own making when it comes up, and with it from asking for routers.
//
// Precondition: the interface is down.
func noOwnIPv6(index int32) request {
	mode := attribute(unix.IFLA_INET6_ADDR_GEN_MODE, []byte{addrGenNone})
	return request{
		what: fmt.Sprintf("keep made-up IPv6 addresses off interface %d", index),
		raw: message(unix.RTM_NEWLINK, 0, linkBody(index, 0),
			attribute(unix.IFLA_AF_SPEC, attribute(unix.AF_INET6, mode))),
	}
}

// configure gives the run's interface its addresses and routes and brings it,
// the loopback interface and the others up. Without IPv6, which a kernel may
// lack and an administrator may switch off, the run has the other family.
func (n *netlink) configure(run int32, others ...int32) (ipv6 bool, err error) {
	quiet, up := []request{noOwnIPv6(run)}, []request{linkUp(loopbackIndex, 0)}
	for _, index := range others {
		quiet, up = append(quiet, noOwnIPv6(index)), append(up, linkUp(index, MTU))
	}
	if err := n.do(quiet...); err != nil && !lacksIPv6(err) {
		return false, err
	}
	up = append(up, linkUp(run, MTU), address(unix.AF_INET, run, fourBytes(Address)), defaultRoute(unix.AF_INET, run))
	if err := n.do(up...); err != nil {
		return false, err
	}
	err = n.do(address(unix.AF_INET6, run, append(Prefix6[:], fourBytes(Address)...)), defaultRoute(unix.AF_INET6, run))
	if lacksIPv6(err) {
		return false, nil
	}
	return err == nil, err
}

// lacksIPv6 tells a kernel without IPv6 (the first two; the module is absent or
// was told ipv6.disable=1) and one where sysctl disable_ipv6 is set (the last).
func lacksIPv6(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EACCES)
}

// address gives the interface one address, alone in its network. The kernel
// does not ask others whether they have it too: there are none, and until the
// end of the asking an IPv6 address cannot be used.
func address(family byte, index int32, ip []byte) request {
	body := make([]byte, unix.SizeofIfAddrmsg)
	body[0], body[1], body[2] = family, byte(8*len(ip)), unix.IFA_F_NODAD
	native.PutUint32(body[4:], uint32(index))
	return request{
		what: fmt.Sprintf("add address % x", ip),
		raw: message(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, body,
			attribute(unix.IFA_LOCAL, ip), attribute(unix.IFA_ADDRESS, ip)),
	}
}

// defaultRoute sends everything of a family that is not loopback into the
// interface, so that a refused address is seen and recorded instead of failing
// unseen.
func defaultRoute(family byte, index int32) request {
	body := make([]byte, unix.SizeofRtMsg)
	body[0] = family
	body[4], body[5] = unix.RT_TABLE_MAIN, unix.RTPROT_STATIC
	body[6], body[7] = unix.RT_SCOPE_LINK, unix.RTN_UNICAST
	return request{
		what: fmt.Sprintf("add default route of family %d", family),
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
