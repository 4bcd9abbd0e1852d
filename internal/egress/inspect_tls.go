package egress

import (
	"encoding/binary"

	"skill-mcp/internal/egresswire"
)

// What is read of RFC 8446, 4 and 5.1, and RFC 6066, 3.
const (
	recordHandshake = 22
	messageHello    = 1
	extensionName   = 0
	nameTypeHost    = 0
	maxRecord       = 1<<14 + 256
	maxHello        = 64 << 10 // a hello with post-quantum shares and a ticket is under 8 KiB
	recordHeader    = 5
	helloHeader     = 4
	helloFixed      = 2 + 32 // version and random
)

// helloReader collects the ClientHello and looks at its server name. An
// encrypted hello (ECH) shows its outer name, which is that of the server's
// front and so not a listed one.
type helloReader struct {
	listed    func(string) bool
	record    []byte // bytes of the record being received, header first
	handshake []byte
}

func (h *helloReader) check(piece []byte) (*violation, verdict) {
	h.record = append(h.record, piece...)
	for len(h.record) >= recordHeader {
		size := int(binary.BigEndian.Uint16(h.record[3:]))
		if h.record[0] != recordHandshake || h.record[1] != 3 || size > maxRecord {
			return nil, passed // not TLS, or not any more: no server takes a hello from it
		}
		if len(h.record) < recordHeader+size {
			return nil, unsure
		}
		h.handshake = append(h.handshake, h.record[recordHeader:recordHeader+size]...)
		h.record = h.record[recordHeader+size:]
		if found, v := h.hello(); found != nil || v == passed {
			return found, v
		}
	}
	return nil, unsure
}

// hello looks at the handshake bytes so far.
func (h *helloReader) hello() (*violation, verdict) {
	b := h.handshake
	if len(b) < helloHeader {
		return nil, unsure
	}
	size := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	if b[0] != messageHello {
		return nil, passed
	}
	if size > maxHello {
		return &violation{"", egresswire.ReasonMalformed}, passed
	}
	if len(b) < helloHeader+size {
		return nil, unsure
	}
	names, ok := serverNames(b[helloHeader : helloHeader+size])
	if !ok {
		return &violation{"", egresswire.ReasonMalformed}, passed
	}
	for _, name := range names {
		if !h.listed(name) {
			return &violation{name, egresswire.ReasonServerName}, passed
		}
	}
	return nil, passed
}

// serverNames lists every host name of every name extension of a hello; false
// when it cannot be read.
func serverNames(hello []byte) ([]string, bool) {
	r := reader{b: hello}
	r.skip(helloFixed)
	r.vector(1) // session
	r.vector(2) // suites
	r.vector(1) // compression
	if r.bad {
		return nil, false
	}
	if len(r.b) == 0 {
		return nil, true // TLS 1.2 and before: no extensions at all
	}
	extensions := reader{b: r.vector(2)}
	var names []string
	for !r.bad && !extensions.bad && len(extensions.b) > 0 {
		kind := extensions.number(2)
		body := extensions.vector(2)
		if kind != extensionName || extensions.bad {
			continue
		}
		inner := reader{b: body}
		list := reader{b: inner.vector(2)}
		for !list.bad && len(list.b) > 0 {
			kind, name := list.number(1), list.vector(2)
			if kind == nameTypeHost {
				names = append(names, string(name))
			}
		}
		if inner.bad || list.bad {
			return nil, false
		}
	}
	return names, !r.bad && !extensions.bad
}

// reader takes numbers and vectors off the front; bad sticks.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) skip(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) number(size int) int {
	n := 0
	for _, c := range r.skip(size) {
		n = n<<8 | int(c)
	}
	return n
}

func (r *reader) vector(size int) []byte { return r.skip(r.number(size)) }
