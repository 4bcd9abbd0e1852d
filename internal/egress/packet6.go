package egress

import (
	"encoding/binary"
	"net/netip"

	"skill-mcp/internal/tun"
)

// What is read and written of RFC 8200 and 4443.
const (
	protocolICMPv6 = 58
	ipv6Header     = 40
)

// address6 is the IPv6 address beside an IPv4 address of the run's network.
func address6(a netip.Addr) netip.Addr {
	four := a.As4()
	return netip.AddrFrom16([16]byte(append(tun.Prefix6[:], four[:]...)))
}

// address4 is the IPv4 address beside an IPv6 address; false for an address of
// another network.
func address4(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	if !a.Is6() || [12]byte(b[:12]) != tun.Prefix6 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// parseIPv6 reads a packet. Extension headers stay the payload of a protocol
// that is not TCP: nothing but a program with a raw socket makes them.
func parseIPv6(b []byte) (packet, bool) {
	if len(b) < ipv6Header || b[0]>>4 != 6 {
		return packet{}, false
	}
	size := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if size > len(b) {
		return packet{}, false
	}
	return packet{
		protocol: b[6],
		src:      netip.AddrFrom16([16]byte(b[8:24])),
		dst:      netip.AddrFrom16([16]byte(b[24:40])),
		raw:      b[:size],
		payload:  b[ipv6Header:size],
	}, true
}

// prohibited6 is "communication with destination administratively prohibited"
// (type 1, code 1).
func prohibited6(p packet) []byte {
	quoted := p.raw[:min(len(p.raw), ipv6Header+8)]
	b := make([]byte, ipv6Header+icmpHeader+len(quoted))
	b[0] = 6 << 4
	binary.BigEndian.PutUint16(b[4:], uint16(icmpHeader+len(quoted)))
	b[6], b[7] = protocolICMPv6, defaultTTL
	copy(b[8:], p.dst.AsSlice())
	copy(b[24:], p.src.AsSlice())
	icmp := b[ipv6Header:]
	icmp[0], icmp[1] = 1, 1
	copy(icmp[icmpHeader:], quoted)
	pseudo := sum16(b[8:ipv6Header]) + uint32(len(icmp)) + protocolICMPv6
	binary.BigEndian.PutUint16(icmp[2:], checksum(pseudo, icmp))
	return b
}
