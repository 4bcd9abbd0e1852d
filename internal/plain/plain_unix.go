//go:build unix

package plain

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/spawn"
)

// groups says that a run is a process group of its own.
const groups = true

// ownGroup gives a child a session, and so a group, of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminateGroup asks the group to end. A group that is gone needs nothing.
func terminateGroup(p *os.Process) { _ = unix.Kill(-p.Pid, unix.SIGTERM) }

// killGroup ends the group.
func killGroup(p *os.Process) { _ = unix.Kill(-p.Pid, unix.SIGKILL) }

// exitOf reads how a process ended.
func exitOf(s *os.ProcessState) spawn.Exit {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return spawn.Exit{Signal: unix.SignalName(w.Signal())}
	}
	return spawn.Exit{Code: s.ExitCode()}
}
