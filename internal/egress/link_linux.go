package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"skill-mcp/internal/tun"
)

// largeSegment is from where on a packet's own buffer is handed to the stack
// instead of a copy. Below it a buffer of 64 KiB would be held for a few
// bytes, for as long as they wait to be read.
const largeSegment = 16 << 10

// writeWait is how long a write waits for room, in milliseconds. The link is
// memory: what does not fit by then is lost, and TCP sends it again.
const writeWait = 20

// runAddress and its twin are the only sources of packets that are taken.
var runAddress = netip.MustParseAddr(tun.Address)

// The last two bytes of an Ethernet header, by family.
var etherTypes = map[byte][]byte{4: {0x08, 0x00}, 6: {0x86, 0xdd}}

// link is the run's device as the user-space stack sees it. Of what it reads,
// it hands the stack TCP only.
type link struct {
	file   *os.File
	fd     int
	prefix []byte // addresses of the link header before each packet, or none
	other  func(packet)

	dispatcher stack.NetworkDispatcher
}

// newLink takes over the device. other is given what is not TCP.
func newLink(d tun.Device, other func(packet)) *link {
	l := &link{file: os.NewFile(uintptr(d.FD), "device"), fd: d.FD, other: other}
	if d.Kind == tun.KindPacket {
		l.prefix = append(l.prefix, tun.RunMAC[:]...)
		l.prefix = append(l.prefix, tun.PeerMAC[:]...)
	}
	return l
}

// run reads packets until the device is gone, which it is when the run's
// namespace is.
func (l *link) run() error {
	const room = buffer.MaxChunkSize // 64 KiB: the largest that is used again, and enough for a frame of MTU
	view := buffer.NewViewSize(room)
	for {
		n, err := l.file.Read(view.AsSlice())
		if errors.Is(err, unix.ENETDOWN) {
			continue // a packet socket says so once when its interface goes down
		}
		if err != nil {
			return fmt.Errorf("read network device: %w", err)
		}
		if l.receive(view, n) {
			view = buffer.NewViewSize(room)
		}
	}
}

// receive handles one packet and says whether it kept the view.
func (l *link) receive(view *buffer.View, n int) bool {
	b := view.AsSlice()[:n]
	skip := l.header()
	if n < skip {
		return false
	}
	p, ok := parsePacket(b[skip:])
	if !ok || p.src != runAddress && p.src != address6(runAddress) {
		return false
	}
	if p.protocol != protocolTCP {
		l.other(p)
		return false
	}
	payload, kept := pack(view, skip, p)
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: payload})
	l.dispatcher.DeliverNetworkPacket(family(p), packet)
	packet.DecRef()
	return kept
}

// header is how many bytes of a link header stand before a packet.
func (l *link) header() int {
	if len(l.prefix) == 0 {
		return 0
	}
	return len(l.prefix) + 2
}

func family(p packet) tcpip.NetworkProtocolNumber {
	if p.src.Is6() {
		return header.IPv6ProtocolNumber
	}
	return header.IPv4ProtocolNumber
}

// pack makes the stack's buffer of a packet: a copy of a small one; of a large
// one a copy of the headers and the view itself, since the stack would copy a
// whole buffer to have its headers apart.
func pack(view *buffer.View, skip int, p packet) (buffer.Buffer, bool) {
	if len(p.raw) < largeSegment {
		return buffer.MakeWithData(p.raw), false
	}
	head := len(p.raw) - len(p.payload)
	if len(p.payload) > header.TCPDataOffset {
		head += int(p.payload[header.TCPDataOffset]>>4) * 4
	}
	head = min(head, len(p.raw))
	b := buffer.MakeWithData(p.raw[:head])
	view.CapLength(skip + len(p.raw))
	view.TrimFront(skip + head)
	_ = b.Append(view) // fails only for a view that is in a buffer already
	return b, true
}

// WritePackets sends packets of the stack to the run.
func (l *link) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	sent := 0
	for _, packet := range list.AsSlice() {
		if err := l.write(packet.AsSlices()); err != nil {
			return sent, &tcpip.ErrNoBufferSpace{}
		}
		sent++
	}
	return sent, nil
}

// send writes one packet that did not come from the stack; one that does not
// fit is lost, as on any link.
func (l *link) send(packet []byte) {
	_ = l.write([][]byte{packet})
}

// write sends one packet; the first of its parts begins with the header.
func (l *link) write(parts [][]byte) error {
	if len(l.prefix) > 0 {
		parts = append([][]byte{l.prefix, etherTypes[parts[0][0]>>4]}, parts...)
	}
	for {
		_, err := unix.Writev(l.fd, parts)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			return err
		}
		poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLOUT}}
		if n, err := unix.Poll(poll, writeWait); n == 0 && err == nil {
			return unix.EAGAIN
		}
	}
}

// The rest is what a stack asks of a link without addresses and headers.

func (l *link) MTU() uint32                             { return tun.MTU }
func (l *link) SetMTU(uint32)                           {}
func (l *link) MaxHeaderLength() uint16                 { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress          { return "" }
func (l *link) SetLinkAddress(tcpip.LinkAddress)        {}
func (l *link) Attach(d stack.NetworkDispatcher)        { l.dispatcher = d }
func (l *link) IsAttached() bool                        { return l.dispatcher != nil }
func (l *link) Wait()                                   {}
func (l *link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }
func (l *link) AddHeader(*stack.PacketBuffer)           {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool    { return true }
func (l *link) Close()                                  {}
func (l *link) SetOnCloseAction(func())                 {}

// Capabilities says that checksums of what is received need no look: the
// kernel of this host made the packet and no wire was between.
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}
