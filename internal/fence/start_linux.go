package fence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// initTasks is the room above the run's own process limit for the init of its
// process namespace and, at the start, the child with its threads.
const initTasks = 8

// startTime bounds the steps: they take 3 ms, and a child that hangs in them
// is a failure of the set-up, not of the script.
const startTime = 10 * time.Second

// nsFlags are the namespaces by the layer that asks for them.
var nsFlags = []struct {
	layer report.Layer
	kind  string
	flags uintptr
}{
	{report.NSPid, "pid", 0}, // made by the child, for its forks
	{report.NSMount, "mnt", unix.CLONE_NEWNS},
	{report.NSIpc, "ipc", unix.CLONE_NEWIPC | unix.CLONE_NEWUTS},
	{report.NSNet, "net", unix.CLONE_NEWNET},
}

// ambient are the capabilities a child keeps over its execve in a user
// namespace of its own: to mount, to make its network, to empty its sets.
var ambient = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_SETPCAP}

// Start fences one child in and starts its program. A step of a layer that the
// policy only prefers and that fails is left out, and the report of the run
// says so; any other failure is a *SetupError and nothing was run.
//
// Precondition: one run at a time; the one before was closed.
func (h *Host) Start(s Spec) (*Run, error) {
	lacks := map[report.Layer]lack{}
	for l, k := range h.lacks {
		if s.Policy.Want(l) == report.Require && h.wanted(l, s) {
			return nil, &SetupError{Stage: "probe", Layer: l, Errno: k.errno, Text: k.reason}
		}
		lacks[l] = k
	}
	for {
		r, err := h.attempt(s, lacks, false)
		var se *SetupError
		if err == nil || !errors.As(err, &se) || !giveUp(se, s.Policy, lacks) {
			return r, err
		}
	}
}

// attempt is one try to start a child without the layers in lacks.
func (h *Host) attempt(s Spec, lacks map[report.Layer]lack, probe bool) (_ *Run, err error) {
	r := &Run{host: h, spec: s, lacks: lacks, tmp: -1, sock: -1, pidfd: -1, childfd: -1, done: make(chan struct{})}
	defer func() {
		if err != nil {
			r.Kill(time.Second)
			r.Close()
		}
	}()
	o, files, err := h.prepare(r, probe)
	if err != nil {
		return nil, err
	}
	if err := h.spawn(r, o, files); err != nil {
		return nil, err
	}
	if err := r.await(probe); err != nil {
		return nil, err
	}
	return r, nil
}

// Step: prepare
// Prevents: failing half-way: what can fail cheaply fails before a process is.
// Needs: write access to a control group for those layers.
// Order: first, in the monitor.
// On failure: the layer is given up or the run refused. Test: TestStep/prepare
func (h *Host) prepare(r *Run, probe bool) (*order, []uintptr, error) {
	s := r.spec
	h.runs++
	name := h.name + "-" + strconv.Itoa(h.runs)
	o := &order{
		ProbeOnly: probe, UID: int64(os.Geteuid()), GID: int64(os.Getegid()), Monitor: int64(os.Getpid()),
		Cwd: s.SkillPath, TmpBytes: s.Limits.TmpBytes, TmpInodes: s.Limits.TmpInodes, Exec: s.Exec.Path,
	}
	for _, l := range report.Layers() {
		if _, lacking := r.lacks[l]; !lacking && h.wanted(l, s) {
			o.Layers |= bit(l)
		}
	}
	o.MapUser = os.Geteuid() != 0 && (r.flags(o) != 0 || o.has(report.NSPid))
	if o.has(report.UID) {
		o.UID, o.GID = int64(h.uid.uid), int64(h.uid.uid)
	}
	o.ABI = h.abi
	if !o.has(report.LandlockFS) && !o.has(report.LandlockNet) && !o.has(report.LandlockScope) {
		o.ABI = 0
	}
	o.Tun = s.Network == policy.NetDeclared && o.has(report.NSNet)
	o.NetAny = o.Tun
	if s.ProxyPort != 0 {
		o.Ports = []int64{int64(s.ProxyPort)}
	}
	o.Rlimits = limitTable(s.Limits, s.Timeout, o.has(report.UID))
	for _, n := range nsFlags {
		if o.has(n.layer) && n.flags != 0 {
			o.Namespaces = append(o.Namespaces, h.namespaces[n.kind])
		}
	}
	var err error
	room := int64(0)
	if o.has(report.NSPid) {
		room = initTasks
	}
	if r.group, err = h.groups.make(name, s.Limits, room, o.has); err != nil {
		return nil, nil, setupError("prepare", "", err)
	}
	o.Cgroups = append(r.group.lines, " /"+name)
	if o.Filter, err = filter(s.Network, s.Policy.Name == "strict" && !o.has(report.NSMount)); err != nil {
		return nil, nil, setupError("prepare", report.Seccomp, err)
	}
	files, err := h.files(r, o, name)
	return o, files, err
}

// files makes the run's directory, environment and arguments, and lists the
// descriptors of the child from skillFD on.
func (h *Host) files(r *Run, o *order, name string) ([]uintptr, error) {
	s := r.spec
	tmp, home, conf := "/tmp", homePath, confDir+"/mcporter-"+token()+".json"
	if !o.has(report.NSMount) {
		r.dir = filepath.Join(h.tmpRoot, name)
		tmp, home, conf = r.dir+"/tmp", r.dir+"/home", r.dir+"/run/"+filepath.Base(conf)
		if err := makeDirs(r.dir, conf, s.Config, int(o.UID), int(o.GID)); err != nil {
			return nil, setupError("prepare", report.PrivateTmp, err)
		}
	}
	h.grants(s, o, r, conf)
	o.Env = environment(s, o, tmp, home, conf)
	r.names = names(o.Env)
	o.Argv = append([]string{s.Exec.Path}, s.Exec.Args...)
	if s.Exec.Name == "node" && (!o.has(report.NSMount) || r.group.memory() == "") {
		o.Argv = append(o.Argv, "--max-old-space-size="+strconv.FormatInt(s.Limits.MemoryBytes>>20*s.Limits.HeapPercent/100, 10))
	}
	o.Argv = append(append(o.Argv, s.ScriptPath), s.Args...)
	files := []uintptr{s.SkillDir.Fd()}
	if s.Exec.File != nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(s.Exec.File.Fd()), &st); err != nil {
			return nil, setupError("prepare", "", err)
		}
		o.ExecDev, o.ExecIno = int64(st.Dev), int64(st.Ino)
	}
	for _, m := range h.maps {
		files = append(files, m.file.Fd())
	}
	return files, nil
}

// makeDirs makes the run's own directory where there is no mount view.
func makeDirs(dir, conf string, config []byte, uid, gid int) error {
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	for _, d := range []string{"tmp", "home", "run"} {
		at := filepath.Join(dir, d)
		if err := errors.Join(os.Mkdir(at, 0o700), os.Lchown(at, uid, gid)); err != nil {
			return err
		}
	}
	if config == nil {
		return nil
	}
	return errors.Join(os.WriteFile(conf, config, 0o600), os.Lchown(conf, uid, gid))
}

// environment is the exact environment of the script: what the monitor chose,
// with the places that are the run's own put in. TMPDIR is always one of them,
// HOME where the run could not read the server's.
func environment(s Spec, o *order, tmp, home, conf string) []string {
	own := map[string]string{"TMPDIR": tmp}
	if s.Config != nil {
		own["MCPORTER_CONFIG"] = conf
	}
	out := make([]string, 0, len(s.Env)+2)
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		if at, ok := own[name]; ok {
			v = name + "=" + at
			delete(own, name)
		}
		// What lies below the run's own /tmp is not the server's directory there.
		if name == "HOME" && (strings.HasPrefix(value+"/", tmp+"/") || !readable(o, value)) {
			v = "HOME=" + home
		}
		out = append(out, v)
	}
	for name, at := range own {
		out = append(out, name+"="+at)
	}
	return out
}

// readable reports whether a rule allows the directory at path.
func readable(o *order, path string) bool {
	for _, r := range o.Rules {
		if path == r.Path || strings.HasPrefix(path, strings.TrimSuffix(r.Path, "/")+"/") {
			return filepath.IsAbs(path) && r.Access&unix.LANDLOCK_ACCESS_FS_READ_DIR != 0
		}
	}
	return false
}

// names gives the sorted names of NAME=value pairs, each once.
func names(env []string) []string {
	out := []string{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// token is a name nobody can guess.
func token() string {
	var b [8]byte
	unix.Getrandom(b[:], 0) // never short and never fails for 8 bytes
	return fmt.Sprintf("%x", b)
}

// flags are the namespaces a run gets.
func (r *Run) flags(o *order) (f uintptr) {
	for _, n := range nsFlags {
		if o.has(n.layer) {
			f |= n.flags
		}
	}
	return f
}

// Step: clone
// Prevents: an instruction of the run outside its namespaces and groups.
// Needs: root, or user namespaces; Linux 5.7 for the v2 group at birth.
// Order: after prepare; the thread stands in the v1 groups only meanwhile.
// On failure: the namespaces are given up or the run refused. Test: TestStep/clone
func (h *Host) spawn(r *Run, o *order, extra []uintptr) error {
	mem, err := unix.MemfdCreate("order", unix.MFD_CLOEXEC)
	if err != nil {
		return setupError("clone", "", err)
	}
	defer unix.Close(mem)
	if _, err := unix.Pwrite(mem, o.encode(), 0); err != nil {
		return setupError("clone", "", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return setupError("clone", "", err)
	}
	defer unix.Close(pair[1])
	r.sock, r.inside = pair[0], o.has(report.NSPid)
	limit := unix.NsecToTimeval(startTime.Nanoseconds())
	err = errors.Join(unix.SetsockoptInt(r.sock, unix.SOL_SOCKET, unix.SO_PASSCRED, 1),
		unix.SetsockoptTimeval(r.sock, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
	if err != nil {
		return setupError("clone", "", err)
	}
	sys := &syscall.SysProcAttr{Cloneflags: r.flags(o), PidFD: &r.childfd}
	if o.MapUser {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.AmbientCaps = ambient
	}
	if r.group.v2fd != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(r.group.v2fd.Fd())
	}
	attr := &syscall.ProcAttr{
		Env: h.childEnv, Sys: sys,
		Files: append([]uintptr{h.null.Fd(), s(r.spec.Stdout, h.null), s(r.spec.Stderr, h.null), uintptr(pair[1]), uintptr(mem)}, extra...),
	}
	err = h.onThread(func() error {
		enterErr := r.group.enter()
		var forkErr error
		if enterErr == nil {
			r.child, forkErr = syscall.ForkExec(h.exe, []string{"skill-exec", "child"}, attr)
		}
		if err := r.group.leave(); err != nil {
			h.broken = err // the thread would take the monitor into a run's group
		}
		return errors.Join(enterErr, forkErr, h.broken)
	})
	if err != nil {
		return setupError("clone", "", err)
	}
	return nil
}

// s is the descriptor of f, or of another file when there is none.
func s(f, otherwise *os.File) uintptr {
	if f == nil {
		f = otherwise
	}
	return f.Fd()
}

// setupError gives an error of the monitor's own steps its stage and layer.
func setupError(stage string, l report.Layer, err error) *SetupError {
	return &SetupError{Stage: stage, Layer: layerOf(err, l), Errno: errnoName(err), Text: err.Error()}
}

// await takes the child's records until it runs or says why not.
func (r *Run) await(probe bool) error {
	for {
		kind, body, err := r.receive()
		switch {
		case err != nil:
			return setupError("start", "", fmt.Errorf("wait for the child: %w", err))
		case kind == recordFailed:
			f, c := failure{}, &coder{b: body, decode: true}
			f.walk(c)
			return &SetupError{Stage: f.Stage, Layer: report.Layer(f.Layer), Errno: f.Errno, Text: f.Text}
		case kind == recordReport:
			c := &coder{b: body, decode: true}
			walkProofs(c, &r.proofs)
			if probe && !r.inside {
				return nil
			}
		case kind == recordUnproved:
			return setupError("execve", report.NSPid, errors.New("canary: see the monitor was not refused"))
		case kind == recordExec && len(body) == 2:
			errno := unix.Errno(int(body[0])<<8 | int(body[1]))
			return setupError("execve", "", fmt.Errorf("start %s: %w", r.spec.Exec.Path, errno))
		case kind == 0 && r.pid != 0: // the socket closed with the execve
			if r.inside {
				reap(r.child, nil) // it ended with its last fork
				r.child = 0
			}
			r.watched = true
			go r.watch()
			return nil
		case kind == 0:
			return setupError("start", "", fmt.Errorf("the child ended without a word: %w", unix.ECHILD))
		}
	}
}

// receive reads one record, and takes what comes with it: the sender's pid,
// the run's /tmp, its way out. Kind 0 is the end.
func (r *Run) receive() (kind byte, body []byte, err error) {
	buf, oob := make([]byte, 64<<10), make([]byte, 256)
	var n, on int
	for {
		n, on, _, _, err = unix.Recvmsg(r.sock, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil || n == 0 {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return 0, nil, err
	}
	for i := range messages {
		if cred, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			r.sender(buf[0], int(cred.Pid))
		}
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			r.keep(buf[0], fd)
		}
	}
	return buf[0], buf[1:n], nil
}

// sender notes which process of the run sent a record. It is this process's
// own child and not reaped, so the pid is still its.
func (r *Run) sender(kind byte, pid int) {
	switch kind {
	case recordStarted:
		r.pid = pid
		if r.inside {
			r.pidfd, _ = unix.PidfdOpen(pid, 0)
		} else {
			r.pidfd, r.childfd = r.childfd, -1
		}
	case recordInit:
		r.init = pid
	}
}

// keep stores a descriptor by the record it came with.
func (r *Run) keep(kind byte, fd int) {
	switch {
	case kind == recordReport && r.tmp < 0:
		r.tmp = fd
	case (kind == byte(tun.KindTUN) || kind == byte(tun.KindPacket)) && r.device == nil:
		r.device = &tun.Device{FD: fd, Kind: tun.Kind(kind)}
	default:
		unix.Close(fd)
	}
}
