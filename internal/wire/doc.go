// Package wire is the protocol between the unprivileged front and the monitor:
// one stream socketpair, frames of `kind byte, length uint32 big endian,
// payload`, control frames as strict JSON (decoded, re-encoded and compared
// byte for byte), output frames as raw bytes.
//
// It cannot open, start or decide anything. Front and monitor import it; it
// imports only the pure packages both sides share. Messages are a table in one
// file: name, direction, when permitted, once or many. An unknown, oversized
// or out-of-order frame is an error for which the monitor ends itself.
package wire
