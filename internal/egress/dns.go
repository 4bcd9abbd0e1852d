package egress

import (
	"encoding/binary"
	"net/netip"
	"strings"

	"skill-mcp/internal/egresswire"
)

// dnsTTL is how long an answer may be kept, in seconds. An address keeps its
// name for the run, so the value only bounds what a cache that outlives the
// run holds.
const dnsTTL = 5

// What the name server reads and writes of RFC 1035.
const (
	dnsHeader    = 12
	typeA        = 1
	typeAAAA     = 28
	classIN      = 1
	rcodeOK      = 0
	rcodeFormat  = 1
	rcodeServer  = 2
	rcodeNoName  = 3
	rcodeNotImpl = 4
)

// question is the one question of a query.
type question struct {
	name  string // canonical
	kind  uint16
	class uint16
	raw   []byte // as it stands in the query
}

// nameServer answers for the listed names. It asks nobody: whether a listed
// name exists is found out when it is dialed.
type nameServer struct {
	list   hostList
	names  *nameTable
	record *recorder
	ipv6   bool // the run has IPv6
}

// answer is the reply to one query, nil when there is none to give.
func (s *nameServer) answer(query []byte) []byte {
	if len(query) < dnsHeader || query[2]&0x80 != 0 {
		return nil // too short to reply to, or itself a reply: two servers must not talk
	}
	if query[2]&0x78 != 0 {
		return reply(query, nil, rcodeNotImpl, netip.Addr{})
	}
	q, ok := parseQuestion(query)
	if !ok {
		return reply(query, nil, rcodeFormat, netip.Addr{})
	}
	addr, rcode := s.resolve(q)
	return reply(query, q.raw, rcode, addr)
}

// resolve decides on one question.
func (s *nameServer) resolve(q question) (netip.Addr, byte) {
	wants4 := q.kind == typeA && q.class == classIN
	wants6 := q.kind == typeAAAA && q.class == classIN && s.ipv6
	if q.name == "localhost" || strings.HasSuffix(q.name, ".localhost") {
		// RFC 6761, 6.3; a run without an /etc/hosts asks for it. One family, so
		// that a program which serves and one which asks mean the same.
		if wants4 {
			return netip.AddrFrom4([4]byte{127, 0, 0, 1}), rcodeOK
		}
		return netip.Addr{}, rcodeOK
	}
	if !s.list.HasName(q.name) {
		if !strings.HasSuffix(q.name, ".arpa") { // a reverse look-up reaches for no host
			s.record.refuse(q.name, egresswire.ReasonName, "")
		}
		return netip.Addr{}, rcodeNoName
	}
	if !wants4 && !wants6 {
		return netip.Addr{}, rcodeOK
	}
	addr, ok := s.names.address(q.name)
	if !ok {
		s.record.dropName()
		return netip.Addr{}, rcodeServer
	}
	if wants6 {
		addr = address6(addr)
	}
	return addr, rcodeOK
}

// parseQuestion reads a query of exactly one question. Compression has no
// place in a first name.
func parseQuestion(query []byte) (question, bool) {
	if binary.BigEndian.Uint16(query[4:]) != 1 {
		return question{}, false
	}
	var name strings.Builder
	at := dnsHeader
	for {
		if at >= len(query) || query[at] > 63 {
			return question{}, false
		}
		size := int(query[at])
		at++
		if size == 0 {
			break
		}
		if at+size > len(query) || name.Len() > 255 {
			return question{}, false
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		name.Write(query[at : at+size])
		at += size
	}
	if at+4 > len(query) {
		return question{}, false
	}
	return question{
		name:  strings.ToLower(name.String()),
		kind:  binary.BigEndian.Uint16(query[at:]),
		class: binary.BigEndian.Uint16(query[at+2:]),
		raw:   query[dnsHeader : at+4],
	}, true
}

// reply builds an answer to the query with the question repeated and the
// address, when valid, as its one record. An OPT record is not answered: that
// is what a server without EDNS does, and nothing here is larger than 512.
func reply(query, rawQuestion []byte, rcode byte, addr netip.Addr) []byte {
	out := make([]byte, dnsHeader, dnsHeader+len(rawQuestion)+28)
	copy(out, query[:2])
	out[2] = 0x84 | query[2]&0x79 // a reply, authoritative; opcode and RD as asked
	out[3] = 0x80 | rcode         // recursion is available, as stub resolvers want to hear
	if rawQuestion == nil {
		return out
	}
	out[5] = 1
	out = append(out, rawQuestion...)
	if !addr.IsValid() {
		return out
	}
	out[7] = 1
	kind := byte(typeA)
	if addr.Is6() {
		kind = typeAAAA
	}
	out = append(out, 0xc0, dnsHeader, 0, kind, 0, classIN, 0, 0, 0, dnsTTL, 0, byte(addr.BitLen()/8))
	return append(out, addr.AsSlice()...)
}
