// Package egresswire is what the monitor and the egress process of one run say
// to each other, and the monitor's side of it.
//
// It is for internal/monitor (which starts the process) and internal/egress
// (which is the process). It cannot dial, resolve or read a packet, and
// imports the standard library and golang.org/x/sys only, so that the helper
// links no network stack.
//
// # Descriptors
//
//	fd 3  control: one end of a SOCK_SEQPACKET socketpair; the monitor has the other
//	fd 4  mode tun: one end of a SOCK_SEQPACKET socketpair whose other end the
//	      run's child holds; the child sends its device there (package tun) and
//	      closes it. The monitor never waits for the device and never holds it.
//	      mode proxy: a listening TCP socket on a loopback address
//
// # Messages
//
// One message is one packet of the control socket: a kind byte and strict
// JSON (decoded, encoded again, bytes compared), at most MaxMessage bytes.
//
//	kind    direction          when
//	config  monitor -> egress  first, once
//	ready   egress -> monitor  once, when confined and before the first packet of the run
//	hosts   monitor -> egress  once, any time after config: the run is there, serve it
//	ask     monitor -> egress  any time after hosts
//	report  egress -> monitor  one for each ask, and one at the end
//	fault   egress -> monitor  once, instead of ready: set-up failed; the process ends
//
// What is in config is the same for all runs of one policy, so the process can
// be started before its run is; it serves nothing until it is told the hosts.
// One that is told none ends by itself after StandbyTime.
//
// The process ends when its end of fd 3 reads end-of-file, after one last
// report. A message that is unknown, malformed or out of order ends it too.
package egresswire
