// Package doctor finds out what the fence does on this very machine: it starts
// the helper as the server does, runs probe scripts through the same wall, and
// compares what they could do with what the helper reports of itself.
//
// It takes nobody's word: a layer that is claimed and whose forbidden act
// worked is reported as absent. It makes decoys of its own to be attacked (a
// directory, sockets on loopback) and removes them; it changes nothing else.
// The doctor command calls it; the escape tests use its probes.
package doctor
