package spawn

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// Where the kernel bounds neither the memory of a run nor its private
// directory, the monitor looks, and ends the run that is past a limit. It is
// seen late (between two looks a program can take what the machine gives) and
// not whole (memory behind a descriptor and files that were removed while open
// are not counted), so the layers are partial.
const (
	mostProcesses = 4096 // a tree of more is past every limit there is
	mostDepth     = 256  // a walk holds one descriptor a level
)

// Over is which limit that nothing in the kernel holds the run is past:
// [report.OOMWatch], [report.Disk] or "". Precondition: Kill was not called.
func (r *Run) Over() report.Verdict {
	if !r.order.Has(report.CgroupMemory) && r.spec.Policy.Want(report.CgroupMemory) != report.Off {
		used := int64(0)
		tree := r.tree()
		for _, pid := range tree {
			used += resident(pid)
		}
		r.peak = max(r.peak, used)
		if used > r.spec.Limits.MemoryBytes || len(tree) >= mostProcesses {
			return report.OOMWatch
		}
	}
	if r.dir != "" && r.spec.Policy.Want(report.PrivateTmp) != report.Off && tooFull(r.dir, r.spec.Limits) {
		return report.Disk
	}
	return ""
}

// tree is every process of the run that descends from one of its own, or is an
// orphan of it.
func (r *Run) tree() []int {
	out := append(r.own(), r.strays()...)
	seen := map[int]bool{}
	for _, pid := range out {
		seen[pid] = true
	}
	for i := 0; i < len(out) && len(out) < mostProcesses; i++ {
		at := "/proc/" + strconv.Itoa(out[i]) + "/task/"
		tasks, _ := os.ReadDir(at) // none: it has ended
		for _, t := range tasks {
			text, _ := os.ReadFile(at + t.Name() + "/children")
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil && !seen[pid] {
					seen[pid], out = true, append(out, pid)
				}
			}
		}
	}
	return out
}

// resident is the memory of a process that no file stands behind, in bytes.
func resident(pid int) (sum int64) {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // none: it has ended
	for _, line := range strings.Split(string(text), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if name == "RssAnon" || name == "RssShmem" || name == "VmSwap" {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			sum += kib << 10
		}
	}
	return sum
}

// tooFull reports whether a tree has more blocks or files than the run's /tmp
// may have. It is walked by descriptors, so that no depth is too deep and no
// link leads out; the walk ends with the limit.
func tooFull(dir string, l policy.Limits) bool {
	w := walk{bytes: l.TmpBytes, files: l.TmpInodes}
	fd, err := openOwn(unix.AT_FDCWD, dir)
	if err != nil {
		return false
	}
	w.count(os.NewFile(uintptr(fd), dir), 0)
	return w.bytes < 0 || w.files < 0
}

// walk is what a tree may still have.
type walk struct{ bytes, files int64 }

// count takes what is in a directory off, and closes it.
func (w *walk) count(dir *os.File, depth int) {
	defer dir.Close()
	names, _ := dir.Readdirnames(int(max(w.files, 0)) + 1)
	for _, n := range names {
		var st unix.Stat_t
		if unix.Fstatat(int(dir.Fd()), n, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		w.bytes, w.files = w.bytes-st.Blocks*512, w.files-1
		if w.bytes < 0 || w.files < 0 {
			return
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		if depth == mostDepth { // nothing needs that, and what lies below would not be seen
			w.files = -1
			return
		}
		if fd, err := openOwn(int(dir.Fd()), n); err == nil {
			w.count(os.NewFile(uintptr(fd), n), depth+1)
		}
	}
}
