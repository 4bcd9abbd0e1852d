package fence

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// Run is one started child and everything made for it.
type Run struct {
	host   *Host
	spec   Spec
	lacks  map[report.Layer]lack
	proofs []proof
	names  []string
	name   string // of its groups and directory
	order  *order
	waited bool // was a standby
	group  *group
	dir    string // on the host, "" with a mount view
	inside bool   // has a process namespace

	child   int // what was cloned, 0 = reaped; without a process namespace it becomes the script's
	childfd int
	init    int // the init of the process namespace, this process's child
	pid     int // the script's process, this process's child too
	pidfd   int
	sock    int
	tmp     int // its /tmp
	device  *tun.Device

	done    chan struct{} // closed when leader is valid
	leader  Exit
	failed  bool // the child has said its last word
	watched bool // a goroutine will close done
	killed  bool
	usage   unix.Rusage
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
	if !r.killed { // until then it is not reaped, and the pid still its
		unix.Kill(-r.pid, unix.SIGTERM)
	}
}

// watch waits for the end of the script's process, without reaping it.
func (r *Run) watch() {
	defer close(r.done)
	poll(r.pidfd, unix.POLLIN, -1)
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

// Kill ends the whole tree by the strongest way present, waits until it is
// empty, at most within, and returns what is still there. It may be called
// again.
func (r *Run) Kill(within time.Duration) []report.Survivor {
	if r.killed || (r.child == 0 && r.pid == 0) {
		return nil
	}
	end := time.Now().Add(within)
	for {
		r.strike()
		if r.settled(min(50*time.Millisecond, time.Until(end))) {
			break
		}
		if time.Now().After(end) {
			return survivors(r.members())
		}
	}
	r.killed = true
	if r.watched {
		<-r.done // it reads how the script's process ended before that is reaped
	}
	for _, pid := range r.own() {
		reap(pid, &r.usage) // the script's first: the init ends when its namespace is empty
	}
	return nil
}

// own are the processes of the run that are this process's children.
func (r *Run) own() []int {
	out := []int{}
	for _, pid := range []int{r.child, r.pid, r.init} {
		if pid != 0 && (len(out) == 0 || out[0] != pid) {
			out = append(out, pid)
		}
	}
	return out
}

// reap waits for a process that has ended or is about to.
func reap(pid int, usage *unix.Rusage) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, usage); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// strike sends SIGKILL once to everything of the run that can be found.
func (r *Run) strike() {
	r.meetInit()
	if r.group != nil {
		r.group.strike()
	}
	for _, pid := range r.own() { // with the init goes its whole namespace
		unix.Kill(pid, unix.SIGKILL)
	}
	if !r.inside {
		unix.Kill(-r.own()[0], unix.SIGKILL)
	}
	for _, pid := range r.strays() {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// meetInit reads on until the init of a run that never started its script is
// known: it is this process's child as well, and one that was killed before it
// said so could not be told from the monitor's other children.
func (r *Run) meetInit() {
	for r.inside && r.init == 0 && r.child != 0 && !r.failed && r.sock >= 0 {
		kind, _, err := r.receive()
		r.failed = kind == 0 || kind == recordFailed || err != nil
	}
}

// settled waits for the tree to be empty, at most d.
func (r *Run) settled(d time.Duration) bool {
	for _, fd := range []int{r.pidfd, r.childfd} {
		if fd >= 0 && !poll(fd, unix.POLLIN, max(d, 0)) {
			return false
		}
	}
	if r.group != nil && !r.group.settle(max(d, 0)) {
		return false
	}
	return len(r.strays()) == 0
}

// strays are the run's orphans where nothing holds it together: children of
// this process, its subreaper, that are neither the child nor spared. The dead
// among them are reaped.
func (r *Run) strays() []int {
	if r.inside {
		return nil
	}
	self := strconv.Itoa(os.Getpid())
	tasks, _ := os.ReadDir("/proc/self/task")
	out := []int{}
	for _, t := range tasks {
		text, _ := os.ReadFile("/proc/" + self + "/task/" + t.Name() + "/children")
		for _, f := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(f)
			if pid == r.child || pid == r.pid || pid == r.init || r.host.spared[pid] {
				continue
			}
			if got, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); got != pid {
				out = append(out, pid)
			}
		}
	}
	return out
}

// members are the pids of the run that can be seen.
func (r *Run) members() []int {
	out := r.strays()
	if r.group != nil {
		out = append(out, r.group.procs()...)
	}
	if len(out) == 0 {
		out = r.own()
	}
	return out
}

// survivors gives the state of each pid.
func survivors(pids []int) []report.Survivor {
	out := []report.Survivor{}
	for _, pid := range pids {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, rest, _ := strings.Cut(string(b), ") ")
		state, _, _ := strings.Cut(rest, " ")
		out = append(out, report.Survivor{Pid: pid, State: state})
	}
	return out
}

// strike kills every member of the groups and reports whether one could.
// v2 has one file for it; in v1 new members are stopped by the limit and the
// freezer while the present ones are killed.
func (o *group) strike() bool {
	if o.v2 != "" {
		if os.WriteFile(filepath.Join(o.v2, "cgroup.kill"), []byte("1"), 0) == nil {
			return true
		}
	}
	if d := o.v1["pids"]; d != "" {
		os.WriteFile(filepath.Join(d, "pids.max"), []byte("0"), 0)
	}
	freezer := o.v1["freezer"]
	if freezer != "" {
		os.WriteFile(filepath.Join(freezer, "freezer.state"), []byte("FROZEN"), 0)
	}
	pids := o.procs()
	for _, pid := range pids {
		unix.Kill(pid, unix.SIGKILL)
	}
	if freezer != "" {
		os.WriteFile(filepath.Join(freezer, "freezer.state"), []byte("THAWED"), 0)
	}
	return len(pids) > 0
}

// settle waits until the groups are empty, at most d.
func (o *group) settle(d time.Duration) bool {
	if o.v2 == "" {
		return len(o.procs()) == 0
	}
	f, err := os.Open(filepath.Join(o.v2, "cgroup.events"))
	if err != nil {
		return len(o.procs()) == 0
	}
	defer f.Close()
	for end := time.Now().Add(d); ; {
		var b [128]byte
		n, _ := f.ReadAt(b[:], 0)
		if field(string(b[:n]), "populated") == 0 {
			return true
		}
		if time.Now().After(end) || !poll(int(f.Fd()), unix.POLLPRI, time.Until(end)) {
			return false
		}
	}
}

// procs are the members of the groups.
func (o *group) procs() []int {
	seen, out := map[int]bool{}, []int{}
	for _, d := range o.dirs() {
		text, _ := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		for _, f := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 && !seen[pid] {
				seen[pid], out = true, append(out, pid)
			}
		}
	}
	return out
}

// Usage reads the counters of the tree. Precondition: Kill came back empty.
func (r *Run) Usage() Usage {
	cpu := time.Duration(r.usage.Utime.Nano() + r.usage.Stime.Nano())
	u := Usage{CPU: cpu, PeakMemory: r.usage.Maxrss << 10}
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
	leftovers = r.release()
	if r.watched {
		r.host.expect(r.spec)
	}
	return leftovers
}

// finish is the background reaper of a run that would not end in time.
func (r *Run) finish() {
	for r.Kill(time.Minute) != nil {
	}
	r.release()
}

// release removes what was made for a run that has ended.
func (r *Run) release() (leftovers []string) {
	for _, fd := range []*int{&r.tmp, &r.pidfd, &r.childfd, &r.sock} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
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
