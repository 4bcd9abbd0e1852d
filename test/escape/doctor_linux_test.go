package escape

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/doctor"
	"skill-mcp/internal/report"
	"skill-mcp/internal/seccomp"
)

// denyVariable makes the test program a launcher: it loads a filter that
// answers some calls with an errno and executes its arguments.
const denyVariable = "ESCAPE_DENY"

// launchDegraded is that launcher; its value is "errno call call…".
func launchDegraded(value string) error {
	runtime.LockOSThread()
	words := strings.Fields(value)
	errno, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	rows := []seccomp.Row{{Calls: words[1:], Do: seccomp.Errno(uint16(errno)), Why: "an older kernel"}}
	if words[1] == "user-namespaces" { // a kernel or a container that allows none
		rows = []seccomp.Row{
			{Calls: []string{"clone3"}, Do: seccomp.Errno(uint16(unix.ENOSYS)), Why: "its flags are behind a pointer"},
			{Calls: []string{"clone", "unshare"}, When: []seccomp.Test{{Arg: 0, Op: seccomp.AnyBit, Mask: unix.CLONE_NEWUSER}}, Do: seccomp.Errno(uint16(errno)), Why: "no user namespaces"},
		}
	}
	p, err := seccomp.Compile(seccomp.Filter{Arch: seccomp.Native(), Default: seccomp.Allow, Unknown: seccomp.Allow, Rows: rows})
	if err != nil {
		return err
	}
	if err := seccomp.Load(p, 0); err != nil {
		return err
	}
	os.Unsetenv(denyVariable)
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}

// examine runs skill-mcp doctor as a user in a kernel without some calls.
func examine(t *testing.T, uid int, deny string, env ...string) (doctor.Report, int) {
	t.Helper()
	command := []string{filepath.Join(bin, "skill-mcp"), "doctor", "--json"}
	if deny != "" {
		command = append([]string{filepath.Join(bin, "launcher")}, command...)
		env = append(env, denyVariable+"="+deny)
	}
	if uid != os.Geteuid() {
		id := strconv.Itoa(uid)
		command = append([]string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups"}, command...)
	}
	c := exec.Command(command[0], command[1:]...)
	c.Dir, c.Env = "/", append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var r doctor.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("code %d, %q, %s", code, out, stderr.String())
	}
	return r, code
}

// row gives the doctor's row of a layer.
func row(r doctor.Report, l report.Layer) doctor.Row {
	for _, o := range r.Layers {
		if o.Layer == l {
			return o
		}
	}
	return doctor.Row{}
}

func TestTheDoctorProvesThisMachine(t *testing.T) {
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			r, code := examine(t, uid, "")
			if code != 0 || !r.Proved || !r.Ran || len(r.Layers) != len(report.Layers()) {
				t.Errorf("code %d, %+v", code, r)
			}
			for _, o := range r.Layers {
				if o.Got == report.Enforced && !o.Proved {
					t.Errorf("%s is claimed and was not seen: %s; %s", o.Layer, o.Control, o.Witness)
				}
				if o.Got == report.Absent && (o.Reason == "" || o.Remedy == "") {
					t.Errorf("%s is absent without reason and remedy: %+v", o.Layer, o)
				}
			}
		})
	}
	if os.Geteuid() == 0 {
		if r, code := examine(t, 0, "", "MCP_SKILL_POLICY=strict"); code != 0 {
			t.Errorf("strict as root: code %d, notes %v, %+v", code, r.Notes, r.Layers)
		}
	}
	if r, code := examine(t, plainOrSelf(), "", "MCP_SKILL_POLICY=strict"); code != 1 || r.Proved {
		t.Errorf("strict as an ordinary user without a delegated group: code %d", code)
	}
}

// TestTheDoctorTellsWhatAnOlderKernelLacks takes calls away: a required layer
// without them is refused with its name, and where nothing is required the
// rest is proved and the lack is reported.
func TestTheDoctorTellsWhatAnOlderKernelLacks(t *testing.T) {
	for _, c := range []struct {
		name, deny string
		layer      report.Layer
	}{
		{"no Landlock", "38 landlock_create_ruleset", report.LandlockFS},
		{"Landlock not enabled", "95 landlock_create_ruleset", report.LandlockFS},
		{"Landlock refused by a container", "1 landlock_create_ruleset", report.LandlockFS},
		{"no seccomp", "38 seccomp", report.Seccomp},
	} {
		for name, uid := range users() {
			t.Run(c.name+" "+name, func(t *testing.T) {
				r, code := examine(t, uid, c.deny)
				o := row(r, c.layer)
				if code != 1 || r.Proved || o.Got != report.Absent || o.Reason == "" || o.Remedy == "" {
					t.Errorf("code %d, proved %v, %+v, notes %v", code, r.Proved, o, r.Notes)
				}
				r, code = examine(t, uid, c.deny, "MCP_SKILL_POLICY=portable")
				if o := row(r, c.layer); code != 0 || !r.Ran || o.Got != report.Absent {
					t.Errorf("portable: code %d, ran %v, %+v, notes %v", code, r.Ran, o, r.Notes)
				}
			})
		}
	}
}

func TestTheDoctorSaysThatNodeIsMissing(t *testing.T) {
	empty := t.TempDir()
	r, code := examine(t, os.Geteuid(), "", "PATH="+empty)
	if code != 1 || r.Ran || r.Proved || !strings.Contains(strings.Join(r.Notes, " "), "node") {
		t.Errorf("code %d, %+v", code, r)
	}
}
