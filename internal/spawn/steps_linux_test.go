package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// attack is what one step refuses: the act, its outcome behind the whole
// fence, and its outcome with the step left out. Both are regular expressions.
type attack struct {
	step           string
	act            string
	refused, works string
	off            []report.Layer // layers without which the act is the step's alone to refuse
	on             []report.Layer // layers off in both, so that only this step is looked at
	without        string         // steps left out, where no layer switches them off
	root, user     bool           // only as
}

func attacks(t *testing.T) []attack {
	me := strconv.Itoa(os.Getpid())
	files := []report.Layer{report.LandlockFS, report.LandlockNet, report.LandlockScope}
	caged := append(append([]report.Layer{}, files...), report.Seccomp)
	return []attack{
		{step: "prepare", act: "eat:700", refused: `^$`, works: `^ok$`, off: []report.Layer{report.CgroupMemory}, root: true},
		{step: "clone", act: "shm:" + sharedMemory(t), refused: `^ENOENT$`, works: `^ok$`, off: []report.Layer{report.NSIpc, report.Seccomp}},
		{step: "user_map", act: "cat:/proc/self/uid_map", refused: `" +` + strconv.Itoa(os.Getuid()) + ` .* 1\\n"$`, works: `""$`, on: append(caged, report.NSMount), without: "user_map", user: true},
		{step: "reset", act: "cat:/proc/self/oom_score_adj", refused: `"1000\\n"`, works: `"0\\n"`, without: "reset"},
		{step: "cgroup", act: "forks:200", refused: `^EAGAIN$`, works: `^ok$`, on: []report.Layer{report.Rlimits}, off: []report.Layer{report.CgroupPids}, root: true},
		{step: "network", act: "connect:" + listener(t), refused: `^ENETUNREACH$`, works: `^ok$`, on: caged, off: []report.Layer{report.NSNet}},
		{step: "pid_namespace", act: "kill:" + me, refused: `^ESRCH$`, works: `^ok$`, on: append(caged, report.UID), off: []report.Layer{report.NSPid}},
		{step: "mount_namespace", act: "stat:/sys/kernel", refused: `^ENOENT$`, works: `^ENOENT$`, without: "mount_namespace"}, // slower, not weaker
		{step: "rules", act: "read:" + markPath, refused: `^EACCES$`, works: `^EACCES$`, without: "rules"},                     // landlock makes the set then
		{step: "mounts", act: "stat:/sys/kernel", refused: `^ENOENT$`, works: `^ok$`, off: []report.Layer{report.NSMount}},
		{step: "mounts", act: "stat:" + me2(t), refused: `^ENOENT$`, works: `^ok$`, on: caged, off: []report.Layer{report.NSMount}},
		{step: "hostname", act: "host", refused: `^skill$`, works: hostname(t), off: []report.Layer{report.NSIpc}},
		{step: "keyring", act: "session", refused: `^0 ok$|^0 ENOKEY$`, works: `^[1-9].* ok$`, on: []report.Layer{report.Seccomp}, without: "keyring"},
		{step: "session", act: "sid", refused: `^true true$`, works: `^false false$`, on: []report.Layer{report.NSPid}, off: []report.Layer{report.ProcessGroup}},
		{step: "rlimits", act: "files:2000", refused: `^EMFILE$`, works: `^ok$`, off: []report.Layer{report.Rlimits}},
		{step: "close_range", act: "fds", refused: `^0 1 2$`, works: `^0 1 2 3`, without: "close_range"},
		{step: "bounding_set", act: "status:CapBnd", refused: `^CapBnd=0+$`, works: `^CapBnd=0*[1-9a-f]`, off: []report.Layer{report.Capabilities}},
		{step: "credentials", act: "status:Uid,Gid,Groups", refused: `^Uid=(6\d{4}),\d+,\d+,(6\d{4}) Gid=6.* Groups=$`, works: `^Uid=0,0,0,0 Gid=0`, off: []report.Layer{report.UID}, root: true},
		{step: "credentials", act: "status:CapPrm,CapEff,CapInh,CapAmb", refused: `^CapPrm=0+ CapEff=0+ CapInh=0+ CapAmb=0+$`, works: `CapEff=0*[1-9a-f]`, off: []report.Layer{report.Capabilities, report.UID}, root: true},
		{step: "chdir", act: "cwd", refused: `^ok /tmp/.*`, works: `^(ok /|EACCES.*|ok .*/fence)$`, without: "chdir", on: []report.Layer{report.LandlockFS}},
		{step: "chdir", act: "umask", refused: `^077$`, works: `^022$`, without: "chdir", on: []report.Layer{report.LandlockFS}},
		{step: "no_new_privs", act: "status:NoNewPrivs", refused: `=1$`, works: `=0$`, on: caged, off: []report.Layer{report.NoNewPrivs}},
		{step: "landlock", act: "read:" + markPath, refused: `^EACCES$`, works: `^ok$`, off: files},
		{step: "landlock", act: "bind", refused: `^EACCES$`, works: `^ok$`, on: []report.Layer{report.Seccomp, report.NSNet}, off: []report.Layer{report.LandlockNet}},
		{step: "landlock", act: "connect:" + listener(t), refused: `^EACCES$`, works: `^ok$`, on: []report.Layer{report.Seccomp, report.NSNet}, off: []report.Layer{report.LandlockNet}},
		{step: "landlock", act: "abstract:" + abstract(t), refused: `^EPERM$`, works: `^ok$`, on: []report.Layer{report.NSNet}, off: []report.Layer{report.LandlockScope}},
		{step: "landlock", act: "kill:" + me, refused: `^EPERM$`, works: `^ok$`, on: []report.Layer{report.NSPid, report.UID}, off: []report.Layer{report.LandlockScope}},
		{step: "seccomp", act: "keyctl", refused: `^EPERM$`, works: `^ok$`, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "persona", refused: `^EPERM$`, works: `^ok$`, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "socket:2,2,0", refused: `^EAFNOSUPPORT$`, works: `^ok$`, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "socket:0x100000002,2,0", refused: `^EAFNOSUPPORT$`, works: `^ok$`, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "listen", refused: `^EAFNOSUPPORT$`, works: `^ok$`, on: []report.Layer{report.LandlockFS, report.LandlockNet, report.LandlockScope, report.NSNet}, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "affinity:" + me, refused: `^EPERM$`, works: `^ok$`, user: true, on: append(files, report.NSPid, report.UID), off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "prlimit:" + me, refused: `^EPERM$`, works: `^ok$`, on: append(files, report.NSPid, report.UID), off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "setprio:" + me, refused: `^EPERM$`, works: `^ok$`, user: true, on: append(files, report.NSPid, report.UID), off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "unshare:0x10000000", refused: `^EPERM$`, works: `^(ok|EINVAL)$`, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "call:425", refused: `^ENOSYS$`, works: `^EFAULT|EINVAL|EPERM$`, off: []report.Layer{report.Seccomp}},
		{step: "seccomp", act: "tiocsti", refused: `^EPERM$`, works: `^ENOTTY$`, off: []report.Layer{report.Seccomp}},
	}
}

func TestStep(t *testing.T) {
	h := newHost(t, testPolicy())
	lendKey(t, h)
	lendGroups(t, h)
	for _, a := range attacks(t) {
		if (a.root && os.Getuid() != 0) || (a.user && os.Getuid() == 0) {
			continue // the other user's half of this test
		}
		t.Run(a.step, func(t *testing.T) {
			got := probe(t, h, probeSpec(t, testPolicy(a.on...)), a.act)
			if !regexp.MustCompile(a.refused).MatchString(got.acts[a.act]) {
				t.Errorf("%s behind the fence: %q (%+v), want %s", a.act, got.acts[a.act], got.leader, a.refused)
			}
			if a.without != "" {
				defer leaveOut(h, a.without)()
			}
			got = probe(t, h, probeSpec(t, testPolicy(append(append([]report.Layer{}, a.on...), a.off...)...)), a.act)
			if !regexp.MustCompile(a.works).MatchString(got.acts[a.act]) {
				t.Errorf("%s without the step: %q (%+v), want %s", a.act, got.acts[a.act], got.leader, a.works)
			}
		})
	}
	t.Run("parent_death", testParentDeath)
	t.Run("canary", func(t *testing.T) { testCanary(t, h) })
	t.Run("view", func(t *testing.T) { testView(t, h) })
	t.Run("private", func(t *testing.T) { testPrivate(t, h) })
	t.Run("remount", func(t *testing.T) { testRemount(t, h) })
	t.Run("go", func(t *testing.T) { testGo(t, h) })
	t.Run("execve", func(t *testing.T) { testExecve(t, h) })
}

// leaveOut has the children of h leave steps out, until it is undone.
func leaveOut(h *Host, steps string) (undo func()) {
	had := h.childEnv
	h.dismiss()
	h.childEnv = append(append([]string{}, had...), "FENCE_WITHOUT="+steps)
	return func() {
		h.dismiss()
		h.childEnv = had
	}
}

// sharedMemory makes a System V segment that anybody may use.
func sharedMemory(t *testing.T) string {
	key := os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return strconv.Itoa(key)
}

func listener(t *testing.T) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func abstract(t *testing.T) string {
	name := fmt.Sprintf("fence-test-%d", os.Getpid())
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return name
}

// me2 is a file of the host that every user may see.
func me2(t *testing.T) string {
	f, err := os.CreateTemp("/var/tmp", "fence-test")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { os.Remove(f.Name()) })
	return f.Name()
}

func hostname(t *testing.T) string {
	n, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return "^" + regexp.QuoteMeta(n) + "$"
}

// lendGroups gives the starting thread groups that a run must not keep. An
// ordinary user cannot take any, nor can its runs give up those it has.
func lendGroups(t *testing.T, h *Host) {
	if os.Getuid() != 0 {
		return
	}
	h.dismiss()
	groups := []uint32{4, 27}
	err := h.onThread(func() error { // of this thread alone, as the keyring is
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lendKey gives the starting thread a session keyring with a key in it.
func lendKey(t *testing.T, h *Host) {
	h.dismiss()
	err := h.onThread(func() error {
		if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil {
			return err
		}
		_, err := unix.AddKey("user", "fence-test", []byte("secret"), unix.KEY_SPEC_SESSION_KEYRING)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testParentDeath kills a monitor and expects its run to go, with nothing but
// the step to see to it; and to stay where the step is left out.
func testParentDeath(t *testing.T) {
	for _, without := range []string{"", "reset,parent_death"} {
		c := exec.Command("/proc/self/exe", "-test.run=^TestStandInMonitor$")
		c.Env = append(os.Environ(), "FENCE_MONITOR="+without+".", "FENCE_PROBE="+probePath(), "TMPDIR="+t.TempDir())
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		first, _ := lines.ReadString('\n') // of the monitor and of the run, in either order
		second, _ := lines.ReadString('\n')
		line := strings.TrimPrefix(strings.TrimSpace(min(first, second)), "run ")
		if strings.HasPrefix(first, "pid") == strings.HasPrefix(second, "pid") {
			t.Fatalf("no run: %q %q", first, second)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("no run: %q", line)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.Process.Kill()
		c.Wait()
		if gone := poll(fd, unix.POLLIN, 2*time.Second); gone != (without == "") {
			t.Errorf("without %q: the run is gone: %v", without, gone)
		}
		syscall.Kill(pid, syscall.SIGKILL)
		unix.Close(fd)
	}
}

// TestStandInMonitor is the monitor of testParentDeath; by itself it does nothing.
func TestStandInMonitor(t *testing.T) {
	without, ok := strings.CutSuffix(os.Getenv("FENCE_MONITOR"), ".")
	if !ok {
		return
	}
	p := testPolicy(report.NSPid, report.CgroupMemory, report.CgroupPids, report.CgroupCPU, report.CgroupKill)
	if without == "all" { // leave as much behind as can be
		p = testPolicy(report.Layer(os.Getenv("FENCE_OFF")))
	}
	h := Probe(p, ProbeOptions{TmpRoot: os.TempDir(), LockDir: lockDir(t)})
	leaveOut(h, without)
	s := probeSpec(t, p)
	s.Args, s.Stdout = []string{"pid", "sleep:60000"}, os.Stdout
	r, err := h.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(r.Pid())
	<-r.Done()
}

// testCanary leaves a layer's step out without telling: the canary must see.
func testCanary(t *testing.T, h *Host) {
	for step, l := range map[string]report.Layer{"seccomp": report.Seccomp, "landlock": report.LandlockFS, "no_new_privs": report.NoNewPrivs, "rlimits": report.Rlimits, "session": report.ProcessGroup} {
		undo := leaveOut(h, step)
		got := probe(t, h, probeSpec(t, testPolicy()), "pid")
		if row := got.fence.Row(l); row.Got != report.Absent || row.Reason == "" {
			t.Errorf("without %s: %+v", step, row)
		}
		p := testPolicy()
		for i := range p.Layers {
			if p.Layers[i].Layer == l {
				p.Layers[i].Want = report.Require
			}
		}
		if _, err := h.Start(probeSpec(t, p)); err == nil {
			t.Errorf("without %s: a required layer was missing and the run started", step)
		}
		undo()
	}
}

// testPrivate looks for mounts that would follow the host's. Only root can
// make one that would.
func testPrivate(t *testing.T, h *Host) {
	const act = "cat:/proc/self/mountinfo"
	s := probeSpec(t, testPolicy())
	if os.Getuid() == 0 {
		dir := t.TempDir()
		if err := errors.Join(os.Chmod(dir, 0o755), unix.Mount("shared", dir, "tmpfs", 0, ""), unix.Mount("", dir, "", unix.MS_SHARED, "")); err != nil {
			t.Fatal(err)
		}
		defer unix.Unmount(dir, unix.MNT_DETACH)
		s.Read = append(s.Read, dir)
	}
	got := probe(t, h, s, act).acts[act]
	if os.Getuid() == 0 && !strings.Contains(got, " - tmpfs shared ") {
		t.Errorf("the shared mount is not among the run's: %s", got)
	}
	for _, tag := range []string{" shared:", " master:", " propagate_from:"} {
		if !strings.Contains(got, " /tmp ") || strings.Contains(got, tag) {
			t.Errorf("the run's mounts: %s", got)
		}
	}
}

// testRemount mounts something after the next run's child was born: what the
// run sees is what is there when it starts. Only root can.
func testRemount(t *testing.T, h *Host) {
	if os.Getuid() != 0 {
		return // the other user's half of this test
	}
	s := probeSpec(t, testPolicy())
	dir := t.TempDir()
	act := "stat:" + dir + "/after"
	s.Read = append(s.Read, dir)
	if got := probe(t, h, s, act); got.acts[act] != "ENOENT" {
		t.Fatalf("before: %v", got.acts)
	}
	r := <-h.coming // it is there
	h.coming <- r
	if err := errors.Join(os.Chmod(dir, 0o755), unix.Mount("after", dir, "tmpfs", 0, "mode=0755")); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := os.WriteFile(dir+"/after", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := probe(t, h, s, act); got.acts[act] != "ok" {
		t.Errorf("a mount that came after the birth: %v", got.acts)
	}
}

// testView runs two programs by turns: the child that waits has the view of
// the one before, and must not be used for the other.
func testView(t *testing.T, h *Host) {
	for i := 0; i < 2; i++ {
		got := probe(t, h, probeSpec(t, testPolicy()), "stat:/usr/bin/node", "stat:"+probePath())
		if got.acts["stat:/usr/bin/node"] != "ENOENT" || got.acts["stat:"+probePath()] != "ok" {
			t.Errorf("the probe's view: %v", got.acts)
		}
		r, out := start(t, h, testSpec(t, testPolicy(), "/usr/bin/node", "console.log(require('fs').existsSync("+strconv.Quote(probePath())+"))"))
		if got := finish(t, r, out); got.text != "false\n" {
			t.Errorf("node's view: %q", got.text)
		}
	}
}

// testGo ends the child that waits: the next run must not notice, and it must
// have nothing of a run in it while it waits.
func testGo(t *testing.T, h *Host) {
	probe(t, h, probeSpec(t, testPolicy()), "pid")
	if h.coming == nil {
		t.Fatal("no child waits after a run")
	}
	r := <-h.coming
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.child))
	if err == nil && strings.Contains(string(env), "PATH") {
		t.Errorf("the waiting child has an environment: %q", env)
	}
	unix.Kill(r.child, unix.SIGKILL)
	h.coming <- r
	if got := probe(t, h, probeSpec(t, testPolicy()), "pid"); got.acts["pid"] != "2 0" {
		t.Errorf("after the waiting child was killed: %v", got.acts)
	}
}

// testExecve exchanges the program between the check and the start.
func testExecve(t *testing.T, h *Host) {
	s := probeSpec(t, testPolicy())
	other, err := os.Open("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s.Exec.File = other
	if _, err := h.Start(s); err == nil || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("an exchanged program: %v", err)
	}
}
