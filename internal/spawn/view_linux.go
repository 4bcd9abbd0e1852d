package spawn

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/tun"
)

// Places in the view that are the fence's own.
const (
	markPath = "/.fence"      // readable by mode, allowed by no rule: for the canary
	homePath = "/tmp/.home"   // the run's HOME
	confDir  = "/tmp/.run"    // the run's private directory
	spentDir = ".mcp-confirm" // in the data folder: the front's spent approvals
)

// builder collects what a run may see, from which both the mount view and the
// Landlock rules are made, so that the two cannot differ.
type builder struct {
	conf  string // path of the run's configuration file
	ops   map[string]order.ViewOp
	links map[string]string // path -> where it leads, "" = no link
	dirs  map[string]bool   // path -> it is a directory, as far as asked
	rules []order.Rule
	// theirs are the folders that runs may write: no link in one is followed.
	theirs map[file]bool
}

// alwaysRead is readable by every run besides what policy and program name.
// OpenSSL ends node with exit 13 when its configuration is there and denied.
var alwaysRead = [...]string{"/etc/ld.so.cache", "/etc/ssl", "/etc/localtime"}

// devices of the view; a terminal is not among them.
var devices = [...]string{"null", "zero", "full", "random", "urandom"}

// grants fills in what a run may see and open: o.View, o.Rules and o.Marks.
func (h *Host) grants(s Spec, o *order.Order, r *Run, conf string) {
	b := r.base
	if b == nil || !sameBase(s, r.bornFor) {
		b = h.base(s, o, r)
	}
	b.conf = conf
	writes := b.writable(s)
	for _, at := range s.Read {
		b.reach(at, order.ViewOp{Kind: "tree"}, order.AccessExec)
	}
	b.reach(s.SkillPath, order.ViewOp{Kind: "tree", N: 1 + order.SkillFile, Map: h.mapFD(o, s.SkillPath)}, order.AccessExec)
	for _, w := range writes {
		b.reach(w.Path, order.ViewOp{Kind: "write", Map: h.mapFD(o, w.Path)}, order.AccessWrite)
	}
	if s.DataDir != "" && o.Has(report.NSMount) {
		b.hide(path.Join(s.DataDir, spentDir))
	}
	if s.Config != nil && o.Has(report.NSMount) {
		b.ops[confDir] = order.ViewOp{Kind: "own", Path: confDir}
		b.ops[b.conf] = order.ViewOp{Kind: "ownfile", Path: b.conf, Arg: string(s.Config), N: 0o600}
	}
	o.Rules = b.rules
	o.Marks = [2]string{b.hidden("/sys/kernel", "/var/lib", "/root", "/home", "/usr/sbin"), markPath}
	if o.Has(report.NSMount) {
		o.View = b.view()
	} else {
		o.Marks[1] = b.hidden("/etc/passwd", "/etc/group", "/proc/version", "/usr/bin/env")
	}
}

// base is what every run of an interpreter in a network mode has by one policy,
// whatever the skill: a child that waits has it in place already.
func (h *Host) base(s Spec, o *order.Order, r *Run) *builder {
	b := &builder{ops: map[string]order.ViewOp{}, links: map[string]string{}, dirs: map[string]bool{}, theirs: map[file]bool{}}
	b.writable(s)
	if o.Has(report.NSMount) {
		b.skeleton(s, o)
	} else {
		b.rules = append(b.rules, order.Rule{Path: r.dir, Access: order.AccessWrite}, order.Rule{Path: "/proc/self", Access: order.AccessRead}, order.Rule{Path: "/proc/meminfo", Access: order.AccessRead}, order.Rule{Path: "/proc/cpuinfo", Access: order.AccessRead}, order.Rule{Path: "/proc/stat", Access: order.AccessRead})
	}
	if at := r.group.memory(); at != "" {
		// From its own limit V8 sizes its heap. The flag for it would cost node 20
		// its code cache, 2.6 ms of every start.
		b.reach(at, order.ViewOp{Kind: "tree"}, order.AccessRead)
	}
	for _, d := range devices {
		b.add(order.ViewOp{Kind: "dev", Path: "/dev/" + d, Arg: "/dev/" + d}, order.AccessDev)
	}
	reads := append(alwaysRead[:], s.Exec.Read...)
	for _, p := range s.Policy.Read {
		reads = append(reads, p.Path)
	}
	if s.Network == policy.NetOpen || s.Network == policy.NetProxy {
		reads = append(reads, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
	}
	for _, at := range reads {
		b.reach(at, order.ViewOp{Kind: "tree"}, order.AccessExec)
	}
	if s.Exec.Path != "" {
		b.reach(s.Exec.Path, order.ViewOp{Kind: "tree"}, order.AccessExec)
	}
	return b
}

// sameBase reports whether both have the same base: takeStandby compares the
// rest.
func sameBase(a, b Spec) bool {
	return a.Exec.Path == b.Exec.Path && slices.Equal(a.Exec.Read, b.Exec.Read) && slices.Equal(a.Policy.Read, b.Policy.Read) && a.DataDir == b.DataDir
}

// skeleton is the part of the view that is not the host's.
func (b *builder) skeleton(s Spec, o *order.Order) {
	line := fmt.Sprintf("run:x:%d:%d:run:%s:/usr/sbin/nologin\n", o.UID, o.GID, homePath)
	files := map[string]string{
		"/etc/passwd": line, "/etc/group": fmt.Sprintf("run:x:%d:\n", o.GID), markPath: "the canary\n",
	}
	if s.Network == policy.NetNone || s.Network == policy.NetDeclared {
		files["/etc/hosts"] = "127.0.0.1 localhost\n::1 localhost\n"
		files["/etc/nsswitch.conf"] = "passwd: files\ngroup: files\nhosts: files dns\n"
	}
	if s.Network == policy.NetDeclared {
		files["/etc/resolv.conf"] = tun.ResolvConf
	}
	for at, text := range files {
		access := int64(order.AccessRead)
		if at == markPath {
			access = 0
		}
		b.add(order.ViewOp{Kind: "file", Path: at, Arg: text, N: 0o444}, access)
	}
	for at, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		b.ops["/dev/"+at] = order.ViewOp{Kind: "link", Path: "/dev/" + at, Arg: to}
	}
	b.add(order.ViewOp{Kind: "proc", Path: "/proc"}, order.AccessRead)
	b.add(order.ViewOp{Kind: "tmpfs", Path: "/tmp", Arg: fmt.Sprint(o.TmpBytes), N: o.TmpInodes}, order.AccessWrite)
	b.add(order.ViewOp{Kind: "tmpfs", Path: "/dev/shm", Arg: fmt.Sprint(s.Limits.ShmBytes), N: 1024}, order.AccessWrite)
	b.ops[homePath] = order.ViewOp{Kind: "own", Path: homePath}
}

// add puts one row in place, and the rule that opens it; access 0 is no rule.
func (b *builder) add(v order.ViewOp, access int64) {
	b.ops[v.Path] = v
	if access != 0 {
		b.rules = append(b.rules, order.Rule{Path: v.Path, Access: access})
	}
}

// hide puts an empty page over a directory in a folder that a run may write: a
// script that could take spent approvals away could have them used again.
func (b *builder) hide(at string) {
	at, err := filepath.EvalSymlinks(at)
	if info, e := os.Stat(at); err == nil && e == nil && info.IsDir() && b.covered(at) {
		b.ops[at] = order.ViewOp{Kind: "tmpfs", Path: at, Arg: "4096", N: 1}
	}
}

// reach shows a path as it is reached on the host: each link on the way, and
// what they lead to. A path that is not there is not shown, nor is one that a
// run may have led elsewhere.
func (b *builder) reach(at string, v order.ViewOp, access int64) {
	at = path.Clean(at)
	for links := 0; links < 40; links++ {
		link, target := b.firstLink(at)
		if link == "" {
			break
		}
		if b.swapped(link) {
			return
		}
		if !b.covered(link) {
			b.ops[link] = order.ViewOp{Kind: "link", Path: link, Arg: target}
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(link), target)
		}
		at = path.Join(target, strings.TrimPrefix(at, link))
	}
	var st unix.Stat_t
	if unix.Lstat(at, &st) != nil || at == "/proc" || strings.HasPrefix(at, "/proc/") {
		return
	}
	if at == "/" { // every tree of the host but the ones the view has its own of
		entries, _ := os.ReadDir("/")
		for _, e := range entries {
			if n := e.Name(); n != "proc" && n != "dev" && n != "tmp" {
				b.reach("/"+n, v, access)
			}
		}
		return
	}
	v.Path, v.Arg = at, at
	if had, ok := b.ops[at]; ok && had.Kind == v.Kind && had.N > v.N {
		v = had // keep the row that names a descriptor
	}
	b.add(v, access)
}

// firstLink is the first component of an absolute path that is a link.
func (b *builder) firstLink(at string) (link, target string) {
	for i := 1; i <= len(at); i++ {
		if i < len(at) && at[i] != '/' {
			continue
		}
		to, known := b.links[at[:i]]
		if !known { // paths share their beginnings: each is asked for once
			to, _ = os.Readlink(at[:i])
			b.links[at[:i]] = to
		}
		if to != "" {
			return at[:i], to
		}
	}
	return "", ""
}

// covered reports whether a tree of the host is shown at or above at.
func (b *builder) covered(at string) bool {
	for ; at != "/" && at != "."; at = path.Dir(at) {
		if k := b.ops[at].Kind; k == "tree" || k == "write" {
			return true
		}
	}
	return false
}

// behindLink reports whether the view has a link at or above at.
func (b *builder) behindLink(at string) bool {
	for ; at != "/" && at != "."; at = path.Dir(at) {
		if b.ops[at].Kind == "link" {
			return true
		}
	}
	return false
}

// hidden is the first path that exists on the host and is not in the view.
func (b *builder) hidden(candidates ...string) string {
	for _, c := range candidates {
		if _, seen := b.ops[c]; !seen && exists(c) && !b.covered(c) {
			return c
		}
	}
	return ""
}

func exists(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil
}

// view gives the rows in the order in which they are made: parents first, the
// directories and files that mounts stand on before them, and nothing twice.
func (b *builder) view() []order.ViewOp {
	paths := make([]string, 0, len(b.ops))
	for p := range b.ops {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	made := map[string]bool{"/": true}
	out := []order.ViewOp{}
	for _, p := range paths {
		v := b.ops[p]
		if b.behindLink(path.Dir(p)) {
			continue // making it would follow the link, out of the unfinished view
		}
		inside := b.covered(path.Dir(p))
		if inside && (v.Kind == "link" || (v.Kind == "tree" && v.N == 0)) {
			continue // the tree above shows it already
		}
		if !inside {
			out = append(out, parents(path.Dir(p), made)...)
			out = append(out, b.place(v)...)
		}
		made[p] = true
		out = append(out, v)
	}
	return out
}

// parents are the directories above a row that nothing made yet.
func parents(dir string, made map[string]bool) []order.ViewOp {
	if made[dir] {
		return nil
	}
	made[dir] = true
	return append(parents(path.Dir(dir), made), order.ViewOp{Kind: "dir", Path: dir, N: 0o755})
}

// place is what a mount stands on.
func (b *builder) place(v order.ViewOp) []order.ViewOp {
	switch v.Kind {
	case "proc", "tmpfs":
		return []order.ViewOp{{Kind: "dir", Path: v.Path, N: 0o755}}
	case "tree", "write", "dev":
		dir, known := b.dirs[v.Arg]
		if !known {
			var st unix.Stat_t
			dir = unix.Lstat(v.Arg, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
			b.dirs[v.Arg] = dir
		}
		if dir {
			return []order.ViewOp{{Kind: "dir", Path: v.Path, N: 0o755}}
		}
		return []order.ViewOp{{Kind: "file", Path: v.Path, N: 0o444}}
	}
	return nil
}
