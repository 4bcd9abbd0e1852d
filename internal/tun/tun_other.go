//go:build !linux

package tun

import "errors"

// errLinux is the answer of every operation outside Linux.
var errLinux = errors.New("open network device: network namespaces exist on linux only")

// ErrNoDevice is what Receive returns when the other end closed without one.
var ErrNoDevice = errors.New("receive network device: the run ended without one")

// Open is refused outside Linux.
func Open() (Device, error) { return Device{}, errLinux }

// LoopbackUp is refused outside Linux.
func LoopbackUp() error { return errLinux }

// Send is refused outside Linux.
func Send(int, Device) error { return errLinux }

// Keep is refused outside Linux.
func Keep(Device) (release func(), err error) { return nil, errLinux }

// Receive is refused outside Linux.
func Receive(int) (Device, error) { return Device{}, errLinux }
