package egress

import "skill-mcp/internal/egresswire"

// inspector reads what a run sends on one connection, piece by piece, for a
// host other than the one connected to. It holds nothing back: the caller
// forwards a piece after check accepted it, and a refused piece is the one
// that would have completed the name, so the server never has the whole of it.
// What is server-first, or no protocol known here, passes.
type inspector struct {
	listed func(host string) bool
	tls    *helloReader
	http   *requestReader
	begun  bool
}

// violation is what an inspector refuses.
type violation struct {
	target string
	reason egresswire.Reason
}

// verdict is what an inspector thinks of what it has seen so far.
type verdict int

const (
	unsure verdict = iota // look at the next piece too
	passed                // nothing further needs to be looked at
	again                 // another protocol begins with the bytes that are left
)

// check looks at the next piece. After it returns done no further piece needs
// to be looked at.
func (i *inspector) check(piece []byte) (found *violation, done bool) {
	for len(piece) > 0 {
		if !i.begun {
			i.begun = true
			i.choose(piece[0])
		}
		v := passed
		switch {
		case i.tls != nil:
			found, v = i.tls.check(piece)
		case i.http != nil:
			found, piece, v = i.http.check(piece)
		}
		if found != nil || v == passed {
			return found, true
		}
		if v == unsure {
			return nil, false
		}
		i.begun, i.tls, i.http = false, nil, nil
	}
	return nil, false
}

// choose tells the protocol by its first byte: a TLS handshake record, or
// what can begin an HTTP request line or the empty line before one.
func (i *inspector) choose(first byte) {
	switch {
	case first == recordHandshake:
		i.tls = &helloReader{listed: i.listed}
	case first >= 'A' && first <= 'Z', first >= 'a' && first <= 'z',
		first == '\r', first == '\n', first == ' ', first == '\t':
		i.http = &requestReader{listed: i.listed}
	}
}
