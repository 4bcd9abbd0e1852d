package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/report"
)

// Kill ends the whole tree by the strongest way present, waits until it is
// empty, at most within, and returns what is still there. It may be called
// again.
func (r *Run) Kill(within time.Duration) []report.Survivor {
	if r.killed || len(r.own()) == 0 {
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
	if r.watched {
		<-r.done // it reads how the script's process ended before that is reaped
	}
	for _, pid := range r.own() {
		if pid != r.init {
			reap(pid, &r.usage)
		}
	}
	r.child, r.reaped = 0, true
	// The init ends when its namespace is empty, and not before its script was reaped.
	if r.init != 0 && !ended(r.init, r.initfd, max(time.Until(end), 100*time.Millisecond)) {
		return survivors(r.members())
	}
	r.killed = true
	if r.init != 0 {
		reap(r.init, nil)
	}
	return nil
}

// ended waits for the end of a child of this process, at most within, and leaves
// it to be reaped. fd is its handle, -1 where no descriptor was to spare.
func ended(pid, fd int, within time.Duration) bool {
	if fd >= 0 {
		return poll(fd, unix.POLLIN, within)
	}
	for end := time.Now().Add(within); ; poll(-1, 0, time.Millisecond) {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err == nil && info.Signo != 0 || errors.Is(err, unix.ECHILD) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// own are the processes of the run that are this process's children.
func (r *Run) own() []int {
	out := []int{}
	for _, pid := range []int{r.child, r.pid, r.init} {
		if pid != 0 && (pid != r.pid || !r.reaped) && (len(out) == 0 || out[0] != pid) {
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
	if own := r.own(); !r.inside && len(own) > 0 {
		unix.Kill(-own[0], unix.SIGKILL)
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
		r.failed = kind == 0 || kind == order.RecordFailed || err != nil
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
