package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/seccomp"
)

// denyCalls makes system calls of this process and its children fail, as an
// older kernel or an outer container would: "name=errno,name=errno".
func denyCalls(list string) error {
	f := seccomp.Filter{Arch: seccomp.Native(), Default: seccomp.Allow, Unknown: seccomp.Errno(uint16(unix.ENOSYS))}
	for _, d := range strings.Split(list, ",") {
		name, errno, _ := strings.Cut(d, "=")
		n, err := strconv.Atoi(errno)
		if err != nil {
			return err
		}
		f.Rows = append(f.Rows, seccomp.Row{Calls: []string{name}, Do: seccomp.Errno(uint16(n)), Why: "an older or a masked kernel"})
	}
	p, err := seccomp.Compile(f)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return seccomp.Load(p, unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// degraded is what a degraded host says of itself.
type degraded struct {
	Report  report.Fence // of the server
	Run     report.Fence // of a run that prefers everything
	Acts    map[string]string
	Refused map[report.Layer]string // per required layer, what Start said
}

// TestDegradedInside is the half of TestDegraded that runs on the degraded
// host; by itself it does nothing.
func TestDegradedInside(t *testing.T) {
	to := os.Getenv("FENCE_DEGRADED")
	if to == "" {
		return
	}
	p := testPolicy()
	h := newHost(t, p)
	d := degraded{Report: h.Report(p, policy.NetNone), Refused: map[report.Layer]string{}}
	got := probe(t, h, probeSpec(t, p), "pid", "read:/etc/shadow", "keyctl", "stat:/sys/kernel", "write:/etc/x", "write:"+os.TempDir()+"/x", "cat:/proc/"+strconv.Itoa(os.Getpid())+"/environ", "env")
	d.Run, d.Acts = got.fence, got.acts
	for _, l := range report.Layers() {
		q := testPolicy()
		for i := range q.Layers {
			if q.Layers[i].Layer == l {
				q.Layers[i].Want = report.Require
			}
		}
		s := probeSpec(t, q)
		r, err := h.Start(s)
		var se *SetupError
		switch {
		case err == nil:
			<-r.Done()
			r.Kill(5 * time.Second)
			r.Close()
		case errors.As(err, &se) && se.Layer == l:
			d.Refused[l] = se.Text
		default:
			t.Errorf("require %s: %v", l, err)
		}
	}
	nothingLeft(t, h)
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDegraded: on every poorer host a run starts with what there is, the
// report says exactly what is missing and why, a required layer that is
// missing refuses the run, and nothing else gets weaker.
func TestDegraded(t *testing.T) {
	root := os.Getuid() == 0
	landlock := []report.Layer{report.LandlockFS, report.LandlockNet, report.LandlockScope}
	spaces := []report.Layer{report.NSPid, report.NSMount, report.NSNet, report.NSIpc}
	for _, c := range []struct {
		name, deny string
		nested     bool
		onlyV2     bool
		absent     []report.Layer
		partial    []report.Layer
		reason     string
	}{
		{name: "landlock is not in the kernel", deny: "landlock_create_ruleset=38", absent: landlock, reason: "ENOSYS|function not implemented"},
		{name: "landlock is not in lsm=", deny: "landlock_create_ruleset=95", absent: landlock, reason: "operation not supported"},
		{name: "landlock is filtered by a container", deny: "landlock_create_ruleset=1", absent: landlock, reason: "operation not permitted"},
		{name: "landlock takes no rules", deny: "landlock_add_rule=1", absent: landlock, reason: "operation not permitted"},
		{name: "landlock cannot be enforced", deny: "landlock_restrict_self=1", absent: landlock, reason: "restrict self"},
		{name: "seccomp is not in the kernel", deny: "seccomp=38", absent: []report.Layer{report.Seccomp}, reason: "function not implemented"},
		{name: "mounts are denied", deny: "fsopen=1,mount=1,open_tree=1", absent: []report.Layer{report.NSMount}, partial: []report.Layer{report.PrivateTmp}, reason: "operation not permitted"},
		{name: "namespaces are denied", deny: "clone3=38,unshare=1", absent: []report.Layer{report.NSPid}, reason: "operation not permitted"},
		{name: "there are no user namespaces", nested: true, absent: append([]report.Layer{report.ParentProtected}[:0], spaces...), partial: []report.Layer{report.PrivateTmp}, reason: "no space left on device"},
		{name: "there are only v2 groups, without controllers", onlyV2: true, absent: []report.Layer{report.CgroupPids, report.CgroupCPU}, partial: []report.Layer{report.CgroupMemory}, reason: "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.nested && root || c.onlyV2 && !root {
				return // root needs no user namespaces, and another user cannot mount groups
			}
			d := onDegraded(t, c.deny, c.nested, c.onlyV2)
			for _, r := range d.Run.Layers {
				if !root && (r.Layer == report.UID || strings.HasPrefix(string(r.Layer), "cgroup")) {
					continue // absent anyway, see TestPosture
				}
				want := report.Enforced
				if slices.Contains(c.absent, r.Layer) {
					want = report.Absent
				}
				if slices.Contains(c.partial, r.Layer) {
					want = report.Partial
				}
				if root && c.deny == "clone3=38,unshare=1" && r.Layer == report.CgroupKill {
					continue // born by clone3 only
				}
				if r.Got != want {
					t.Errorf("%+v, want %s", r, want)
				}
				if want == report.Absent && (!matches(c.reason, r.Reason) || r.Remedy == "") {
					t.Errorf("reason %q remedy %q, want %s", r.Reason, r.Remedy, c.reason)
				}
				if got := d.Report.Row(r.Layer); got.Got != r.Got {
					t.Errorf("the server says %+v, the run %+v", got, r)
				}
				if _, refused := d.Refused[r.Layer]; refused != (want == report.Absent || r.Layer == report.CgroupMemory && want == report.Partial) {
					t.Errorf("require %s: refused %v", r.Layer, refused)
				}
			}
			if d.Acts["read:/etc/shadow"] == "ok" || d.Acts["write:/etc/x"] == "ok" {
				t.Errorf("acts: %v", d.Acts)
			}
			if strings.HasPrefix(d.Acts["cat:/proc/"+d.Acts["me"]+"/environ"], "ok") {
				t.Errorf("the monitor's environment: %v", d.Acts)
			}
		})
	}
}

func matches(pattern, text string) bool {
	for _, p := range strings.Split(pattern, "|") {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// onDegraded runs TestDegradedInside on a poorer host.
func onDegraded(t *testing.T, deny string, nested, onlyV2 bool) degraded {
	to := t.TempDir() + "/report"
	c := exec.Command("/proc/self/exe", "-test.run=^TestDegradedInside$", "-test.v")
	c.Env = append(os.Environ(), "FENCE_DEGRADED="+to, "FENCE_PROBE="+probePath(), "FENCE_DENY="+deny)
	if nested { // in a user namespace of its own, the number of further ones is ours to set
		c.Env = append(c.Env, "FENCE_NESTED=1")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_SYS_ADMIN}}
	}
	if onlyV2 {
		c.Env = append(c.Env, "FENCE_ONLY_V2=1")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(to)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var d degraded
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// degrade makes this process stand on a poorer host, as its environment says.
func degrade() error {
	if os.Getenv("FENCE_NESTED") != "" {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return fmt.Errorf("set the number of user namespaces: %w", err)
		}
		none := [2]unix.CapUserData{}
		if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
			return err
		}
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return err
		}
	}
	if os.Getenv("FENCE_ONLY_V2") != "" {
		if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("none", cgroupRoot, "cgroup2", 0, "")); err != nil {
			return fmt.Errorf("mount v2 groups: %w", err)
		}
	}
	if deny := os.Getenv("FENCE_DENY"); deny != "" {
		return denyCalls(deny)
	}
	return nil
}
