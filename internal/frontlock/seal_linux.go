package frontlock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"skill-mcp/internal/report"
	"skill-mcp/internal/seccomp"
)

// Seal closes the front for good and reports what holds, each part tried before
// it is claimed. What the kernel does not offer is a row of the report, never an
// error: reading skills goes on. An error means that something which was set
// does not hold, and the front must end.
//
// Precondition: everything the front needs open is open, and it has read no
// skill yet. Seal is called once.
func Seal(o Options) (Report, error) {
	r := Report{UID: os.Geteuid(), GID: os.Getegid()}
	r.user(o)
	r.caps(o)
	r.nnp(o)
	r.dumpable(o)
	if err := r.landlock(o); err != nil {
		return r, err
	}
	return r, r.calls(o)
}

// user reports who the front is.
func (r *Report) user(o Options) {
	level := fmt.Sprintf("uid %d gid %d", r.UID, r.GID)
	switch {
	case o.without(PartUser):
		r.add(PartUser, "", errLeftOut)
	case r.UID == 0:
		r.Rows = append(r.Rows, Row{Part: PartUser, Got: report.Partial, Level: level, Reason: "uid 0: the roots can be read by root only"})
	default:
		r.add(PartUser, level, nil)
	}
}

// caps reports whether the front holds a capability or could get one.
func (r *Report) caps(o Options) {
	if o.without(PartCaps) {
		r.add(PartCaps, "", errLeftOut)
		return
	}
	held, err := heldCaps()
	if err == nil && held {
		err = errors.New("the front was started with capabilities that were not dropped")
	}
	level := "all sets empty"
	if bounded() {
		level = "none held; the bounding set stays, since dropping it needs root"
	}
	r.add(PartCaps, level, err)
}

// bounded reports whether anything is left in the bounding set.
func bounded() bool {
	for c := uintptr(0); c <= lastCap; c++ {
		in, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
		if e != 0 || in == 1 {
			return e == 0
		}
	}
	return false
}

// nnp reports no_new_privs and sets it where the front was not executed by
// [Drop].
func (r *Report) nnp(o Options) {
	if o.without(PartNNP) {
		r.add(PartNNP, "", errLeftOut)
		return
	}
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on == 0 {
		if _, _, e := psx.Syscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
			err = e
		}
	}
	r.add(PartNNP, "", err)
}

// dumpable closes the front's memory to other processes of its user.
func (r *Report) dumpable(o Options) {
	if o.without(PartDumpable) {
		r.add(PartDumpable, "", errLeftOut)
		return
	}
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if now, e := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && (e != nil || now != 0) {
		err = errors.New("it is still dumpable")
	}
	r.add(PartDumpable, "", err)
}

// calls loads the filter on all threads and tries it.
func (r *Report) calls(o Options) error {
	if o.without(PartCalls) {
		r.add(PartCalls, "", errLeftOut)
		r.add(PartNoExec, "", errLeftOut)
		return nil
	}
	err := loadFilter(o)
	level := "allow-list"
	r.add(PartCalls, level, err)
	r.add(PartNoExec, "", err)
	if err != nil {
		return nil
	}
	return proveCalls()
}

// loadFilter loads the allow-list on all threads.
func loadFilter(o Options) error {
	arch := seccomp.Native()
	if arch == 0 {
		return errors.New("no system call table for this architecture")
	}
	p, err := program(arch, shape{pid: os.Getpid(), write: len(o.Write) > 0, accept: o.Accept})
	if err != nil {
		return err
	}
	return seccomp.Load(p, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// proveCalls tries one forbidden call of each kind. Without a filter the kernel
// would answer these harmless forms with another errno or with success.
func proveCalls() error {
	tries := []struct {
		name string
		call func() unix.Errno
	}{
		{"execveat", func() unix.Errno {
			_, _, e := unix.RawSyscall6(unix.SYS_EXECVEAT, ^uintptr(0), 0, 0, 0, 0, 0)
			return e
		}},
		{"socket", func() unix.Errno {
			_, _, e := unix.RawSyscall(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return e
		}},
		{"ptrace", func() unix.Errno {
			_, _, e := unix.RawSyscall(unix.SYS_PTRACE, ^uintptr(0), 0, 0)
			return e
		}},
		{"executable memory", func() unix.Errno {
			_, _, e := unix.RawSyscall6(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0), 0)
			return e
		}},
	}
	for _, t := range tries {
		if e := t.call(); e != unix.EPERM {
			return fmt.Errorf("lock the front: %s was answered with %v, not with the filter's EPERM", t.name, e)
		}
	}
	return nil
}
