//go:build !unix

package deps

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups to signal here.
func ownGroup(*exec.Cmd) {}

// endGroup ends the leader, which is all that can be reached.
func endGroup(p *os.Process, _ bool) { _ = p.Kill() }
