//go:build unix

package deps

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a new process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup signals the whole group. A group that is gone is fine.
func endGroup(p *os.Process, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig)
}
