package egress

import (
	"encoding/binary"
	"net/netip"
)

// What is read and written of RFC 791, 768 and 792 (packet6.go has RFC 8200 and
// 4443).
const (
	protocolICMP = 1
	protocolTCP  = 6
	protocolUDP  = 17
	ipv4Header   = 20
	udpHeader    = 8
	icmpHeader   = 8
	defaultTTL   = 64
)

// packet is one packet of the run, its lengths checked.
type packet struct {
	protocol byte // of the payload
	src, dst netip.Addr
	raw      []byte // the whole packet
	payload  []byte
}

// parsePacket reads a packet of either family.
func parsePacket(b []byte) (packet, bool) {
	if len(b) > 0 && b[0]>>4 == 6 {
		return parseIPv6(b)
	}
	return parseIPv4(b)
}

// parseIPv4 reads a packet. Fragments are refused: nothing on a link of 64 KiB
// makes them but a program that hides what it sends.
func parseIPv4(b []byte) (packet, bool) {
	if len(b) < ipv4Header || b[0]>>4 != 4 {
		return packet{}, false
	}
	head, size := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < ipv4Header || size < head || size > len(b) {
		return packet{}, false
	}
	if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 { // more fragments, or an offset
		return packet{}, false
	}
	return packet{
		protocol: b[9],
		src:      netip.AddrFrom4([4]byte(b[12:16])),
		dst:      netip.AddrFrom4([4]byte(b[16:20])),
		raw:      b[:size],
		payload:  b[head:size],
	}, true
}

// datagram is a UDP payload with its ports.
type datagram struct {
	srcPort, dstPort uint16
	payload          []byte
}

// parseUDP reads a datagram. Its checksum is not looked at: the kernel of this
// host made it, and leaves it to hardware that is not there.
func parseUDP(b []byte) (datagram, bool) {
	if len(b) < udpHeader {
		return datagram{}, false
	}
	size := int(binary.BigEndian.Uint16(b[4:]))
	if size < udpHeader || size > len(b) {
		return datagram{}, false
	}
	return datagram{
		srcPort: binary.BigEndian.Uint16(b),
		dstPort: binary.BigEndian.Uint16(b[2:]),
		payload: b[udpHeader:size],
	}, true
}

// udpReply builds the packet that answers a datagram with the payload. The name
// server has an IPv4 address only.
func udpReply(to packet, d datagram, payload []byte) []byte {
	b := newIPv4(protocolUDP, to.dst, to.src, udpHeader+len(payload))
	udp := b[ipv4Header:]
	binary.BigEndian.PutUint16(udp, d.dstPort)
	binary.BigEndian.PutUint16(udp[2:], d.srcPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	copy(udp[udpHeader:], payload)
	pseudo := uint32(protocolUDP) + uint32(len(udp))
	sum := checksum(pseudo+sum16(b[12:ipv4Header]), udp)
	if sum == 0 {
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], sum)
	return b
}

// prohibited builds the ICMP answer "communication administratively
// prohibited" (type 3, code 13), so that a program with a connected socket
// hears at once what it would else wait for.
func prohibited(p packet) []byte {
	if p.src.Is6() {
		return prohibited6(p)
	}
	quoted := p.raw[:min(len(p.raw), len(p.raw)-len(p.payload)+8)]
	b := newIPv4(protocolICMP, p.dst, p.src, icmpHeader+len(quoted))
	icmp := b[ipv4Header:]
	icmp[0], icmp[1] = 3, 13
	copy(icmp[icmpHeader:], quoted)
	binary.BigEndian.PutUint16(icmp[2:], checksum(0, icmp))
	return b
}

// newIPv4 begins a packet with room for size bytes of payload.
func newIPv4(protocol byte, src, dst netip.Addr, size int) []byte {
	b := make([]byte, ipv4Header+size)
	b[0] = 4<<4 | ipv4Header/4
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	b[6] = 0x40 // do not fragment
	b[8], b[9] = defaultTTL, protocol
	copy(b[12:], src.AsSlice())
	copy(b[16:], dst.AsSlice())
	binary.BigEndian.PutUint16(b[10:], checksum(0, b[:ipv4Header]))
	return b
}

// sum16 adds up big-endian words; an odd last byte is the high half of one.
func sum16(b []byte) uint32 {
	var sum uint32
	for len(b) >= 2 {
		sum += uint32(b[0])<<8 | uint32(b[1])
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

// checksum is that of RFC 1071 over b, with what was summed before.
func checksum(before uint32, b []byte) uint16 {
	sum := before + sum16(b)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
