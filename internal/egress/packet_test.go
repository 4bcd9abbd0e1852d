package egress

import (
	"bytes"
	"net/netip"
	"testing"
)

func TestPackets(t *testing.T) {
	src, dst := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.1")
	out := newIPv4(protocolUDP, src, dst, udpHeader+5)
	copy(out[ipv4Header:], []byte{0x30, 0x39, 0, 53, 0, 13, 0, 0, 'h', 'e', 'l', 'l', 'o'})
	p, ok := parseIPv4(append(bytes.Clone(out), "padding"...))
	if !ok || p.src != src || p.dst != dst || len(p.raw) != len(out) {
		t.Fatalf("%+v %v", p, ok)
	}
	d, ok := parseUDP(p.payload)
	if !ok || d.srcPort != 12345 || d.dstPort != 53 || string(d.payload) != "hello" {
		t.Fatalf("%+v %v", d, ok)
	}
	back, ok := parseIPv4(udpReply(p, d, []byte("you")))
	if !ok || back.src != dst || back.dst != src || checksum(0, back.raw[:ipv4Header]) != 0 {
		t.Errorf("%+v %v", back, ok)
	}
	pseudo := sum16(back.raw[12:ipv4Header]) + protocolUDP + uint32(len(back.payload))
	if checksum(pseudo, back.payload) != 0 {
		t.Error("the checksum of the datagram is wrong")
	}
	refusal, ok := parseIPv4(prohibited(p))
	if !ok || refusal.protocol != protocolICMP || checksum(0, refusal.payload) != 0 || !bytes.Equal(refusal.payload[icmpHeader:], out[:ipv4Header+8]) {
		t.Errorf("%+v %v", refusal, ok)
	}
	fragment := bytes.Clone(out)
	fragment[6] = 0x20
	if _, ok := parseIPv4(fragment); ok {
		t.Error("a fragment is taken")
	}
}

// udp6 is a datagram of the run to port 443.
func udp6(payload string) []byte {
	b := make([]byte, ipv6Header, 128)
	b[0], b[5], b[6], b[7] = 6<<4, byte(udpHeader+len(payload)), protocolUDP, defaultTTL
	copy(b[8:], address6(runAddress).AsSlice())
	copy(b[24:], netip.MustParseAddr("2001:db8::1").AsSlice())
	return append(append(b, 0x30, 0x39, 1, 0xbb, 0, byte(udpHeader+len(payload)), 0, 0), payload...)
}

func TestPackets6(t *testing.T) {
	out := udp6("hello")
	p, ok := parsePacket(append(bytes.Clone(out), "padding"...))
	if !ok || p.protocol != protocolUDP || p.src != address6(runAddress) || p.dst.String() != "2001:db8::1" || !bytes.Equal(p.raw, out) {
		t.Fatalf("%+v %v", p, ok)
	}
	if d, ok := parseUDP(p.payload); !ok || d.dstPort != 443 || string(d.payload) != "hello" {
		t.Errorf("%+v %v", d, ok)
	}
	refusal, ok := parsePacket(prohibited(p))
	if !ok || refusal.protocol != protocolICMPv6 || refusal.src != p.dst || refusal.dst != p.src || !bytes.Equal(refusal.payload[icmpHeader:], out[:ipv6Header+8]) {
		t.Fatalf("%+v %v", refusal, ok)
	}
	pseudo := sum16(refusal.raw[8:ipv6Header]) + uint32(len(refusal.payload)) + protocolICMPv6
	if checksum(pseudo, refusal.payload) != 0 {
		t.Error("the checksum of the refusal is wrong")
	}
	for _, short := range [][]byte{out[:ipv6Header-1], out[:len(out)-1]} {
		if _, ok := parsePacket(short); ok {
			t.Errorf("%d of %d bytes are taken", len(short), len(out))
		}
	}
}

func FuzzPackets(f *testing.F) {
	src, dst := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.1")
	f.Add(udp6("hello"))
	f.Add(newIPv4(protocolUDP, src, dst, 20))
	f.Add(newIPv4(protocolICMP, src, dst, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parsePacket(b)
		if !ok {
			return
		}
		if again, ok := parsePacket(prohibited(p)); !ok || again.dst != p.src {
			t.Errorf("the refusal of % x cannot be read", b)
		}
		if d, ok := parseUDP(p.payload); ok && p.src.Is4() {
			if again, ok := parseIPv4(udpReply(p, d, []byte("x"))); !ok || again.dst != p.src {
				t.Errorf("the reply to % x cannot be read", b)
			}
		}
	})
}
