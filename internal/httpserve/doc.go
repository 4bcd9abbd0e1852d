// Package httpserve carries MCP over Streamable HTTP: one endpoint, /mcp.
//
// It cannot start a process and it interprets no message: package rpc does. It
// is for main. What it guards against is other people's programs on the same
// machine and pages in the user's own browser: nothing is read of a request
// before its Host, Origin and bearer token are accepted, and no more than
// rpc.MaxMessage of its body.
//
// Clients of the old era have a session (Mcp-Session-Id) from initialize to
// DELETE or the idle time; requests of revision 2026-07-28 stand alone. The
// answer to a POST is one JSON object, or a stream of events as soon as the
// call has something to say before its result.
package httpserve
