package spawn

import (
	"errors"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// Run is one started child and everything made for it.
type Run struct {
	host   *Host
	spec   Spec
	lacks  map[report.Layer]lack
	proofs []order.Proof
	names  []string
	name   string // of its groups and directory
	order  *order.Order
	waited bool // born before it was asked for, with the base of its view

	base    *builder // that base, nil = none yet
	bornFor Spec     // whose base it is

	group  *group
	dir    string // on the host, "" with a mount view
	inside bool   // has a process namespace

	child   int // what was cloned, 0 = reaped; without a process namespace it becomes the script's
	childfd int
	init    int // the init of the process namespace, this process's child
	initfd  int
	pid     int // the script's process, this process's child too
	pidfd   int
	sock    int
	tmp     int   // its /tmp
	spaces  []int // its mount namespaces
	device  *tun.Device

	done    chan struct{} // closed when leader is valid
	leader  Exit
	reaped  bool // the script's process is
	failed  bool // the child has said its last word
	watched bool // a goroutine will close done
	killed  bool
	usage   unix.Rusage
	peak    int64 // of the looks of Over, 0 = none
}

// Pid is the script's process, as the monitor sees it.
func (r *Run) Pid() int { return r.pid }

// Fence is what this very run has, as its canary proved.
func (r *Run) Fence() report.Fence {
	return r.host.rows(r.spec.Policy, r.spec.Network, r.lacks, r.proofs, r.group.levels)
}

// EnvNames are the names of what the script received, sorted.
func (r *Run) EnvNames() []string { return r.names }

// Device is the way out of the run's network namespace in mode declared, nil
// in other modes. Its descriptor is the run's until Close.
func (r *Run) Device() *tun.Device { return r.device }

// Done is closed when the script's process has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Leader is how the script's process ended. Precondition: Done is closed.
func (r *Run) Leader() Exit { return r.leader }

// Terminate sends SIGTERM to the script's process group.
func (r *Run) Terminate() {
	if !r.reaped { // until then the pid is its
		unix.Kill(-r.pid, unix.SIGTERM)
	}
}

// watch waits for the end of the script's process, without reaping it.
func (r *Run) watch() {
	defer close(r.done)
	if r.pidfd >= 0 { // without a descriptor to spare there is none, and poll would wait for nothing
		poll(r.pidfd, unix.POLLIN, -1)
	}
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, r.pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	r.leader = exitOf(waitStatus(&info))
}

// waitStatus is the wait status that a siginfo of waitid stands for.
func waitStatus(info *unix.Siginfo) unix.WaitStatus {
	status := *(*int32)(unsafe.Add(unsafe.Pointer(info), 24)) // si_status on 64-bit machines
	if info.Code == 1 {                                       // CLD_EXITED
		return unix.WaitStatus(status << 8)
	}
	return unix.WaitStatus(status)
}

// exitOf reads a wait status.
func exitOf(s unix.WaitStatus) Exit {
	if s.Signaled() {
		return Exit{Signal: unix.SignalName(s.Signal())}
	}
	return Exit{Code: s.ExitStatus()}
}

// poll waits for events on one descriptor, at most for d (negative: for ever).
func poll(fd int, events int16, d time.Duration) bool {
	ms := int(d.Milliseconds())
	if d < 0 {
		ms = -1
	}
	p := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		n, err := unix.Poll(p, ms)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 && err == nil
		}
	}
}

// Usage reads the counters of the tree. Precondition: Kill came back empty.
func (r *Run) Usage() Usage {
	cpu := time.Duration(r.usage.Utime.Nano() + r.usage.Stime.Nano())
	u := Usage{CPU: cpu, PeakMemory: max(r.usage.Maxrss<<10, r.peak)}
	g := r.group
	if t := field(g.read("cpuacct", "cpuacct.usage", ""), ""); t > 0 {
		u.CPU = time.Duration(t)
	}
	if t := field(g.read("", "", "cpu.stat"), "usage_usec"); t > 0 {
		u.CPU = time.Duration(t) * time.Microsecond
	}
	if m := field(g.read("memory", "memory.max_usage_in_bytes", "memory.peak"), ""); m > 0 {
		u.PeakMemory = m
	}
	u.PeakPids = field(g.read("pids", "pids.peak", "pids.peak"), "")
	u.PidsHit = g.count("pids.events", "pids.events", "max")
	u.OOMKills = g.count("memory.oom_control", "memory.events", "oom_kill") - g.oom0
	u.LeaderOOM = u.OOMKills > 0 && r.leader.Signal == "SIGKILL"
	var st unix.Statfs_t
	if r.tmp >= 0 && unix.Fstatfs(r.tmp, &st) == nil {
		u.DiskFull = st.Bfree == 0 || st.Ffree == 0
	}
	return u
}

// Close removes what was made for the run. What will not go is handed to a
// background reaper and named. Precondition: Kill was called.
func (r *Run) Close() (leftovers []string) {
	if !r.killed && len(r.own()) > 0 {
		go r.finish()
		return []string{"processes of the run"}
	}
	return r.release()
}

// Next has a child born for another run like this one. It is apart from Close,
// so that the result of this run can be on its way first.
//
// Precondition: Close came back.
func (r *Run) Next() {
	if r.watched {
		r.host.expect(r.spec)
	}
}

// finish is the background reaper of a run that would not end in time.
func (r *Run) finish() {
	for r.Kill(time.Minute) != nil {
	}
	r.release()
}

// release removes what was made for a run that has ended.
func (r *Run) release() (leftovers []string) {
	for _, fd := range []*int{&r.tmp, &r.pidfd, &r.childfd, &r.initfd, &r.sock} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	go closeAll(r.spaces)
	r.spaces = nil
	if r.device != nil {
		unix.Close(r.device.FD)
		r.device = nil
	}
	if r.group != nil {
		if left := r.group.remove(); len(left) > 0 {
			leftovers = append(leftovers, left...)
			go reapGroups(left)
		}
	}
	if r.dir != "" {
		if err := removeTree(r.dir); err != nil {
			leftovers = append(leftovers, r.dir)
		}
	}
	return leftovers
}

// closeAll gives mount namespaces back that nothing lives in any more. The
// kernel waits for all its cores to take one down; no result waits with it.
func closeAll(spaces []int) {
	for _, fd := range spaces {
		unix.Close(fd)
	}
}

// reapGroups tries again for a minute: a group goes when its last process has.
func reapGroups(dirs []string) {
	for _, d := range dirs {
		o := &group{v2: d}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			o.strike()
			if err := os.Remove(d); err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			o.settle(100 * time.Millisecond)
		}
	}
}
