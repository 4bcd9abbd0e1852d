package launch

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/ipaddr"
)

// listen opens the TCP socket of the HTTP transport before the front gives up
// the right to. The address is numeric: package net is not linked here, since
// its start-up belongs to the front alone.
func listen(address string) (*os.File, error) {
	a, port, ok := ipaddr.ParsePort(address)
	if !ok {
		return nil, fmt.Errorf("listen on %q: not an address and a port; write them as numbers, such as 127.0.0.1:8765 or [::1]:8765", address)
	}
	family, sa := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: a.Bytes})
	if a.Is4 {
		family, sa = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte(a.Bytes[12:])}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	f := os.NewFile(uintptr(fd), "http")
	for _, step := range []func() error{
		func() error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) },
		func() error { return unix.Bind(fd, sa) },
		func() error { return unix.Listen(fd, 128) },
	} {
		if err := step(); err != nil {
			f.Close()
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
	}
	return f, nil
}
