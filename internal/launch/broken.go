package launch

import "errors"

// Broken is a wire without a helper: every use gives the reason, so that the
// front serves what it can and each refused run says why.
type Broken string

// Read gives the reason.
func (b Broken) Read([]byte) (int, error) { return 0, errors.New(string(b)) }

// Write gives the reason.
func (b Broken) Write([]byte) (int, error) { return 0, errors.New(string(b)) }

// Close does nothing.
func (b Broken) Close() error { return nil }
