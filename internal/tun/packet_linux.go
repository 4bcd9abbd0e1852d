package tun

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// peerInterface is the end of the veth pair the packet socket is bound to. It
// has no address; what arrives there is addressed to the other end's hardware
// address, so the kernel's own stack drops it and only the socket sees it.
const peerInterface = "tun0p"

// packetBuffer is the receive and send buffer of the packet socket, in bytes:
// room for 32 packets of the largest size, as a TUN device's queue would have.
// The kernel caps it at net.core.rmem_max and wmem_max without an error.
const packetBuffer = 32 * 65536

// openPacket makes the veth pair, gives the run's end its addresses and routes,
// and binds a packet socket to the other end.
func openPacket(nl *netlink) (Device, error) {
	if err := nl.do(vethPair(Interface, peerInterface)); err != nil {
		return Device{}, fmt.Errorf("create interface pair %s: %w", Interface, err)
	}
	run, err := nl.index(Interface)
	if err != nil {
		return Device{}, err
	}
	peer, err := nl.index(peerInterface)
	if err != nil {
		return Device{}, err
	}
	ipv6, err := nl.configure(run, peer)
	if err != nil {
		return Device{}, err
	}
	fd, err := bindPacket(peer)
	return Device{FD: fd, Kind: KindPacket, IPv6: ipv6}, err
}

// bindPacket opens a packet socket on the interface for frames of every
// protocol, arriving ones only: what leaves through the interface, of the
// socket's own or the kernel's, is ignored (Linux 4.20).
//
// Precondition: the interface is up, or the first read fails with ENETDOWN.
func bindPacket(index int32) (int, error) {
	// Protocol 0 receives nothing until the bind names interface and protocol.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("open packet socket: %w", err)
	}
	for _, opt := range [][3]int{
		{unix.SOL_SOCKET, unix.SO_RCVBUF, packetBuffer},
		{unix.SOL_SOCKET, unix.SO_SNDBUF, packetBuffer},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
	} {
		if err := unix.SetsockoptInt(fd, opt[0], opt[1], opt[2]); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("set up packet socket: %w", err)
		}
	}
	to := &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: int(index)}
	if err := unix.Bind(fd, to); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("bind packet socket to %s: %w", peerInterface, err)
	}
	return fd, nil
}

// networkOrder swaps the bytes of v where the machine is little-endian.
func networkOrder(v uint16) uint16 {
	b := [2]byte{byte(v >> 8), byte(v)}
	return native.Uint16(b[:])
}
