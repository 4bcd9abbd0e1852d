package egress

import (
	"net"
	"strconv"

	"golang.org/x/time/rate"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/tun"
)

// dnsPort is where the name server answers.
const dnsPort = 53

// notTCP handles what is not TCP: questions to the name server are answered,
// all else is refused.
type notTCP struct {
	server *nameServer
	limit  *rate.Limiter
	record *recorder
	send   func([]byte)
}

func newNotTCP(s *nameServer, perSecond int) *notTCP {
	return &notTCP{server: s, record: s.record, limit: rate.NewLimiter(rate.Limit(perSecond), 2*perSecond)}
}

func (n *notTCP) handle(p packet) {
	if p.protocol != protocolUDP {
		n.record.refuse(p.dst.String(), egresswire.ReasonProtocol, strconv.Itoa(int(p.protocol)))
		return
	}
	d, ok := parseUDP(p.payload)
	if !ok {
		return
	}
	if d.dstPort != dnsPort || p.dst.String() != tun.Nameserver {
		target := net.JoinHostPort(p.dst.String(), strconv.Itoa(int(d.dstPort)))
		n.record.refuse(target, egresswire.ReasonUDP, "")
		n.send(prohibited(p))
		return
	}
	if !n.limit.Allow() {
		n.record.dropQuery()
		return
	}
	if answer := n.server.answer(d.payload); answer != nil {
		n.send(udpReply(p, d, answer))
	}
}
