package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/publicaddr"
)

// nic is the number of the one interface.
const nic = 1

// timeWait is how long a closed connection is remembered. The link neither
// delays nor reorders, so there is no old packet to wait for; the usual minute
// would hold 2,000 short connections for as long.
const timeWait = time.Second

// server takes the TCP connections of a run's device.
type server struct {
	names  *nameTable
	dialer *dialer
	mover  *mover
}

// newStack makes the user-space stack on the link. It answers for every
// address, so that every connection of the run arrives at the server.
func newStack(ctx context.Context, l *link, s *server) (*stack.Stack, error) {
	limits := s.dialer.limits
	st := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	if err := tune(st); err != nil {
		return nil, err
	}
	forwarder := tcp.NewForwarder(st, maxBuffer, limits.HalfOpen, func(r *tcp.ForwarderRequest) { s.accept(ctx, r) })
	st.SetTransportProtocolHandler(tcp.ProtocolNumber, forwarder.HandlePacket)
	s.dialer.record.onEvidence(func() int64 { return int64(st.Stats().TCP.ForwardMaxInFlightDrop.Value()) })
	if err := st.CreateNIC(nic, l); err != nil {
		return nil, fmt.Errorf("create interface: %s", err)
	}
	if err := st.SetPromiscuousMode(nic, true); err != nil {
		return nil, fmt.Errorf("accept every address: %s", err)
	}
	if err := st.SetSpoofing(nic, true); err != nil {
		return nil, fmt.Errorf("answer for every address: %s", err)
	}
	st.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	return st, nil
}

// Buffers of one connection, for each direction. Two segments must fit, and
// past 1 MiB a link of memory is not faster.
const (
	minBuffer = 128 << 10
	maxBuffer = 1 << 20
)

// bufferShare is what the next connection may hold for each direction: a
// quarter of the memory, shared by those open now and at least 16. A run with
// few connections has fast ones, and all together stay below twice a quarter.
func bufferShare(memory, open int64) int {
	return int(min(max(memory/4/2/max(open, 16), minBuffer), maxBuffer))
}

func tune(st *stack.Stack) error {
	send := tcpip.TCPSendBufferSizeRangeOption{Min: minBuffer, Default: maxBuffer, Max: maxBuffer}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: minBuffer, Default: maxBuffer, Max: maxBuffer}
	wait := tcpip.TCPTimeWaitTimeoutOption(timeWait)
	sack := tcpip.TCPSACKEnabled(true)
	options := []tcpip.SettableTransportProtocolOption{&send, &receive, &wait, &sack}
	for _, o := range options {
		if err := st.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("set %T: %s", o, err)
		}
	}
	return nil
}

// accept handles one connection request: the host is dialed first, so that the
// run is told of a refusal by the refusal of its own connection.
func (s *server) accept(ctx context.Context, r *tcp.ForwarderRequest) {
	id := r.ID()
	to, _ := netip.AddrFromSlice(id.LocalAddress.AsSlice()) // of 4 or 16 bytes
	host, ok := s.host(to, id.LocalPort)
	if !ok {
		r.Complete(true)
		return
	}
	out, err := s.dialer.dial(ctx, host, id.LocalPort)
	if err != nil {
		r.Complete(true)
		return
	}
	var queue waiter.Queue
	endpoint, failed := r.CreateEndpoint(&queue)
	r.Complete(false)
	if failed != nil {
		out.Close()
		return
	}
	share := int64(bufferShare(s.dialer.limits.MemoryBytes, s.dialer.open.Load()))
	endpoint.SocketOptions().SetSendBufferSize(share, true)
	endpoint.SocketOptions().SetReceiveBufferSize(share, true)
	endpoint.SocketOptions().SetDelayOption(false)
	s.mover.join(ctx, &tunStream{gonet.NewTCPConn(&queue, endpoint), endpoint}, out)
}

// host is what an address of the run's network stands for.
func (s *server) host(a netip.Addr, port uint16) (string, bool) {
	if name, ok := s.names.name(a); ok {
		return name, true
	}
	if s.dialer.list.HasAddress(a) {
		return a.String(), true
	}
	target := net.JoinHostPort(a.String(), strconv.Itoa(int(port)))
	s.dialer.record.refuse(target, egresswire.ReasonAddress, publicaddr.Not(a))
	return "", false
}

// tunStream is the run's side of a connection through its device.
type tunStream struct {
	*gonet.TCPConn
	endpoint tcpip.Endpoint
}

func (s *tunStream) abort() { s.endpoint.Abort() }
