// Command skill-egress is the network of one run that declares hosts. The
// monitor starts it, with a control socket as descriptor 3 and the run's
// network as descriptor 4; it is of no use to a person. Package egress says
// what it does.
package main

import (
	"fmt"
	"os"

	"skill-mcp/internal/egress"
)

// The descriptors the monitor hands over, in the order of package egresswire.
const (
	controlFD  = 3
	handoverFD = 4
)

func main() {
	if err := egress.Run(controlFD, handoverFD); err != nil {
		fmt.Fprintln(os.Stderr, "skill-egress:", err)
		os.Exit(1)
	}
}
