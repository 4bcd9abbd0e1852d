package fence

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
	"skill-mcp/internal/seccomp"
	"skill-mcp/internal/tun"
)

// niceness makes a run lose against the server and the user's programs, where
// no control group bounds its share.
const niceness = 5

// securebits: root means nothing, sets are not changed by uid changes, no
// ambient capabilities; each locked (linux/securebits.h, bits 0 to 7 without
// KEEP_CAPS itself).
const securebits = 0xef

// Steps is the order in which a child fences itself in. The two steps before
// it, prepare and clone, are the monitor's (package spawn). A step that fails
// ends the child; whether the run is then refused or started again without
// the layer, and reported so, is the policy's word and decided by the monitor.
func Steps() []Step {
	return []Step{
		{"user_map", "", (*child).userMap},
		{"reset", "", (*child).reset},
		{"cgroup", "", (*child).cgroup},
		{"network", "", (*child).network},
		{"mount_namespace", report.NSMount, (*child).mountNamespace},
		{"pid_namespace", report.NSPid, (*child).pidNamespace},
		{"view", report.NSMount, (*child).view},
		{"rules", "", (*child).ruleset},
		{"go", "", (*child).wait},
		{"mounts", report.NSMount, (*child).mounts},
		{"hostname", report.NSIpc, (*child).hostname},
		{"keyring", "", (*child).keyring},
		{"session", report.ProcessGroup, (*child).session},
		{"rlimits", report.Rlimits, (*child).rlimits},
		{"close_range", "", (*child).closeRange},
		{"bounding_set", report.Capabilities, (*child).boundingSet},
		{"credentials", "", (*child).credentials},
		{"parent_death", "", (*child).parentDeath},
		{"chdir", "", (*child).chdir},
		{"no_new_privs", report.NoNewPrivs, (*child).noNewPrivs},
		{"landlock", "", (*child).landlock},
		{"seccomp", report.Seccomp, (*child).seccomp},
		{"canary", "", (*child).canary},
		{"execve", "", (*child).execve},
	}
}

// Step: user_map
// Prevents: nothing itself; it gives the mounts below their owner without root.
// Needs: Linux 3.8, user namespaces allowed to this user; only without root.
// Order: first, while /proc/self is still writable to us (reset takes that).
// On failure: every namespace is given up. Test: TestStep/user_map
func (c *child) userMap() error {
	if !c.MapUser {
		return nil
	}
	uid, gid := strconv.Itoa(int(c.UID)), strconv.Itoa(int(c.GID))
	for _, f := range [][2]string{
		{"/proc/self/setgroups", "deny"},
		{"/proc/self/uid_map", uid + " " + uid + " 1"},
		{"/proc/self/gid_map", gid + " " + gid + " 1"},
	} {
		if err := writeFile(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}

// Step: reset
// Prevents: signals that the monitor ignored or blocked staying so in the
// script, and the helper's memory being read while it stands in the run's
// namespaces (CVE-2016-9962).
// Needs: nothing.
// Order: before anything the run could see; after user_map, since a process
// that is not dumpable does not own its files in /proc.
// On failure: the run is aborted. Test: TestStep/reset
func (c *child) reset() error {
	if c.Has(report.Rlimits) {
		// The kernel picks the script and not a neighbour when memory runs out.
		if err := writeFile("/proc/self/oom_score_adj", "1000"); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("clear dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie to the monitor: %w", err)
	}
	return c.identity()
}

// identity compares the child's namespaces with the monitor's, while the
// host's /proc is still in sight.
func (c *child) identity() error {
	layers := map[string]report.Layer{"mnt": report.NSMount, "net": report.NSNet, "ipc": report.NSIpc}
	for _, n := range c.Namespaces {
		kind, _, _ := strings.Cut(n, ":")
		var buf [64]byte
		size, err := unix.Readlink("/proc/thread-self/ns/"+kind, buf[:])
		if err != nil {
			return order.InLayer(layers[kind], fmt.Errorf("read namespace %s: %w", kind, err))
		}
		if string(buf[:size]) == n {
			return order.InLayer(layers[kind], fmt.Errorf("namespace %s is the monitor's: %w", kind, unix.EEXIST))
		}
	}
	return nil
}

// Step: cgroup
// Prevents: a run that believes in limits which bind somebody else.
// Needs: groups the monitor could make: v1 joined by the thread that cloned,
// v2 by CLONE_INTO_CGROUP (Linux 5.7), so that no instruction ran outside.
// Order: before view, which hides the host's /proc, and before allocations.
// On failure: the layer is given up or the run aborted. Test: TestStep/cgroup
func (c *child) cgroup() error {
	if len(c.Cgroups) == 0 {
		return nil
	}
	text, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		return fmt.Errorf("read own groups: %w", err)
	}
	for i, l := range []report.Layer{report.CgroupMemory, report.CgroupPids, report.CgroupCPU, report.CgroupKill} {
		if i >= len(c.Cgroups) || !c.Has(l) {
			continue
		}
		controller, suffix, _ := strings.Cut(c.Cgroups[i], " ")
		if !inGroup(string(text), controller, suffix) {
			return order.InLayer(l, fmt.Errorf("not inside group %s: %w", suffix, unix.ESRCH))
		}
	}
	return nil
}

// inGroup looks for a line `N:controller:…suffix`; v2 has no controller.
func inGroup(text, controller, suffix string) bool {
	for _, line := range strings.Split(text, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || !strings.HasSuffix(f[2], suffix) {
			continue
		}
		for _, have := range strings.Split(f[1], ",") {
			if have == controller {
				return true
			}
		}
	}
	return false
}

// Step: network
// Prevents: every address but the run's own loopback being there at all.
// Needs: a network namespace; for the way out of mode declared also
// CAP_NET_ADMIN in it.
// Order: before view, which takes the host's /dev/net/tun out of sight.
// On failure: the layer is given up or the run aborted. Test: TestStep/network
func (c *child) network() error {
	switch {
	case c.Tun:
		d, err := tun.Open()
		if err == nil {
			err = tun.Send(order.StatusFD, d)
			unix.Close(d.FD)
		}
		if err != nil {
			return order.InLayer(report.NSNet, err)
		}
	case c.Lo:
		if err := tun.LoopbackUp(); err != nil {
			return order.InLayer(report.NSNet, err)
		}
	}
	return nil
}

// Step: hostname
// Prevents: the script learning or changing the host's name.
// Needs: a UTS namespace, which comes and goes with the IPC namespace.
// Order: while CAP_SYS_ADMIN is there.
// On failure: the layer is given up or the run aborted. Test: TestStep/hostname
func (c *child) hostname() error {
	if err := unix.Sethostname([]byte("skill")); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return nil
}

// Step: keyring
// Prevents: the script possessing the session keyring the server was started
// with, and the keys in it.
// Needs: Linux 2.6.10. A kernel without keyrings (ENOSYS) or a filter that
// denies them (EPERM, as in containers) leaves nothing to possess.
// Order: before credentials: afterwards the old ring is still possessed.
// On failure: the run is aborted. Test: TestStep/keyring
func (c *child) keyring() error {
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // no name: an anonymous one
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("join a new session keyring: %w", err)
	}
	return nil
}

// Step: session
// Prevents: a controlling terminal (TIOCSTI), and signals to the server's group.
// Needs: nothing. Standard input is /dev/null from the clone on.
// Order: before the program; the descriptors were placed by the clone.
// On failure: the run is aborted. Test: TestStep/session
func (c *child) session() error {
	if _, err := unix.Setsid(); err != nil {
		return fmt.Errorf("start a session: %w", err)
	}
	return nil
}

// Step: rlimits
// Prevents: exhausting descriptors, disk and locked memory, core dumps, and a
// script that outruns its deadline on the processor.
// Needs: lowering needs no privilege.
// Order: after Go raised NOFILE at its start, before credentials so that the
// hard limits are final.
// On failure: the run is aborted. Test: TestStep/rlimits
func (c *child) rlimits() error {
	for _, r := range c.Rlimits {
		l := unix.Rlimit{Cur: uint64(r.Soft), Max: uint64(r.Hard)}
		if err := unix.Prlimit(0, int(r.Resource), &l, nil); err != nil {
			return fmt.Errorf("set limit %d: %w", r.Resource, err)
		}
	}
	// Where nothing else bounds its share of the processor it should lose against
	// the server. One that is nicer already stays so: going back needs a privilege.
	have, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the kernel's form: 20 minus the nice value
	if !c.Has(report.CgroupCPU) && (err != nil || 20-have < niceness) {
		c.nice = niceness // taken with the execve: the steps until then are the server's
	}
	return nil
}

// Step: close_range
// Prevents: descriptors of the monitor reaching the script (CVE-2024-21626).
// Needs: Linux 5.11.
// Order: after all descriptors the steps below do not open themselves.
// On failure: the run is aborted. Test: TestStep/close_range
func (c *child) closeRange() error {
	// Never a loop: the limit may be 2^30.
	if err := unix.CloseRange(order.StatusFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("mark descriptors close-on-exec: %w", err)
	}
	return nil
}

// Step: bounding_set
// Prevents: capabilities coming back through a file or a user id.
// Needs: CAP_SETPCAP: root, or a user namespace. Without it the bounding set
// stays, which no_new_privs makes harmless; the report says so.
// Order: before credentials, which give CAP_SETPCAP away.
// On failure: the layer is given up or the run aborted. Test: TestStep/bounding_set
func (c *child) boundingSet() error {
	for cap := uintptr(0); cap <= 63; cap++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, cap, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) { // past the last capability
			break
		}
		if errors.Is(err, unix.EPERM) && unix.Geteuid() != 0 {
			c.prove(report.Capabilities, report.Enforced, "sets empty, bounding set kept", "")
			return nil
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", cap, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, securebits, 0, 0, 0); err != nil {
		return fmt.Errorf("lock securebits: %w", err)
	}
	return nil
}

// Step: credentials
// Prevents: acting as the server's user; with capabilities gone and another
// uid, /proc of the parent is closed even without Yama.
// Needs: CAP_SETUID and CAP_SETGID for the uid; emptying sets needs nothing.
// Order: groups, gid, uid, then the sets (securebits keep them over setuid).
// On failure: the layer is given up or the run aborted. Test: TestStep/credentials
func (c *child) credentials() error {
	if c.Has(report.UID) && !c.MapUser {
		for _, fd := range []int{1, 2} { // so that /dev/stdout can be opened
			unix.Fchown(fd, int(c.UID), int(c.GID)) // not a pipe of ours: nothing to give away
		}
		u, g := uintptr(c.UID), uintptr(c.GID)
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, 0, 0, 0}, {unix.SYS_SETRESGID, g, g, g}, {unix.SYS_SETRESUID, u, u, u},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				return order.InLayer(report.UID, fmt.Errorf("change to uid %d: %w", c.UID, errno))
			}
		}
	}
	if !c.Has(report.Capabilities) {
		return nil
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // EINVAL before Linux 4.3, which has none
	if err := setCapabilities(0); err != nil {
		return order.InLayer(report.Capabilities, fmt.Errorf("empty the capability sets: %w", err))
	}
	return nil
}

// setCapabilities sets the effective, permitted and inheritable sets of this
// thread to the low 32 bits in set.
func setCapabilities(set uint32) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: set, Permitted: set, Inheritable: set}}
	return unix.Capset(&header, &data[0])
}

// Step: parent_death
// Prevents: a run that outlives a killed monitor.
// Needs: nothing. Inside a process namespace init watches the socket as well.
// Order: after credentials, which reset it; then the parent is looked at, since
// it may have died before.
// On failure: the run is aborted. Test: TestStep/parent_death
func (c *child) parentDeath() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie to the monitor: %w", err)
	}
	if !c.Has(report.NSPid) && int64(unix.Getppid()) != c.Monitor {
		return fmt.Errorf("the monitor is gone: %w", unix.ESRCH)
	}
	return nil
}

// Step: chdir
// Prevents: a working directory outside, and files others can write.
// Needs: nothing.
// Order: after mounts and credentials: permission is checked as the run.
// On failure: the run is aborted. Test: TestStep/chdir
func (c *child) chdir() error {
	unix.Umask(0o077)
	if err := unix.Chdir(c.Cwd); err != nil {
		return &os.PathError{Op: "chdir", Path: c.Cwd, Err: err}
	}
	return sameFile(".", c.files[order.SkillFile])
}

// Step: no_new_privs
// Prevents: the script gaining rights through a setuid or file-capability execve.
// Needs: Linux 3.5, no privilege.
// Order: before landlock and seccomp (both refuse an unprivileged caller without it).
// On failure: the run is aborted. Test: TestStep/no_new_privs
func (c *child) noNewPrivs() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// Step: seccomp
// Prevents: the calls of the filter's rows, each with its reason there.
// Needs: Linux 3.17, no_new_privs.
// Order: last of the layers: it denies calls that the steps above make.
// On failure: the layer is given up or the run aborted. Test: TestStep/seccomp
func (c *child) seccomp() error {
	if len(c.Filter) == 0 || len(c.Filter)%8 != 0 {
		return fmt.Errorf("load filter of %d bytes: %w", len(c.Filter), unix.EINVAL)
	}
	p := unsafe.Slice((*seccomp.Instruction)(unsafe.Pointer(&c.Filter[0])), len(c.Filter)/8)
	return seccomp.Load(p, 0)
}
