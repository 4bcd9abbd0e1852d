// Package egress is the network of one run: an unprivileged process that
// answers the names a policy lists, forwards TCP to them, and counts.
//
// It is for cmd/skill-egress, and nobody else links it. It is given, by
// inherited descriptors, a control socket and either the run's network device
// or a listening socket (the protocol is in package egresswire). It holds no
// skill text, no credential but that of an upstream proxy, and after its start
// can open no file but those of the resolver, run no program, and reach no
// address that is not public unless the owner's policy lists it.
//
// The rules, the same for both ways in:
//
//   - A name is listed or it does not exist. Each listed name gets one address
//     out of 198.18.0.0/15, and an IPv6 address beside it, when it is first
//     asked for, so that a connection maps to one name; an address that stands
//     for no name is refused.
//   - The name is resolved once for each connection, from the host's network;
//     each address is checked, and the address checked is the address dialed.
//     There is no second look-up between the check and the use.
//   - A TLS hello or a plain HTTP request that names another host is cut off
//     before the last byte of the name leaves. Only what is in the clear can be
//     seen: inside TLS a server that serves several names may be asked for any.
//   - TCP only, besides the questions to the process's own name server.
//
// Files: internal.go is what the owner lists, package publicaddr decides on addresses, names.go and dns.go are the name
// server, inspect*.go read the first bytes, dial.go and upstream.go make
// connections, proxy*.go is the HTTP way in, link_linux.go, stack_linux.go and
// udp.go the network device's, record.go counts, confine*_linux.go is the
// process's own fence.
package egress
