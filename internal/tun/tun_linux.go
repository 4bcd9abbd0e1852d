package tun

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// devicePath is where every distribution puts the TUN clone device.
const devicePath = "/dev/net/tun"

// Open brings loopback up and creates the device of the calling thread's
// network namespace. It makes a TUN device, and a packet device where the TUN
// device cannot be had; the error then names both causes.
//
// Precondition: the thread is in a network namespace made for this run, with
// CAP_NET_ADMIN (and CAP_NET_RAW for the second kind) in the user namespace
// that owns it, and /dev is still the host's.
func Open() (Device, error) {
	nl, err := dialNetlink()
	if err != nil {
		return Device{}, err
	}
	defer unix.Close(nl.fd)
	d, tunErr := openTUN(nl)
	if tunErr == nil {
		return d, nil
	}
	if !unavailable(tunErr) {
		return Device{}, tunErr
	}
	d, err = openPacket(nl)
	if err != nil {
		return Device{}, fmt.Errorf("%w; %w", tunErr, err)
	}
	return d, nil
}

// LoopbackUp brings `lo` up in the calling thread's network namespace. Open
// does so too; this is for a namespace that stays without a way out.
func LoopbackUp() error {
	nl, err := dialNetlink()
	if err != nil {
		return err
	}
	defer unix.Close(nl.fd)
	return nl.do(linkUp(loopbackIndex, 0))
}

// unavailable tells a TUN device that this host does not offer from one that
// is offered and went wrong.
func unavailable(err error) bool {
	for _, errno := range []unix.Errno{
		unix.ENOENT, unix.ENODEV, unix.ENXIO, unix.EACCES, unix.EPERM,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// openTUN makes the TUN interface and gives it its addresses and routes.
func openTUN(nl *netlink) (Device, error) {
	fd, err := unix.Open(devicePath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return Device{}, fmt.Errorf("open %s: %w", devicePath, err)
	}
	ipv6, err := createTUN(fd, nl)
	if err != nil {
		unix.Close(fd)
		return Device{}, err
	}
	return Device{FD: fd, Kind: KindTUN, IPv6: ipv6}, nil
}

func createTUN(fd int, nl *netlink) (ipv6 bool, err error) {
	ifr, err := unix.NewIfreq(Interface)
	if err != nil {
		return false, fmt.Errorf("name interface %s: %w", Interface, err)
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return false, fmt.Errorf("create interface %s: %w", Interface, err)
	}
	index, err := nl.index(Interface)
	if err != nil {
		return false, err
	}
	return nl.configure(index)
}
