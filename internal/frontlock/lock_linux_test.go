package frontlock

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"skill-mcp/internal/report"
)

// attacks are what a taken-over front would try; controls are what it does.
var (
	attacks = []string{
		"read-outside", "read-secret", "read-link-outside", "write-root", "write-outside", "exec", "exec-setuid",
		"connect-tcp", "connect-unix", "connect-abstract", "listen", "udp", "signal", "ptrace", "fork", "writable-code",
		"prlimit", "io_uring", "vsock", "unshare", "setuid-0", "kill-other",
	}
	controls = []string{"read-root", "list-root", "threads", "memory", "clock"}
)

// scene is a machine to attack: a root with a skill, files, listeners, a decoy.
func scene(t *testing.T, uid int) scenario {
	t.Helper()
	dir := public(t)
	root := filepath.Join(dir, "root")
	s := scenario{
		Role: "launch", Options: Options{Roots: []string{root}}, Early: 4,
		Outside: filepath.Join(dir, "outside"), Secret: filepath.Join(dir, "secret"), Dir: filepath.Join(dir, "shared"),
		Socket: filepath.Join(dir, "socket"), Setuid: copyOf(t, 0o755|os.ModeSetuid),
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "skill"), 0o755))
	must(os.WriteFile(filepath.Join(root, "skill", "SKILL.md"), []byte("x"), 0o644))
	must(os.Symlink(s.Outside, filepath.Join(root, "skill", "escape")))
	must(os.WriteFile(s.Outside, []byte("x"), 0o644))
	must(os.WriteFile(s.Secret, []byte("x"), 0o600))
	must(os.Mkdir(s.Dir, 0o777))
	must(os.Chmod(s.Dir, 0o777))
	must(os.Chmod(root, 0o777))
	for _, l := range []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"unix", s.Socket}, {"unix", "@" + s.Socket}} {
		ln, err := net.Listen(l.network, l.address)
		must(err)
		t.Cleanup(func() { ln.Close() })
		if l.network == "tcp" {
			s.TCP = ln.Addr().String()
		}
	}
	must(os.Chmod(s.Socket, 0o777))
	decoy := child(t, scenario{Role: "decoy"}, uid)
	in, err := decoy.StdinPipe()
	must(err)
	must(decoy.Start())
	t.Cleanup(func() { in.Close(); decoy.Wait() })
	s.Pid = decoy.Process.Pid
	return s
}

// users are the two that start servers: root and a plain one. The suite runs as
// root; as a plain user only that user exists.
func users() map[string]int {
	if os.Geteuid() == 0 {
		return map[string]int{"started as root": 0, "started by a plain user": Nobody}
	}
	return map[string]int{"started by a plain user": os.Geteuid()}
}

func TestALockedFrontCanDoNothingButItsWork(t *testing.T) {
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			s := scene(t, Nobody)
			s.Acts = append(append([]string{}, attacks...), controls...)
			o := start(t, s, uid)
			if o.Err != "" {
				t.Fatal(o.Err)
			}
			for _, a := range attacks {
				if got := o.Acts[a]; got != "EPERM" && got != "EACCES" && got != "ENOSYS" {
					t.Errorf("%s: %s", a, got)
				}
			}
			for _, a := range controls {
				if o.Acts[a] != "ok" {
					t.Errorf("%s: %s", a, o.Acts[a])
				}
			}
			for i := range s.Early {
				if got := o.Acts["early-thread-"+strconv.Itoa(i)]; got != "EACCES" {
					t.Errorf("a thread from before the lock reads outside: %s", got)
				}
			}
			if missing := o.Report.Missing(); missing != nil {
				t.Errorf("not enforced: %+v", missing)
			}
			if uid == 0 && o.Report.UID != Nobody {
				t.Errorf("runs as uid %d", o.Report.UID)
			}
		})
	}
}

// TestWithAPartLeftOutItsAttackWorks shows that each part is what stops it.
func TestWithAPartLeftOutItsAttackWorks(t *testing.T) {
	for _, c := range []struct {
		act, want string
		without   []string
		root      bool // only a server started as root has the part
	}{
		{act: "read-outside", without: []string{PartFiles}},
		{act: "read-link-outside", without: []string{PartFiles}},
		{act: "read-secret", without: []string{PartFiles, PartUser, PartCaps}, root: true},
		{act: "write-outside", without: []string{PartFiles, PartCalls}},
		{act: "write-root", without: []string{PartFiles, PartCalls}},
		{act: "exec", without: []string{PartFiles, PartCalls}},
		{act: "exec-setuid", want: "0", without: []string{PartFiles, PartCalls, PartNNP}, root: true},
		{act: "connect-tcp", without: []string{PartFiles, PartCalls}},
		{act: "connect-unix", without: []string{PartCalls}},
		{act: "connect-abstract", without: []string{PartFiles, PartCalls}},
		{act: "listen", without: []string{PartFiles, PartCalls}},
		{act: "udp", without: []string{PartCalls}},
		{act: "signal", without: []string{PartFiles, PartCalls}},
		{act: "ptrace", without: []string{PartFiles, PartCalls}},
		{act: "fork", without: []string{PartCalls}},
		{act: "writable-code", without: []string{PartCalls}},
		{act: "prlimit", without: []string{PartCalls}},
		{act: "io_uring", without: []string{PartCalls}},
		{act: "vsock", without: []string{PartCalls}},
		{act: "setuid-0", without: []string{PartUser, PartCaps, PartCalls}, root: true},
		{act: "kill-other", without: []string{PartFiles, PartCalls}},
	} {
		for name, uid := range users() {
			if c.root && uid != 0 {
				continue
			}
			t.Run(c.act+" "+name, func(t *testing.T) {
				s := scene(t, Nobody)
				s.Acts, s.Early, s.Options.Without = []string{c.act}, 0, c.without
				want := c.want
				if want == "" {
					want = "ok"
				}
				if got := start(t, s, uid).Acts[c.act]; got != want {
					t.Errorf("without %v: %s, want %s", c.without, got, want)
				}
			})
		}
	}
}

func TestMemoryOfTheFrontIsClosedToItsOwnUser(t *testing.T) {
	for _, c := range []struct {
		without []string
		open    bool
	}{{nil, false}, {[]string{PartDumpable, PartFiles}, true}} {
		s := scene(t, Nobody)
		s.Wait, s.Options.Without = true, c.without
		cmd := child(t, s, os.Geteuid())
		in, out := pipes(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var o outcome
		if err := json.NewDecoder(out).Decode(&o); err != nil {
			t.Fatal(err)
		}
		uid := o.Report.UID
		text, err := child(t, scenario{Role: "peek", Pid: o.Pid}, uid).Output()
		in.Close()
		cmd.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text) == "ok\n"; got != c.open {
			t.Errorf("without %v another process of uid %d opens its memory: %s", c.without, uid, text)
		}
	}
}

// pipes gives a child's stdin and stdout.
func pipes(t *testing.T, cmd *exec.Cmd) (in interface{ Close() error }, out interface{ Read([]byte) (int, error) }) {
	t.Helper()
	i, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	o, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return i, o
}

// TestAnOlderKernelIsReported puts the front into kernels that lack something.
func TestAnOlderKernelIsReported(t *testing.T) {
	landlock := []string{PartFiles, PartTCP, PartScope}
	for _, c := range []struct {
		name, call string
		errno      unix.Errno
		missing    []string
		says       string
	}{
		{"no Landlock in the kernel", "landlock_create_ruleset", unix.ENOSYS, landlock, "5.13"},
		{"Landlock not enabled", "landlock_create_ruleset", unix.EOPNOTSUPP, landlock, "lsm="},
		{"Landlock refused by a container", "landlock_create_ruleset", unix.EPERM, landlock, "container"},
		{"no seccomp", "seccomp", unix.ENOSYS, []string{PartCalls, PartNoExec}, "seccomp"},
	} {
		for name, uid := range users() {
			t.Run(c.name+" "+name, func(t *testing.T) {
				s := scene(t, Nobody)
				s.Deny, s.DenyAs, s.Early = c.call, int(c.errno), 0
				s.Acts = append([]string{"connect-tcp", "write-outside"}, controls...)
				o := start(t, s, uid)
				if o.Err != "" {
					t.Fatal(o.Err)
				}
				got := []string{}
				for _, r := range o.Report.Missing() {
					got = append(got, r.Part)
					if r.Got != report.Absent || !strings.Contains(r.Reason, c.says) {
						t.Errorf("%+v does not say %q", r, c.says)
					}
				}
				if d := cmp.Diff(c.missing, got); d != "" {
					t.Errorf("missing (-want +got):\n%s", d)
				}
				for _, a := range controls {
					if o.Acts[a] != "ok" {
						t.Errorf("%s: %s", a, o.Acts[a])
					}
				}
				// One of the two walls still stands for these.
				for _, a := range []string{"connect-tcp", "write-outside"} {
					if o.Acts[a] == "ok" {
						t.Errorf("%s works", a)
					}
				}
				if len(o.Report.Lines()) != len(c.missing) {
					t.Errorf("log lines %q", o.Report.Lines())
				}
			})
		}
	}
}

func TestTheStoreOfSpentTokensStaysWritable(t *testing.T) {
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			s := scene(t, Nobody)
			store := filepath.Join(s.Dir, "store")
			if err := os.Mkdir(store, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(store, Nobody, Nobody); err != nil && os.Geteuid() == 0 {
				t.Fatal(err)
			}
			s.Options.Write, s.Early = []string{store}, 0
			s.Acts = []string{"write-store", "rename-store", "write-root", "write-outside", "read-outside"}
			got := start(t, s, uid).Acts
			want := map[string]string{"write-store": "ok", "rename-store": "ok", "write-root": "EACCES", "write-outside": "EACCES", "read-outside": "EACCES"}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAnOpenSocketStillTakesConnections(t *testing.T) {
	for _, accept := range []bool{true, false} {
		s := scene(t, Nobody)
		s.Acts, s.Early, s.Options.Accept = []string{"accept", "connect-tcp", "listen"}, 0, accept
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd := child(t, s, os.Geteuid())
		cmd.ExtraFiles = []*os.File{f}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		out, err := cmd.Output()
		l.Close()
		var o outcome
		if err == nil {
			err = json.Unmarshal(out, &o)
		}
		if err != nil {
			t.Fatalf("%v %s", err, stderrOf(err))
		}
		want := map[string]string{"accept": "ok", "connect-tcp": "EPERM", "listen": "EPERM"}
		if !accept {
			want["accept"] = "ENOSYS"
		}
		if d := cmp.Diff(want, o.Acts); d != "" {
			t.Errorf("accept %v (-want +got):\n%s", accept, d)
		}
	}
}

// TestTheLockIsQuick holds the price of the lock: the median over re-executed
// fronts, half a millisecond here. The bound is loose: the machine may be busy.
func TestTheLockIsQuick(t *testing.T) {
	s := scene(t, Nobody)
	s.Early = 0
	took := []int64{}
	for range 15 {
		took = append(took, start(t, s, os.Geteuid()).Nanos)
	}
	slices.Sort(took)
	t.Logf("Seal: least %d µs, median %d µs", took[0]/1000, took[len(took)/2]/1000)
	if least := took[0]; least > 5_000_000 {
		t.Errorf("Seal takes %d µs at least", least/1000)
	}
}
