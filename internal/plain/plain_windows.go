package plain

import (
	"os"
	"syscall"

	"skill-mcp/internal/spawn"
)

// groups says that there is no process group that could be ended as one.
const groups = false

// ownGroup keeps a console's Ctrl-C away from the child.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup has no gentle form here.
func terminateGroup(p *os.Process) { _ = p.Kill() }

// killGroup ends the leader.
func killGroup(p *os.Process) { _ = p.Kill() }

// exitOf reads how a process ended.
func exitOf(s *os.ProcessState) spawn.Exit { return spawn.Exit{Code: s.ExitCode()} }
