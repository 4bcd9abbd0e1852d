package fence

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// layBaits opens, before the last layers, what the canary needs and the layers
// deny: sockets of a denied family, a listener outside the Landlock domain.
func (c *child) layBaits() (err error) {
	if c.Has(report.LandlockNet) && c.ABI >= 4 {
		if c.baits[0], err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return order.InLayer(report.LandlockNet, err)
		}
	}
	if !c.Has(report.LandlockScope) || c.ABI < 6 {
		return nil
	}
	for i := 1; i <= 2; i++ {
		if c.baits[i], err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
			return order.InLayer(report.LandlockScope, err)
		}
	}
	if err = unix.Bind(c.baits[1], &unix.SockaddrUnix{}); err == nil { // an empty name: the kernel picks an abstract one
		err = unix.Listen(c.baits[1], 1)
	}
	if err != nil {
		return order.InLayer(report.LandlockScope, err)
	}
	return nil
}

// trial is one forbidden act: what must come back, and what did.
type trial struct {
	layer report.Layer
	act   string
	do    func() error
	want  []unix.Errno
	level string
}

// Step: canary
// Prevents: claiming a layer that does not hold.
// Needs: nothing; every act is harmless when it succeeds.
// Order: after the last layer, before execve; the report goes out here.
// On failure: an act that was not denied ends the child and names the layer;
// the layer is then given up or the run aborted. Test: TestStep/canary
func (c *child) canary() error {
	for _, t := range append(c.processTrials(), c.kernelTrials()...) {
		if !c.Has(t.layer) {
			continue
		}
		if err := t.run(); err != nil {
			return err
		}
		c.prove(t.layer, report.Enforced, t.level, "")
	}
	for _, fd := range c.baits {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	return c.report()
}

// run tries the act and holds the answer against what is wanted.
func (t trial) run() error {
	err := t.do()
	for _, w := range t.want {
		if errors.Is(err, w) {
			return nil
		}
	}
	if len(t.want) == 0 && err == nil {
		return nil
	}
	if err == nil {
		return order.InLayer(t.layer, fmt.Errorf("canary: %s was not refused", t.act))
	}
	return order.InLayer(t.layer, fmt.Errorf("canary: %s: %w", t.act, err))
}

// holds turns a comparison into a trial's answer.
func holds(ok bool) error {
	if ok {
		return nil
	}
	return unix.EBADE
}

// processTrials look at what the process has become.
func (c *child) processTrials() []trial {
	return []trial{
		{report.ProcessGroup, "lead another session", func() error {
			sid, err := unix.Getsid(0)
			return errors.Join(err, holds(sid == unix.Getpid()))
		}, nil, ""},
		{report.Rlimits, "keep limits", c.limitsHold, nil, ""},
		{report.NoNewPrivs, "gain privileges", func() error {
			v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			return errors.Join(err, holds(v == 1))
		}, nil, ""},
		{report.Capabilities, "take a capability back", func() error { return setCapabilities(1 << unix.CAP_CHOWN) }, []unix.Errno{unix.EPERM}, ""},
		{report.UID, "become root again", func() error {
			if unix.Getuid() == 0 || unix.Geteuid() == 0 || unix.Getegid() == 0 {
				return nil
			}
			_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 0, 0, 0)
			return errno
		}, []unix.Errno{unix.EPERM}, strconv.Itoa(int(c.UID))},
		{report.NSPid, "", func() error { return nil }, nil, ""}, // launch.start proves it
		{report.NSMount, "see a file of the host", func() error { return stat(c.Marks[0]) }, []unix.Errno{unix.ENOENT}, ""},
		{report.NSIpc, "", func() error { return nil }, nil, ""},
		{report.NSNet, "", func() error { return nil }, nil, ""},
		{report.CgroupMemory, "", func() error { return nil }, nil, ""},
		{report.CgroupPids, "", func() error { return nil }, nil, ""},
		{report.CgroupCPU, "", func() error { return nil }, nil, ""},
		{report.CgroupKill, "", func() error { return nil }, nil, ""},
		{report.PrivateTmp, "outgrow /tmp", c.tmpHolds, nil, ""},
		{report.ParentProtected, "read the monitor's environment", c.parentEnviron, []unix.Errno{unix.EACCES, unix.EPERM, unix.ENOENT}, ""},
	}
}

// kernelTrials ask the two policies in the kernel.
func (c *child) kernelTrials() []trial {
	abi := "abi " + strconv.Itoa(int(c.ABI))
	return []trial{
		{report.LandlockFS, "open a file that no rule allows", func() error { return open(c.Marks[1]) }, []unix.Errno{unix.EACCES}, abi},
		{report.LandlockFS, "open the skill", func() error { return open(c.Cwd) }, nil, abi},
		{report.LandlockNet, "bind a TCP port", func() error {
			return unix.Bind(c.baits[0], &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}})
		}, []unix.Errno{unix.EACCES}, abi},
		{report.LandlockNet, "connect to a TCP port", func() error {
			if c.NetAny {
				return unix.EACCES // the host list decides, not the port
			}
			return unix.Connect(c.baits[0], &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}})
		}, []unix.Errno{unix.EACCES}, abi},
		{report.LandlockScope, "connect to an abstract socket outside", func() error {
			name, err := unix.Getsockname(c.baits[1])
			if err != nil {
				return err
			}
			return unix.Connect(c.baits[2], name)
		}, []unix.Errno{unix.EPERM}, abi},
		{report.Seccomp, "use a keyring", func() error {
			_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0, 0)
			return err
		}, []unix.Errno{unix.EPERM}, ""},
		{report.Seccomp, "switch address randomization off", func() error {
			_, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, 0x0040000, 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		}, []unix.Errno{unix.EPERM}, ""},
		{report.Seccomp, "make an unknown call", func() error {
			_, _, errno := unix.RawSyscall(9999, 0, 0, 0)
			return errno
		}, []unix.Errno{unix.ENOSYS}, ""},
	}
}

func stat(path string) error {
	var st unix.Stat_t
	return unix.Stat(path, &st)
}

func open(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// limitsHold reads every limit back, and asks for a descriptor past the last.
func (c *child) limitsHold() error {
	for _, r := range c.Rlimits {
		var got unix.Rlimit
		if err := unix.Prlimit(0, int(r.Resource), nil, &got); err != nil {
			return err
		}
		if got.Cur != uint64(r.Soft) || got.Max != uint64(r.Hard) {
			return unix.EBADE
		}
	}
	return nil
}

// tmpHolds compares the size of /tmp with what was asked for.
func (c *child) tmpHolds() error {
	if c.tmp < 0 {
		c.prove(report.PrivateTmp, report.Partial, "directory", "a directory of the run, whose size the helper looks at ten times a second: there is no mount namespace")
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(c.tmp, &st); err != nil {
		return err
	}
	return holds(st.Type == unix.TMPFS_MAGIC && int64(st.Blocks)*st.Bsize <= c.TmpBytes && int64(st.Files) <= c.TmpInodes)
}

// parentEnviron opens what would give the monitor's secrets away: its
// environment by the pid it has outside, and that of the own init.
func (c *child) parentEnviron() error {
	pid := strconv.Itoa(int(c.Monitor))
	if err := open("/proc/" + pid + "/mem"); err == nil {
		return nil
	}
	return open("/proc/" + pid + "/environ")
}

// report sends what was proved, with the run's /tmp so that the monitor can
// see how full it was, and its mount namespaces: whoever leaves one last waits
// for the kernel to take it down, and that must be no process of the run.
func (c *child) report() error {
	var fds []int
	if c.tmp >= 0 {
		fds = append(fds, c.tmp)
	}
	if c.host.apart {
		fds = append(fds, c.host.host, c.host.own)
	}
	if err := unix.Sendmsg(order.StatusFD, order.ProofsRecord(c.proofs), unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("send report: %w", err)
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return nil
}
