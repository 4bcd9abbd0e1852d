// Package rpc is the part of an MCP server that does not depend on how bytes
// travel: what a message is, which revision it belongs to, which call it
// starts or cancels, and what may be sent while that call runs. The stdio and
// HTTP transports are thin users of it.
//
// It cannot read or write a descriptor, it knows nothing of skills, and it
// starts no process. It may be imported by the transports and by the package
// that builds the MCP surface (for the Call a handler finds in its context).
//
// The order of things for one request:
//
//	Parse -> Session.Begin (registered, so it can be cancelled) -> Call.Run
//
// and everything a call sends goes through its one Sink, in order, until the
// result has been sent or the client has cancelled it; after that the call is
// silent for good.
package rpc
