package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// Step: prepare
// Prevents: failing half-way: what can fail cheaply fails before a process is.
// Needs: write access to a control group for those layers.
// Order: first, in the monitor.
// On failure: the layer is given up or the run refused. Test: TestStep/prepare
func (h *Host) prepare(r *Run, probe bool) error {
	s := r.spec
	h.runs++
	r.name = h.name + "-" + strconv.Itoa(h.runs)
	o := &order.Order{ProbeOnly: probe, UID: int64(os.Geteuid()), GID: int64(os.Getegid()), Monitor: int64(os.Getpid())}
	r.order = o
	for _, l := range report.Layers() {
		if _, lacking := r.lacks[l]; !lacking && h.wanted(l, s) {
			o.Layers |= order.Bit(l)
		}
	}
	r.inside = o.Has(report.NSPid)
	o.MapUser = os.Geteuid() != 0 && (flags(o) != 0 || r.inside)
	if o.Has(report.UID) {
		o.UID, o.GID = int64(h.uid.uid), int64(h.uid.uid)
	}
	o.Tun = s.Network == policy.NetDeclared && o.Has(report.NSNet)
	room := int64(0)
	if r.inside {
		room = initTasks
	}
	for _, n := range nsFlags {
		if o.Has(n.layer) && n.flags != 0 {
			o.Namespaces = append(o.Namespaces, h.namespaces[n.kind])
		}
	}
	var err error
	if r.group, err = h.groups.make(r.name, s.Limits, room, o.Has); err != nil {
		return setupError("prepare", "", err)
	}
	o.Cgroups = append(r.group.lines, " /"+r.name)
	o.TmpBytes, o.TmpInodes = s.Limits.TmpBytes, s.Limits.TmpInodes
	o.NetAny, o.ABI = o.Tun, h.abi
	if !o.Has(report.LandlockFS) && !o.Has(report.LandlockNet) && !o.Has(report.LandlockScope) {
		o.ABI = 0
	}
	if r.waited && o.Has(report.NSMount) {
		r.base, r.bornFor = h.base(s, o, r), s
		o.View, o.Rules = r.base.view(), slices.Clone(r.base.rules)
	}
	return nil
}

// complete adds what depends on the program to the order of a child that was
// born, and lists the descriptors that go with it: the two outputs, the
// skill's directory, and the maps of owners.
func (h *Host) complete(r *Run, s Spec) ([]int, error) {
	r.spec = s
	o := r.order
	o.Cwd, o.Exec = s.SkillPath, s.Exec.Path
	early, allowed := o.View, o.Rules
	if s.ProxyPort != 0 {
		o.Ports = []int64{int64(s.ProxyPort)}
	}
	o.Rlimits = limitTable(s.Limits, s.Timeout, o.Has(report.UID))
	var err error
	if o.Filter, err = h.filter(enforceable(s.Network, o), s.Policy.Name == "strict" && !o.Has(report.NSMount), o.Has(report.NSIpc)); err != nil {
		return nil, setupError("prepare", report.Seccomp, err)
	}
	files, err := h.files(r, o)
	for _, v := range early {
		if err == nil && !slices.Contains(o.View, v) {
			return nil, errOtherView
		}
	}
	for _, rule := range allowed {
		if err == nil && !slices.Contains(o.Rules, rule) {
			return nil, errOtherView
		}
	}
	return files, err
}

// errOtherView is the refusal of a child whose view has already something in
// it that this run does not get.
var errOtherView = errors.New("the waiting child has another view")

// enforceable is the mode whose sockets a run may have: a mode that lets some
// connections through is no wider than what is there to hold it. Without the
// way out of declared only TCP is left, by port; without Landlock's ports
// nothing tells one connection from another, so there is none.
func enforceable(n policy.Network, o *order.Order) policy.Network {
	if n == policy.NetDeclared && !o.Tun {
		n = policy.NetProxy
	}
	if n == policy.NetProxy && (o.ABI < 4 || !o.Has(report.LandlockNet)) {
		return policy.NetNone
	}
	return n
}

// filter compiles a program once: the number table costs 0.2 ms to read.
func (h *Host) filter(n policy.Network, strictFiles, ownIPC bool) ([]byte, error) {
	key := string(n) + strconv.FormatBool(strictFiles) + strconv.FormatBool(ownIPC)
	if f, ok := h.filters[key]; ok {
		return f, nil
	}
	f, err := filter(n, strictFiles, ownIPC)
	h.filters[key] = f
	return f, err
}

// files makes the run's directory, environment and arguments.
func (h *Host) files(r *Run, o *order.Order) ([]int, error) {
	s := r.spec
	tmp, home, conf := "/tmp", homePath, confDir+"/mcporter-"+token()+".json"
	if !o.Has(report.NSMount) {
		r.dir = filepath.Join(h.tmpRoot, r.name)
		tmp, home, conf = r.dir+"/tmp", r.dir+"/home", r.dir+"/run/"+filepath.Base(conf)
		if err := makeDirs(r.dir, conf, s.Config, int(o.UID), int(o.GID)); err != nil {
			return nil, setupError("prepare", report.PrivateTmp, err)
		}
	}
	h.grants(s, o, r, conf)
	o.Env = environment(s, o, tmp, home, conf)
	r.names = names(o.Env)
	o.Argv = append([]string{s.Exec.Path}, s.Exec.Args...)
	if s.Exec.Name == "node" && (!o.Has(report.NSMount) || r.group.memory() == "") {
		o.Argv = append(o.Argv, "--max-old-space-size="+strconv.FormatInt(s.Limits.MemoryBytes>>20*s.Limits.HeapPercent/100, 10))
	}
	o.Argv = append(append(o.Argv, s.ScriptPath), s.Args...)
	files := []int{fdOf(s.Stdout, h.null), fdOf(s.Stderr, h.null), int(s.SkillDir.Fd())}
	if s.Exec.File != nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(s.Exec.File.Fd()), &st); err != nil {
			return nil, setupError("prepare", "", err)
		}
		o.ExecDev, o.ExecIno = int64(st.Dev), int64(st.Ino)
	}
	for _, m := range h.maps {
		files = append(files, int(m.file.Fd()))
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
func environment(s Spec, o *order.Order, tmp, home, conf string) []string {
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
func readable(o *order.Order, path string) bool {
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
