package fence

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// ruleNetPort is LANDLOCK_RULE_NET_PORT, which x/sys does not name.
const ruleNetPort = 2

// accessFile are the rights a rule on a file may have; others are EINVAL.
const accessFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
	unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

// handledFS is the set of file rights that an ABI can deny: all of them are.
func handledFS(abi int64) uint64 {
	bits := 13                                  // ABI 1
	for _, since := range []int64{2, 3, 5, 9} { // REFER, TRUNCATE, IOCTL_DEV, RESOLVE_UNIX
		if abi >= since {
			bits++
		}
	}
	return 1<<bits - 1
}

// Step: rules
// Prevents: nothing yet; it makes the rule set and what every script of an
// interpreter may open, so that landlock has only the skill's own to add.
// Needs: Linux 5.13 with landlock in lsm=.
// Order: after view, in which the paths are looked up; before go.
// On failure: the layer is given up or the run aborted. Test: TestStep/rules
func (c *child) ruleset() error {
	if c.ABI == 0 {
		return nil
	}
	attr := unix.LandlockRulesetAttr{}
	size := uintptr(8)
	if c.Has(report.LandlockFS) {
		attr.Handled_access_fs = handledFS(c.ABI)
	}
	if c.Has(report.LandlockNet) && c.ABI >= 4 {
		attr.Handled_access_net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP, 16
		if !c.NetAny {
			attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if c.Has(report.LandlockScope) && c.ABI >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, 24
	}
	set, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("create rule set: %w", errno)
	}
	c.rules = int(set)
	if c.Has(report.NSMount) && !c.host.apart { // the paths are still the host's
		return nil
	}
	return c.addPaths()
}

// Step: landlock
// Prevents: opening, creating, removing or running any file but the listed,
// TCP but to the listed ports, and signals and abstract sockets to outside.
// Needs: Linux 5.13 with landlock in lsm=; TCP 6.7, scopes 6.12; no_new_privs.
// Order: one rule set, once, for all three: a second layer would forbid
// renames between directories. After mounts, before seccomp.
// On failure: the layer is given up or the run aborted. Test: TestStep/landlock
func (c *child) landlock() error {
	if c.ABI == 0 {
		return nil
	}
	if err := c.layBaits(); err != nil {
		return fmt.Errorf("prepare canary: %w", err)
	}
	if c.rules < 0 {
		if err := c.ruleset(); err != nil {
			return err
		}
	}
	defer unix.Close(c.rules)
	if err := errors.Join(c.addPaths(), c.addPorts()); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(c.rules), 0, 0); errno != 0 {
		return fmt.Errorf("restrict self: %w", errno)
	}
	return nil
}

// addPaths adds the rules on files that are not in the set yet.
func (c *child) addPaths() error {
	for _, r := range c.Rules {
		if c.ruled[r] || !c.Has(report.LandlockFS) {
			continue
		}
		if err := addPath(c.rules, r, handledFS(c.ABI)); err != nil {
			return err
		}
		c.ruled[r] = true
	}
	return nil
}

// addPorts adds the ports that may be connected to.
func (c *child) addPorts() error {
	if c.NetAny || c.ABI < 4 || !c.Has(report.LandlockNet) {
		return nil
	}
	for _, port := range c.Ports {
		rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
		if _, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(c.rules), ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("allow port %d: %w", port, errno)
		}
	}
	return nil
}

// addPath adds one path rule. A path that is not there, or that the run's user
// cannot reach, needs none; nor does one that became a link since the monitor
// looked, which would open whatever it leads to.
func addPath(set int, r order.Rule, handled uint64) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if strings.HasPrefix(r.Path, "/proc/") { // self is a link of the kernel's
		how.Resolve = 0
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, r.Path, &how)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: r.Path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	access := uint64(r.Access) & handled
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", r.Path, errno)
	}
	return nil
}
