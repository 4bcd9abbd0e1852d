package spawn

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// ownerMap is a user namespace that maps one owner on disk to the run's uid,
// for mounts: the run then reads what only the owner may, and what it writes
// belongs to the owner.
type ownerMap struct {
	uid, gid int
	file     *os.File
}

// mapFD gives 1 + the place of the map among the child's files, for the owner of path, or 0 where none is wanted or to be had.
func (h *Host) mapFD(o *order.Order, path string) int64 {
	var st unix.Stat_t
	if !o.Has(report.UID) || !o.Has(report.NSMount) || unix.Stat(path, &st) != nil || int64(st.Uid) == o.UID {
		return 0
	}
	for i, m := range h.maps {
		if m.uid == int(st.Uid) && m.gid == int(st.Gid) {
			return int64(1 + order.FirstMap + i)
		}
	}
	f, err := h.userNamespace(int(st.Uid), int(st.Gid), int(o.UID), int(o.GID))
	if err != nil {
		return 0
	}
	h.maps = append(h.maps, ownerMap{int(st.Uid), int(st.Gid), f})
	return int64(order.FirstMap + len(h.maps))
}

// userNamespace makes a user namespace that maps one uid and gid. It needs a
// process to be born in it; that one is stopped at its execve, never runs an
// instruction of its program, and is gone when this returns.
func (h *Host) userNamespace(uid, gid, toUID, toGID int) (f *os.File, err error) {
	err = h.onThread(func() error {
		pid, err := syscall.ForkExec(h.exe, []string{"skill-exec", "child"}, &syscall.ProcAttr{Files: []uintptr{h.null.Fd()}, Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, Ptrace: true,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: toUID, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: toGID, Size: 1}},
		}})
		if err != nil {
			return err
		}
		f, err = os.Open("/proc/" + strconv.Itoa(pid) + "/ns/user")
		unix.Kill(pid, unix.SIGKILL)
		var status unix.WaitStatus
		for {
			_, waitErr := unix.Wait4(pid, &status, 0, nil)
			if waitErr != unix.EINTR && (waitErr != nil || status.Exited() || status.Signaled()) {
				return err
			}
		}
	})
	return f, err
}
