// Package tun gives a network namespace its one way out: an interface whose
// packets are read and written by another process through a descriptor.
//
// The child of a run calls Open inside its new network namespace, while it
// still holds CAP_NET_ADMIN there, and hands the result to the egress process
// with Send. Nothing else is set up: no bridge, no address translation, no
// name of a host interface. The namespace then has `lo`, one interface with
// Address and, where the kernel has IPv6, its twin out of Prefix6, and a default
// route of each family into it, so every packet of the run that is not for
// loopback arrives at the egress process, which decides.
//
// It cannot create namespaces, does not read or write packets, and holds no
// policy. It imports golang.org/x/sys/unix only, because the child links it.
//
// Two kinds of device are made. A TUN device carries bare IP packets and
// needs /dev/net/tun to exist and to be openable. Where it is not (a device
// node of mode 0600, a container without it) a pair of veth interfaces takes
// its place: the run has one end, and a packet socket bound to the other end
// carries Ethernet frames. It needs no device node, only CAP_NET_ADMIN and
// CAP_NET_RAW in the namespace, which the owner of a user namespace has.
package tun

// Address is the IPv4 address of the run in its own namespace. It is out of
// 198.18.0.0/15 (RFC 2544, benchmarking between devices): a range no public
// host and next to no private network uses, so a listed name can never be
// confused with a neighbour of the host.
const Address = "198.18.0.2"

// Prefix6 is the first twelve bytes of every IPv6 address of the run's network;
// the last four are those of the IPv4 address beside it. It is a unique local
// prefix (RFC 4193) with 40 random bits: no route of the host is meant by it.
var Prefix6 = [12]byte{0xfd, 0x5a, 0x9c, 0x1e, 0x70, 0xb4}

// Nameserver is the IPv4 address, UDP port 53, at which the egress process
// answers the names of the run.
const Nameserver = "198.18.0.1"

// Interface is the name of the run's interface in its namespace.
const Interface = "tun0"

// MTU is the largest packet, in bytes. The link is memory, so the packet is as
// large as IPv4 and the skb allocation allow: the cost per packet (two
// switches of context and a walk through the user-space stack) is spread over
// 64 KiB.
const MTU = 65520

// ResolvConf is the text of the run's /etc/resolv.conf. One server, which
// always answers at once; ndots:0 keeps a single-label name from being tried
// with a search list the run does not have.
const ResolvConf = "nameserver " + Nameserver + "\noptions timeout:2 attempts:2 ndots:0\n"

// Kind says what one read of a Device gives.
type Kind byte

const (
	// KindTUN is a TUN descriptor: one bare packet for each read.
	KindTUN Kind = 't'
	// KindPacket is a packet socket: one Ethernet frame for each read.
	KindPacket Kind = 'p'
)

// String is the word the fence report uses.
func (k Kind) String() string {
	switch k {
	case KindTUN:
		return "tun"
	case KindPacket:
		return "packet"
	}
	return "unknown"
}

// RunMAC and PeerMAC are the hardware addresses of the two ends of the veth
// pair of KindPacket: the run's end and the end the packet socket is bound to.
// Both have the locally administered bit, and are fixed so that nobody needs
// to ask for them.
var (
	RunMAC  = [6]byte{0x02, 0x53, 0x4b, 0, 0, 2}
	PeerMAC = [6]byte{0x02, 0x53, 0x4b, 0, 0, 1}
)

// Device is an open way out of a network namespace. FD is owned by the holder
// of the value, close-on-exec and non-blocking; the interface goes away with
// the namespace, and a TUN interface also with the last copy of FD.
type Device struct {
	FD   int
	Kind Kind
	// IPv6 says that the run's interface has an IPv6 address and route too.
	IPv6 bool
}

// withIPv6 is the difference between the two codes of a kind.
const withIPv6 = 't' - 'T'

// Code is the byte a device is handed over with: the kind, as a capital where
// the run has IPv6.
func (d Device) Code() byte {
	if d.IPv6 {
		return byte(d.Kind) - withIPv6
	}
	return byte(d.Kind)
}

// DeviceOf is the device of a code and its descriptor; false when the byte is
// no code.
func DeviceOf(code byte, fd int) (Device, bool) {
	switch kind := Kind(code | withIPv6); kind {
	case KindTUN, KindPacket:
		return Device{FD: fd, Kind: kind, IPv6: code != byte(kind)}, true
	}
	return Device{}, false
}
