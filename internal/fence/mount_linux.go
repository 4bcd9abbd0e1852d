package fence

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// The flags of what the view shows. Devices keep theirs but nodev.
const (
	attrRead  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	attrWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
	attrDev   = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// attributes of the rows that are copies of the host's trees.
var attributes = map[string]uint64{"tree": attrRead, "write": attrWrite, "dev": attrDev}

// places are where the parts of a view come from: a namespace that is still a
// copy of the host's, its root, and the way back into the run's own.
type places struct {
	apart     bool // there are two namespaces, between mount_namespace and mounts
	host, own int
	root      int // of the host's tree, O_PATH
	sources   map[order.ViewOp]int
}

// Step: mount_namespace
// Prevents: waiting at the wrong time. To drop the host's tree the kernel waits
// for all its cores, 10 ms and more on busy ones; view does that before a script
// is asked for. What mounts still needs of the host it takes from the namespace
// this process was born in, which ends with its other threads: no process of
// the run was ever in it.
// Needs: CAP_SYS_ADMIN and CAP_SYS_CHROOT: root, or a user namespace.
// Order: before pid_namespace, whose init has to be on the run's side.
// On failure: one namespace serves for both, and mounts waits.
// Test: TestStep/mount_namespace
func (c *child) mountNamespace() error {
	err := private()
	if err != nil {
		return err
	}
	if c.host.root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if c.host.host, err = unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if c.host.apart = unix.Unshare(unix.CLONE_NEWNS) == nil; !c.host.apart { // of this thread alone; a filter may deny it
		unix.Close(c.host.root)
		unix.Close(c.host.host)
		return nil
	}
	c.host.own, err = unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return err
}

// private takes this namespace's mounts out of the host's comings and goings.
func private() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	return nil
}

// Step: view
// Prevents: seeing the host's tree: it goes away here, and what every script of
// an interpreter sees takes its place, so that mounts has only the skill's own
// to add.
// Needs: Linux 5.12 and a mount namespace: root, or a user namespace.
// Order: after pid_namespace, which makes its /proc; before go.
// On failure: the layer is given up or the run aborted. Test: TestStep/view
func (c *child) view() error {
	err := private()
	if err != nil {
		return err
	}
	if !c.Has(report.NSPid) { // a new /proc is only to be had where the host's is in sight
		if c.proc, err = newMount("proc", attrWrite, [][2]string{{"hidepid", "invisible"}, {"subset", "pid"}}); errors.Is(err, unix.EPERM) {
			c.proc = -1 // it needs a process namespace of ours; the host's is never the answer
			c.prove(report.NSMount, report.Enforced, "without /proc", "")
		} else if err != nil {
			return err
		}
	}
	if c.root, err = newMount("tmpfs", attrWrite, [][2]string{{"size", "1m"}, {"nr_inodes", "4096"}, {"mode", "0755"}}); err != nil {
		return err
	}
	// On top of "/" there is always room; nothing of the host's tree is touched.
	if err := unix.MoveMount(c.root, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach new root: %w", err)
	}
	c.shown = map[order.ViewOp]bool{}
	if err := c.showAll(); err != nil || !c.host.apart {
		return err
	}
	return pivot(c.root)
}

// showAll makes the rows of the view that are not there yet, in order.
func (c *child) showAll() error {
	for _, v := range c.View {
		if c.shown[v] {
			continue
		}
		c.shown[v] = true
		if err := c.show(c.root, v); err != nil {
			return fmt.Errorf("show %s %s: %w", v.Kind, v.Path, err)
		}
	}
	return nil
}

// Step: mounts
// Prevents: seeing any file the policy does not name, and changing the modes,
// owners and times of those it does (Landlock stops neither).
// Needs: what view needs.
// Order: after go, which names the skill; before landlock: a process in a
// Landlock domain cannot mount.
// On failure: the layer is given up or the run aborted. Test: TestStep/mounts
func (c *child) mounts() error {
	err := c.fetch()
	if err == nil {
		err = c.showAll()
	}
	if err != nil {
		return err
	}
	ro := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(c.root, "", unix.AT_EMPTY_PATH, &ro); err != nil {
		return fmt.Errorf("make new root read-only: %w", err)
	}
	if !c.host.apart {
		if err := pivot(c.root); err != nil {
			return err
		}
	}
	unix.Close(c.root)
	c.tmp, err = unix.Open("/tmp", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return err
}

// fetch copies the trees of the host that are not in the view yet, in the
// namespace where the host's still is, and leaves that for good.
func (c *child) fetch() error {
	if !c.host.apart {
		return nil
	}
	if err := unix.Setns(c.host.host, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the host's mounts: %w", err)
	}
	c.host.sources = map[order.ViewOp]int{}
	for _, v := range c.View {
		if c.shown[v] || attributes[v.Kind] == 0 {
			continue
		}
		fd, err := c.clone(v)
		if err != nil {
			return fmt.Errorf("show %s %s: %w", v.Kind, v.Path, err)
		}
		c.host.sources[v] = fd
	}
	if err := unix.Setns(c.host.own, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("come back from the host's mounts: %w", err)
	}
	if err := errors.Join(unix.Fchdir(c.root), unix.Chroot(".")); err != nil { // where a server's own root was not its namespace's
		return fmt.Errorf("enter new root: %w", err)
	}
	return unix.Close(c.host.root)
}

// pivot makes root the only tree there is.
func pivot(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return fmt.Errorf("enter new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot to new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("drop the host's tree: %w", err)
	}
	return unix.Chdir("/")
}

// newMount makes a file system that is not attached yet.
func newMount(kind string, attr int, options [][2]string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open file system %s: %w", kind, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, fmt.Errorf("set %s %s=%s: %w", kind, o[0], o[1], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("create %s: %w", kind, err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, fmt.Errorf("mount %s: %w", kind, err)
	}
	return fd, nil
}

// show carries out one row of the view, relative to the new root.
func (c *child) show(root int, v order.ViewOp) error {
	at := "." + v.Path
	switch v.Kind {
	case "dir":
		if err := unix.Mkdirat(root, at, uint32(v.N)); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		return nil
	case "own": // a private directory of the run
		if err := unix.Mkdirat(root, at, 0o700); err != nil {
			return err
		}
		return unix.Fchownat(root, at, int(c.UID), int(c.GID), unix.AT_SYMLINK_NOFOLLOW)
	case "link":
		return unix.Symlinkat(v.Arg, root, at)
	case "file", "ownfile":
		return c.putFile(root, at, v)
	}
	if v.Kind == "proc" && c.proc < 0 {
		return nil // refused, and reported so
	}
	fd, err := c.source(v)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.MoveMount(fd, "", root, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// putFile makes a small file with its content; the place of a mount is an
// empty one.
func (c *child) putFile(root int, at string, v order.ViewOp) error {
	fd, err := unix.Openat(root, at, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(v.N))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if v.Kind == "ownfile" {
		if err := unix.Fchown(fd, int(c.UID), int(c.GID)); err != nil {
			return err
		}
	}
	_, err = unix.Write(fd, []byte(v.Arg))
	return err
}

// source makes the mount of one row, not attached.
func (c *child) source(v order.ViewOp) (int, error) {
	switch v.Kind {
	case "tmpfs":
		id := [][2]string{{"uid", strconv.Itoa(int(c.UID))}, {"gid", strconv.Itoa(int(c.GID))}, {"mode", "0700"}}
		return newMount("tmpfs", attrWrite, append(id, [2]string{"size", v.Arg}, [2]string{"nr_inodes", strconv.Itoa(int(v.N))}))
	case "proc":
		return c.proc, nil
	}
	if fd, ok := c.host.sources[v]; ok {
		return fd, nil
	}
	if attributes[v.Kind] == 0 {
		return -1, unix.EINVAL
	}
	return c.clone(v)
}

// clone makes a detached copy of the tree at v.Arg with the attributes. The
// path was resolved by the monitor; a link put into it since is refused, and
// so is another file than the one behind v.N.
func (c *child) clone(v order.ViewOp) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS}
	from := unix.AT_FDCWD
	if c.host.sources != nil { // in fetch: this thread's own root is not the host's any more
		from, how.Resolve = c.host.root, how.Resolve|unix.RESOLVE_IN_ROOT
	}
	at, err := unix.Openat2(from, v.Arg, &how)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: v.Arg, Err: err}
	}
	defer unix.Close(at)
	if v.N > 0 {
		if err := sameFD(at, c.files[v.N-1]); err != nil {
			return -1, err
		}
	}
	fd, err := unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("copy mount %s: %w", path.Base(v.Arg), err)
	}
	m := unix.MountAttr{Attr_set: attributes[v.Kind]}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &m); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("restrict mount %s: %w", path.Base(v.Arg), err)
	}
	if v.Map == 0 {
		return fd, nil
	}
	m = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(c.files[v.Map-1])}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &m); err != nil {
		// A file system that cannot be mapped stays as it is: the run then may
		// what its modes let everybody. Its own uid is worth more than a write.
		c.prove(report.NSMount, report.Enforced, "owners of "+path.Base(v.Arg)+" not mapped: "+order.ErrnoName(err), "")
	}
	return fd, nil
}

// sameFile reports whether path is the file behind fd.
func sameFile(path string, fd int) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(at)
	return sameFD(at, fd)
}

func sameFD(a, b int) error {
	var x, y unix.Stat_t
	if err := unix.Fstat(a, &x); err != nil {
		return err
	}
	if err := unix.Fstat(b, &y); err != nil {
		return err
	}
	if x.Dev != y.Dev || x.Ino != y.Ino {
		return fmt.Errorf("the directory was exchanged: %w", unix.ESTALE)
	}
	return nil
}
