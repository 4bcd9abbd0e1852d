package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/cgroups/v3"
	"golang.org/x/sys/unix"

	"skill-mcp/internal/order"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// cgroupRoot is where every distribution mounts control groups.
const cgroupRoot = "/sys/fs/cgroup"

// groups is where this host lets us make groups: a place in the v2 tree for
// identity and kill, with or without controllers, and one per v1 controller.
type groups struct {
	v2     string            // directory to make leaves in, "" = none
	limits bool              // leaves of v2 have memory, pids and cpu
	v1     map[string]string // controller -> directory to make groups in
	homes  map[string]*os.File
	reason error                                    // why there is no more
	mkdir  func(dir string, mode os.FileMode) error // a test's kernel fills a new group
}

// findGroups looks where groups can be made: by the magic of both mount points
// and the places /proc/self/cgroup names. Existing files prove nothing (a
// hybrid host has a v2 tree without controllers), so a leaf is made and
// limited once, and removed.
func findGroups(name string) *groups {
	g := &groups{v1: map[string]string{}, homes: map[string]*os.File{}, mkdir: os.Mkdir}
	own, unified, err := cgroups.ParseCgroupFileUnified("/proc/self/cgroup")
	if err != nil {
		g.reason = err
		return g
	}
	switch cgroups.Mode() {
	case cgroups.Unified:
		g.findV2(cgroupRoot, unified, name)
	case cgroups.Hybrid:
		g.findV2(cgroupRoot+"/unified", unified, name)
		g.findV1(own, name)
	case cgroups.Legacy:
		g.findV1(own, name)
	default:
		g.reason = fmt.Errorf("no control groups at %s: %w", cgroupRoot, unix.ENOENT)
	}
	return g
}

// findV2 walks from the own group up to the first in which a leaf with
// controllers can be made: a delegated subtree for a plain user, whose own
// group has processes and so no controllers to give. Root stays beside itself,
// so that a service's own limit keeps binding its runs.
func (g *groups) findV2(root, own, name string) {
	kill := ""
	for dir, up := filepath.Join(root, own), 0; strings.HasPrefix(dir, root) && up < 3; dir, up = filepath.Dir(dir), up+1 {
		leaf := filepath.Join(dir, name)
		if err := g.mkdir(leaf, 0o755); err != nil {
			g.reason = err
			continue
		}
		_, err := os.Stat(leaf + "/memory.max")
		if err != nil {
			os.WriteFile(dir+"/cgroup.subtree_control", []byte("+memory +pids +cpu"), 0) // EBUSY where processes are
			_, err = os.Stat(leaf + "/memory.max")
		}
		if err == nil {
			err = set(leaf, "pids.max", "64")
		}
		joinable := unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
		os.Remove(leaf)
		if kill == "" && joinable {
			kill = dir
		}
		if err == nil && joinable {
			g.v2, g.limits, g.reason = dir, true, nil
			return
		}
		g.reason = err
	}
	g.v2 = kill
}

// findV1 takes each controller in which a group can be made and limited.
func (g *groups) findV1(own map[string]string, name string) {
	for _, c := range []string{"memory", "pids", "cpu", "cpuacct", "freezer"} {
		mount := filepath.Join(cgroupRoot, c)
		var st unix.Statfs_t
		if err := unix.Statfs(mount, &st); err != nil || st.Type != unix.CGROUP_SUPER_MAGIC {
			continue
		}
		dir := filepath.Join(mount, own[c])
		if _, err := os.Stat(dir); err != nil { // a container sees another root
			dir = mount
		}
		leaf := filepath.Join(dir, name)
		err := g.mkdir(leaf, 0o755)
		if err == nil {
			err = os.Remove(leaf)
		}
		home, openErr := os.OpenFile(filepath.Join(dir, "tasks"), os.O_WRONLY, 0)
		if err = errors.Join(err, openErr); err != nil {
			g.reason = err
			continue
		}
		g.v1[c], g.homes[c] = dir, home
	}
}

// group is the set of groups of one run.
type group struct {
	v2     string
	v2fd   *os.File
	v1     map[string]string
	limits bool
	lines  []string // what /proc/PID/cgroup must show, by layer
	levels map[report.Layer]string
	oom0   int64
	home   map[string]*os.File
}

// row is one limit: controller, layer, and the files in order. In v1 the swap
// limit must follow the memory limit, or it is refused and nothing binds.
type limitRow struct {
	controller string
	layer      report.Layer
	v1, v2     [][2]string
	level      string
}

func limitRows(l policy.Limits, initTasks int64) []limitRow {
	mem, pids := strconv.FormatInt(l.MemoryBytes, 10), strconv.FormatInt(l.Pids+initTasks, 10)
	quota := strconv.FormatInt(l.CPUPercent*1000, 10)
	return []limitRow{
		{"memory", report.CgroupMemory,
			[][2]string{{"memory.limit_in_bytes", mem}, {"memory.memsw.limit_in_bytes", mem}},
			[][2]string{{"memory.max", mem}, {"memory.swap.max", "0"}},
			strconv.FormatInt(l.MemoryBytes>>20, 10) + " MiB"},
		{"pids", report.CgroupPids, [][2]string{{"pids.max", pids}}, [][2]string{{"pids.max", pids}}, strconv.FormatInt(l.Pids, 10)},
		{"cpu", report.CgroupCPU, [][2]string{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", quota}},
			[][2]string{{"cpu.max", quota + " 100000"}}, strconv.FormatInt(l.CPUPercent, 10) + " %"},
	}
}

// make creates the groups of one run and sets its limits, each read back. A
// limit that cannot be set is the layer's error.
func (g *groups) make(name string, l policy.Limits, initTasks int64, wants func(report.Layer) bool) (_ *group, err error) {
	out := &group{v1: map[string]string{}, levels: map[report.Layer]string{}, home: g.homes}
	defer func() {
		if err != nil {
			out.remove()
		}
	}()
	if g.v2 != "" && (g.limits || wants(report.CgroupKill)) {
		if err := out.makeLeaf(g, name); err != nil {
			return nil, order.InLayer(report.CgroupKill, fmt.Errorf("make group: %w", err))
		}
	}
	for _, r := range limitRows(l, initTasks) {
		if !wants(r.layer) {
			out.lines = append(out.lines, "")
			continue
		}
		dir, rows, line := out.v2, r.v2, " /"+name
		if !g.limits {
			dir, rows, line = filepath.Join(g.v1[r.controller], name), r.v1, r.controller+" /"+name
			if err := g.mkdir(dir, 0o755); err != nil {
				return nil, order.InLayer(r.layer, fmt.Errorf("make group: %w", err))
			}
			out.v1[r.controller] = dir
		}
		for _, f := range rows {
			if err := set(dir, f[0], f[1]); err != nil && !noSwap(f[0], err) {
				return nil, order.InLayer(r.layer, err)
			}
		}
		out.lines, out.levels[r.layer] = append(out.lines, line), r.level
	}
	for _, c := range []string{"cpuacct", "freezer"} { // counters and the stop where there is no v2 leaf
		if dir := g.v1[c]; out.v2 == "" && dir != "" && wants(report.CgroupKill) {
			if err := g.mkdir(filepath.Join(dir, name), 0o755); err == nil {
				out.v1[c] = filepath.Join(dir, name)
			}
		}
	}
	out.oom0 = out.count("memory.oom_control", "memory.events", "oom_kill")
	return out, nil
}

func (o *group) makeLeaf(g *groups, name string) error {
	o.v2, o.limits = filepath.Join(g.v2, name), g.limits
	if err := g.mkdir(o.v2, 0o755); err != nil {
		o.v2 = ""
		return err
	}
	var err error
	o.v2fd, err = os.Open(o.v2)
	return err
}

// noSwap forgives the swap limit where the kernel has none and there is no
// swap to go to.
func noSwap(file string, err error) bool {
	if !strings.Contains(file, "sw") || !errors.Is(err, unix.ENOENT) {
		return false
	}
	var info unix.Sysinfo_t
	return unix.Sysinfo(&info) == nil && info.Totalswap == 0
}

// set writes one limit and reads it back.
func set(dir, file, value string) error {
	path := filepath.Join(dir, file)
	f, err := os.OpenFile(path, os.O_RDWR, 0) // never O_CREAT: a missing file is a missing limit
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(value); err != nil {
		return err
	}
	var buf [64]byte
	n, err := f.ReadAt(buf[:], 0)
	if got := strings.TrimSpace(string(buf[:n])); got != value && !rounded(got, value) {
		return fmt.Errorf("set %s to %s: it reads %q, %v: %w", file, value, got, err, unix.EIO)
	}
	return nil
}

// rounded accepts a byte limit cut to whole pages.
func rounded(got, want string) bool {
	g, err1 := strconv.ParseInt(got, 10, 64)
	w, err2 := strconv.ParseInt(want, 10, 64)
	return err1 == nil && err2 == nil && g <= w && w-g < 1<<16
}

// enter moves the calling thread, and no other, into the v1 groups, so that a
// child cloned now is born in them. Writing a pid to cgroup.procs instead
// would wait for a grace period of the kernel, 6 to 15 ms.
//
// Precondition: the thread is locked; leave follows on every path.
func (o *group) enter() error {
	for _, dir := range o.v1 {
		if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter group: %w", err)
		}
	}
	return nil
}

// leave moves the thread back where the server is.
func (o *group) leave() error {
	for c := range o.v1 {
		if _, err := o.home[c].WriteString("0"); err != nil {
			return fmt.Errorf("leave group: %w", err)
		}
	}
	return nil
}

// read gives the text of the v1 or v2 form of a file, "" without one.
func (o *group) read(controller, v1, v2 string) string {
	path := ""
	if dir := o.v1[controller]; dir != "" && v1 != "" {
		path = filepath.Join(dir, v1)
	} else if o.v2 != "" && v2 != "" {
		path = filepath.Join(o.v2, v2)
	}
	if path == "" {
		return ""
	}
	return brief(path) // gone or absent counts as unknown
}

// brief reads a file of the kernel's in one call, without the runtime's poller:
// four times as fast, and five are read before every result. What is longer
// than 4 KiB is cut.
func brief(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var b [4096]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// count reads one named counter of memory or pids.
func (o *group) count(v1, v2, key string) int64 {
	controller, _, _ := strings.Cut(v1, ".")
	return field(o.read(controller, v1, v2), key)
}

// field finds `key N` in a file of lines; with key "" the file is the number.
func field(text, key string) int64 {
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if (len(f) == 2 && f[0] == key) || (len(f) == 1 && key == "") {
			n, _ := strconv.ParseInt(f[len(f)-1], 10, 64)
			return n
		}
	}
	return 0
}

// dirs lists every group of the run.
func (o *group) dirs() []string {
	out := []string{}
	for _, d := range o.v1 {
		out = append(out, d)
	}
	if o.v2 != "" {
		out = append(out, o.v2)
	}
	return out
}

// memory is the group whose limit binds the run's memory, "" without one.
func (o *group) memory() string {
	if o.limits {
		return o.v2
	}
	return o.v1["memory"]
}

// remove takes the groups away and returns those that would not go.
func (o *group) remove() (left []string) {
	if o.v2fd != nil {
		o.v2fd.Close()
		o.v2fd = nil
	}
	for _, d := range o.dirs() {
		if err := unix.Rmdir(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			left = append(left, d)
		}
	}
	return left
}
