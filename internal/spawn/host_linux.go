package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// ProbeOptions are what a monitor tells of itself. The zero value is usable.
type ProbeOptions struct {
	Exe     string // the program that has the role child, "" = this one
	TmpRoot string // where runs without a mount view get their directory, "" = os.TempDir
	LockDir string // root's alone, for the uid locks, "" = /run/skill-mcp
}

// Host is what this system was probed to offer, once per monitor. Its methods
// are for one goroutine at a time.
type Host struct {
	exe, tmpRoot, name string
	abi                int64
	groups             *groups
	uid                *uidSlot
	maps               []ownerMap
	namespaces         map[string]string // kind -> the monitor's own, as /proc/self/ns shows it
	lacks              map[report.Layer]lack
	probed             []order.Proof
	spared             map[int]bool
	runs               int
	null               *os.File
	mounts             *os.File // this process's mount table, to see it change; nil = it cannot be seen
	childEnv           []string
	filters            map[string][]byte
	coming             chan *Run // the next child, being born or waiting; nil = none
	closed             bool
	broken             error // the thread could not leave a run's group: nothing may be started any more
	work               chan func()
}

// lack is why a layer is not to be had here.
type lack struct{ stage, errno, reason string }

// Probe finds out what this host offers by starting, through the very steps of
// a run, a throw-away child, again and again without the layer whose step
// failed, until one comes through. Nothing is inferred from versions.
func Probe(p policy.Policy, opts ProbeOptions) *Host {
	h := &Host{
		exe: opts.Exe, tmpRoot: opts.TmpRoot, name: prefix() + strconv.Itoa(os.Getpid()) + "-" + startTicks(os.Getpid()),
		namespaces: map[string]string{}, lacks: map[report.Layer]lack{}, spared: map[int]bool{}, filters: map[string][]byte{}, work: make(chan func()),
		// No collections: the runtime then makes no threads later. Two processors: from
		// a single one a system call of 20 microseconds loses its place to a thread that
		// has nothing to do, and waits for it up to a millisecond.
		childEnv: []string{"GOMAXPROCS=2", "GOGC=off"},
	}
	if h.exe == "" {
		h.exe = "/proc/self/exe"
	}
	if h.tmpRoot == "" {
		h.tmpRoot = os.TempDir()
	}
	if real, err := filepath.EvalSymlinks(h.tmpRoot); err == nil {
		h.tmpRoot = real // rules are on paths without links
	}
	if opts.LockDir == "" {
		opts.LockDir = "/run/skill-mcp"
	}
	go h.thread()
	for _, n := range nsFlags {
		h.namespaces[n.kind], _ = os.Readlink("/proc/self/ns/" + n.kind) // "" differs from every child's
	}
	var err error
	if h.null, err = os.OpenFile("/dev/null", os.O_RDWR, 0); err != nil {
		h.broken = err
		return h
	}
	// Not by os.Open: Go would watch it, and a change is told once, to whoever asks first.
	if fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		h.mounts = os.NewFile(uintptr(fd), "mountinfo")
	}
	h.probeLandlock()
	h.probeUID(opts.LockDir)
	h.probeGroups()
	h.probeChild(p)
	h.expect(firstRun(p))
	return h
}

// thread is the one thread that starts children. It lives as long as the
// host: PDEATHSIG of a child is tied to the thread that cloned it. It has all
// signals blocked, which its children inherit, so that their init can wait
// for SIGCHLD and is disturbed by nothing else.
func (h *Host) thread() {
	runtime.LockOSThread()
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		h.broken = err
	}
	for f := range h.work {
		f()
	}
	// Not unlocked: the thread ends with the goroutine.
}

// onThread runs f on the starting thread and gives its error.
func (h *Host) onThread(f func() error) error {
	out := make(chan error)
	h.work <- func() {
		if h.broken != nil {
			out <- h.broken
			return
		}
		out <- f()
	}
	return <-out
}

func (h *Host) probeLandlock() {
	var err error
	if h.abi, err = landlockABI(); err == nil {
		for l, need := range map[report.Layer]int64{report.LandlockNet: 4, report.LandlockScope: 6} {
			if h.abi < need {
				h.lacks[l] = lack{"landlock", "", fmt.Sprintf("the kernel's Landlock is abi %d, this needs %d", h.abi, need)}
			}
		}
		return
	}
	why := "ask for the Landlock version: " + err.Error()
	for _, l := range []report.Layer{report.LandlockFS, report.LandlockNet, report.LandlockScope} {
		h.lacks[l] = lack{"landlock", order.ErrnoName(err), why}
	}
}

// landlockABI asks the kernel which Landlock it has. The error tells no system
// call (ENOSYS), not in the kernel's lsm= list (EOPNOTSUPP) and denied by a
// filter outside (EPERM) apart.
func landlockABI() (int64, error) {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return min(int64(v), order.NewestABI), nil
}

func (h *Host) probeUID(dir string) {
	if os.Geteuid() != 0 {
		h.lacks[report.UID] = lack{"credentials", "EPERM", "the server runs as an ordinary user, whose uid the run shares"}
		return
	}
	var err error
	if h.uid, err = takeUID(dir); err != nil { // a read-only /run; the directory is checked to be root's alone
		h.uid, err = takeUID(filepath.Join(h.tmpRoot, ".skill-mcp-uid"))
	}
	if err != nil {
		h.lacks[report.UID] = lack{"credentials", order.ErrnoName(err), err.Error()}
	}
}

func (h *Host) probeGroups() {
	h.groups = findGroups(h.name + "-0")
	miss := func(l report.Layer) {
		err := h.groups.reason
		if err == nil {
			err = unix.ENOENT
		}
		h.lacks[l] = lack{"prepare", order.ErrnoName(err), "no group can be made: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	for _, r := range limitRows(policy.Defaults(), 0) {
		if !h.groups.limits && h.groups.v1[r.controller] == "" {
			miss(r.layer)
		}
	}
	if h.groups.v2 == "" {
		miss(report.CgroupKill)
	}
}

// probeChild starts throw-away children until one comes through every step.
func (h *Host) probeChild(p policy.Policy) {
	s := Spec{Policy: p, Limits: policy.Defaults(), Network: policy.NetNone, SkillPath: "/usr", Timeout: time.Minute}
	s.Policy.Read, s.Policy.Write = nil, nil
	var err error
	if s.SkillDir, err = os.OpenFile(s.SkillPath, unix.O_PATH, 0); err != nil {
		h.broken = errors.Join(h.broken, err)
		return
	}
	defer s.SkillDir.Close()
	for i := range s.Policy.Layers { // what the policy requires is decided later
		if s.Policy.Layers[i].Want == report.Require {
			s.Policy.Layers = append([]policy.Layer{}, s.Policy.Layers...)
			s.Policy.Layers[i].Want = report.Prefer
		}
	}
	for {
		r, err := h.attempt(s, h.lacks, true)
		if err == nil {
			h.probed = r.proofs
			r.Kill(time.Second)
			r.Close()
			return
		}
		var se *SetupError
		if !errors.As(err, &se) || !giveUp(se, s.Policy, h.lacks) {
			h.broken = errors.Join(h.broken, err)
			return
		}
	}
}

// giveUp notes that the layer of a failed step is missing, and says whether
// the child may be tried again without it.
func giveUp(e *SetupError, p policy.Policy, lacks map[report.Layer]lack) bool {
	layers := []report.Layer{e.Layer}
	switch {
	case e.Stage == "clone" && e.Errno == "ENOSYS": // clone3, which places a child in a v2 group
		layers = []report.Layer{report.CgroupKill}
	case e.Stage == "clone" || e.Stage == "user_map":
		layers = nil
		for _, n := range nsFlags {
			layers = append(layers, n.layer)
		}
	case (e.Stage == "rules" || e.Stage == "landlock") && e.Layer == "": // both make the one rule set
		layers = []report.Layer{report.LandlockFS, report.LandlockNet, report.LandlockScope}
	case e.Layer == "":
		return false
	}
	progress := false
	for _, l := range layers {
		if p.Want(l) == report.Require {
			e.Layer = l
			return false
		}
		if _, had := lacks[l]; !had && p.Want(l) == report.Prefer {
			lacks[l] = lack{e.Stage, e.Errno, e.Stage + ": " + e.Text}
			progress = true
		}
	}
	return progress
}

// wanted reports whether the policy and the network mode ask for a layer.
func (h *Host) wanted(l report.Layer, s Spec) bool {
	return s.Policy.Want(l) != report.Off && byMode(l, s.Network) == ""
}

// byMode is why a layer has no place in a network mode, "" when it has.
func byMode(l report.Layer, n policy.Network) string {
	switch {
	case l == report.NSNet && n == policy.NetOpen, l == report.LandlockNet && n == policy.NetOpen:
		return "mode open is the host's network"
	case l == report.NSNet && n == policy.NetProxy:
		return "mode proxy reaches the proxy over the host's network, by port"
	}
	return ""
}

// Report gives the fence of the server as a whole, as the probe proved it.
func (h *Host) Report(p policy.Policy, n policy.Network) report.Fence {
	return h.rows(p, n, h.lacks, h.probed, nil)
}

// metadataOpen is what Landlock does not know of and read-only mounts would
// refuse. The files still cannot be opened, and the policy strict denies the
// calls where nothing else does.
const metadataOpen = "mode, owner and times of the server user's files outside can be changed: there is no mount namespace"

// memoryWatched stands before the reason why no group bounds a run's memory.
const memoryWatched = "the helper looks ten times a second and ends a run that is past the limit: "

// holds reports whether a layer was proved.
func holds(proofs []order.Proof, l report.Layer) bool {
	return slices.ContainsFunc(proofs, func(f order.Proof) bool { return f.Layer == string(l) && f.Got == string(report.Enforced) })
}

// rows puts proofs and lacks into report order.
func (h *Host) rows(p policy.Policy, n policy.Network, lacks map[report.Layer]lack, proofs []order.Proof, levels map[report.Layer]string) report.Fence {
	out := report.Fence{Policy: p.Name, Network: string(n)}
	for _, l := range report.Layers() {
		row := report.Row{Layer: l, Want: p.Want(l), Got: report.Absent, Reason: "not proved"}
		if h.broken != nil {
			row.Reason = h.broken.Error()
		}
		for _, f := range proofs {
			if f.Layer == string(l) {
				row.Got, row.Level, row.Reason = report.Got(f.Got), f.Level, f.Reason
			}
			if l == report.UID {
				row.Level = "" // its number differs from start to start, and an approval is bound to the report
			}
		}
		if levels[l] != "" && row.Got == report.Enforced {
			row.Level = levels[l]
		}
		if l == report.LandlockFS && row.Got == report.Enforced && p.Name != "strict" && !holds(proofs, report.NSMount) {
			row.Reason = metadataOpen
		}
		if k, missing := lacks[l]; missing {
			row.Got, row.Level, row.Reason, row.Remedy = report.Absent, "", k.reason, remedy(l, k)
			if l == report.CgroupMemory {
				row.Got, row.Reason = report.Partial, memoryWatched+k.reason
			}
		}
		switch {
		case row.Want == report.Off:
			row = report.Row{Layer: l, Want: row.Want, Got: report.NotAsked}
		case l == report.Environ || l == report.Deadline || l == report.Capture: // the monitor's own work, which it reports itself
			row = report.Row{Layer: l, Want: row.Want, Got: report.Enforced}
		case byMode(l, n) != "":
			row.Got, row.Reason, row.Remedy, row.Level = report.NotAsked, byMode(l, n), "", ""
		}
		out.Layers = append(out.Layers, row)
	}
	return out
}

// Spare keeps a child of this process that belongs to no run from being ended
// with one, where runs can only be told by their parent.
func (h *Host) Spare(pid int) {
	for old := range h.spared { // its number may be a script's some day
		if errors.Is(unix.Kill(old, 0), unix.ESRCH) {
			delete(h.spared, old)
		}
	}
	h.spared[pid] = true
}

// Close ends the child that waits and gives up the uid, the starting thread and
// every descriptor.
func (h *Host) Close() error {
	h.closed = true
	h.dismiss()
	close(h.work)
	for _, m := range h.maps {
		m.file.Close()
	}
	for _, f := range h.groups.homes {
		f.Close()
	}
	if h.uid != nil {
		h.uid.lock.Close()
	}
	if h.mounts != nil {
		h.mounts.Close()
	}
	return h.null.Close()
}
