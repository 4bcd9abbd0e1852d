package frontlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Nobody is the strongest identity: a user that owns nothing (the overflow uid
// of the kernel, "nobody" on every distribution).
const Nobody = 65534

// lookInto is how many entries of a root are tried: enough to meet one skill
// that is closed to others, little enough to cost nothing.
const lookInto = 32

// Choose picks the user the front will be. A server that was not started as
// root stays who it is. As root it takes the strongest of these that can still
// read the roots and walk to what it writes: nobody, the owner of the roots, the
// owner of the data directory, uid 0 without capabilities. Where none can do
// both, reading decides.
//
// Precondition: the launch phase calls it, before there is anything to protect
// from the other threads of the process; it borrows the identities on threads
// that end with it.
func Choose(o Options) Identity {
	if os.Geteuid() != 0 || o.without(PartUser) {
		return Identity{UID: -1, GID: -1, Reason: fmt.Sprintf("not started as root: stays uid %d", os.Geteuid())}
	}
	candidates := append([]Identity{{UID: Nobody, GID: Nobody}}, ownersOf(o.Roots, o.Enter)...)
	candidates = append(candidates, Identity{})
	reason := ""
	for _, must := range []Options{o, {Roots: o.Roots}} {
		for _, c := range candidates {
			err := asUser(c, func() error { return usable(must) })
			if err == nil {
				c.Reason = reason
				return c
			}
			if reason == "" {
				reason = fmt.Sprintf("uid %d: %v", c.UID, err)
			}
		}
	}
	return Identity{Reason: reason}
}

// ownersOf gives the owners of the first root and of the first directory to
// enter that are there, but not root.
func ownersOf(lists ...[]string) []Identity {
	out := []Identity{}
	for _, paths := range lists {
		for _, p := range paths {
			var st unix.Stat_t
			if unix.Stat(p, &st) != nil {
				continue
			}
			if st.Uid != 0 {
				out = append(out, Identity{UID: int(st.Uid), GID: int(st.Gid)})
			}
			break
		}
	}
	return out
}

// asUser runs f on a thread that has the file permissions of a user. The thread
// is not given back: it stays locked and ends with the goroutine.
func asUser(id Identity, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread has another identity now
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			done <- fmt.Errorf("drop groups: %w", e)
			return
		}
		unix.RawSyscall(unix.SYS_SETFSGID, uintptr(id.GID), 0, 0)
		unix.RawSyscall(unix.SYS_SETFSUID, uintptr(id.UID), 0, 0)
		// setfsuid tells nothing; asking for an impossible id gives the one in force.
		if now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0); int(now) != id.UID {
			done <- fmt.Errorf("take the file permissions of uid %d: refused", id.UID)
			return
		}
		if err := clearCaps(); err != nil { // uid 0 has to do without them too
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// usable tries on the calling thread what the front will do: read each root and
// the first of its entries, and enter the data directory. Options.ReadFiles and
// Write decide nothing: a policy that only root reads is no reason to stay root,
// and launch gives what is written to whoever is chosen.
func usable(o Options) error {
	// The front is this same program, executed as that user.
	if err := unix.Faccessat(unix.AT_FDCWD, "/proc/self/exe", unix.X_OK, unix.AT_EACCESS); errors.Is(err, unix.EACCES) {
		return fmt.Errorf("execute this program: %w", err)
	}
	for _, r := range o.Roots {
		if err := readableTree(r); err != nil {
			return err
		}
	}
	for _, d := range o.Enter {
		if err := unix.Faccessat(unix.AT_FDCWD, d, unix.X_OK, unix.AT_EACCESS); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("enter %s: %w", d, err)
		}
	}
	return nil
}

// readableTree tries a root and the first of its entries. A root that is not
// there or is no directory is a problem of its own and decides nothing here.
func readableTree(root string) error {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read root %s: %w", root, err)
	}
	f := os.NewFile(uintptr(fd), root)
	defer f.Close()
	names, _ := f.Readdirnames(lookInto)
	for _, n := range append(names, ".") {
		for _, try := range []string{filepath.Join(root, n), filepath.Join(root, n, "SKILL.md"), filepath.Join(root, "skills", n)} {
			if err := tryOpen(try, 0); errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
				return fmt.Errorf("read %s: %w", try, err)
			}
		}
	}
	return nil
}

// tryOpen opens a file for reading and closes it. It never waits for a FIFO.
func tryOpen(path string, flags int) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY|flags, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}
