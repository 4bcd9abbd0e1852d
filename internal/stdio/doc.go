// Package stdio carries MCP over the standard input and output of this process:
// one JSON-RPC message a line.
//
// It cannot start a process and it interprets no message: package rpc does. It
// is for main, which calls TakeStdout before anything can print, Signals, and
// Serve.
//
// Three goroutines live as long as Serve: the reader (lines with a cap), the
// writer (one queue, so that everything is sent in the order it was put), and
// Serve itself, which waits for the reason to stop. Each request runs on one
// more. Only the reader may outlive Serve: a read of a terminal or an inherited
// pipe cannot be interrupted, and main is about to exit.
package stdio
