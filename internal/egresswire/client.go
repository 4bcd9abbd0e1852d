package egresswire

import (
	"errors"
	"os"
)

// Options is what Start needs.
type Options struct {
	// Path is the skill-egress binary, absolute.
	Path string
	// Config is sent as the first message, without its hosts.
	Config Config
	// Handover becomes fd 4: an end of HandoverPair for ModeTUN, a listening
	// socket for ModeProxy. Start closes it, also when it fails.
	Handover *os.File
	// Stderr is where the process writes if it dies of a fault of its own;
	// nil is the null device.
	Stderr *os.File
}

// ErrEnded is returned when the process ended without the report asked for.
var ErrEnded = errors.New("the egress process ended before it reported")

// ErrTimeout is returned when the process did not answer within the bound.
var ErrTimeout = errors.New("the egress process did not answer in time")
