package escape

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// posture is what a script finds itself to be; what differs from run to run is
// turned into a word first.
type posture struct {
	UID, Groups, Umask, Cwd      string
	Caps, NoNewPrivs, Seccomp    string
	Env                          []string
	Limits                       map[string]string
	NS                           map[string]string // own or shared
	FDs                          []string
	Session, Terminal, Processes string
	Tmp, Home                    string
}

// said is the line of self.js.
type said struct {
	PID, PPID, UID, GID, Umask, TTY, Session, Pgrp int
	Groups                                         []int
	Cwd, Tmpdir, Home                              string
	Env                                            []string
	Status                                         map[string]string
	Limits                                         map[string][2]string
	NS, FDs                                        map[string]string
	Processes                                      int
}

// TestThePostureIsExactlyThis compares the whole child with one value, so that
// an unexpected right fails as an unexpected lack does.
func TestThePostureIsExactlyThis(t *testing.T) {
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			s := start(t, uid, "")
			r := s.run("probe", "self.js", nil)
			var got said
			if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
				t.Fatalf("%v: %+v", err, r)
			}
			if d := cmp.Diff(s.expected(), s.normal(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// expected is the one posture, for a server started by this user.
func (s *server) expected() posture {
	p := posture{
		UID: "the server's", Groups: "no other", Umask: "77", Cwd: "the skill",
		Caps: "none", NoNewPrivs: "1", Seccomp: "2",
		Env:    []string{"HOME", "PATH", "TMPDIR"},
		Limits: limits(),
		NS:     map[string]string{"cgroup": "shared", "ipc": "own", "mnt": "own", "net": "own", "pid": "own", "user": "own", "uts": "own"},
		FDs:    []string{"0 /dev/null", "1 pipe", "2 pipe"},

		Session: "own", Terminal: "none", Processes: "its own",
		Tmp: "/tmp", Home: "private",
	}
	if s.uid == 0 {
		p.UID = "of the run"
		p.NS["user"] = "shared"
		p.Limits["Max processes"] = "256 256"
	}
	return p
}

// limits are the table of the fence specification, section 7, at the policy's
// values and a timeout of 20 s.
func limits() map[string]string {
	return map[string]string{
		"Max cpu time": "25 27", "Max file size": "67108864 67108864", "Max stack size": "8388608 8388608",
		"Max core file size": "1 1", "Max open files": "1024 1024", "Max locked memory": "65536 65536",
		"Max address space": "unlimited unlimited", "Max data size": "unlimited unlimited", "Max resident set": "unlimited unlimited",
		"Max pending signals": "1024 1024", "Max msgqueue size": "0 0", "Max nice priority": "0 0", "Max realtime priority": "0 0",
	}
}

// normal turns a line of self.js into words.
func (s *server) normal(g said) posture {
	p := posture{
		Umask: strconv.FormatInt(int64(g.Umask), 8), NoNewPrivs: g.Status["NoNewPrivs"], Seccomp: g.Status["Seccomp"], Env: g.Env,
		Limits: map[string]string{}, NS: map[string]string{}, Tmp: g.Tmpdir,
	}
	p.UID = word(g.UID == s.uid, "the server's", word(g.UID >= 60000 && g.UID < 65534 && g.GID == g.UID, "of the run", strconv.Itoa(g.UID)))
	p.Groups = word(len(g.Groups) == 0 || len(g.Groups) == 1 && g.Groups[0] == g.GID, "no other", strconv.Itoa(len(g.Groups)))
	p.Cwd = word(g.Cwd == filepath.Join(s.m.Root, "probe"), "the skill", g.Cwd)
	caps := ""
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		caps += strings.Trim(g.Status[set], "0")
	}
	p.Caps = word(caps == "", "none", caps)
	for name := range s.expected().Limits {
		p.Limits[name] = g.Limits[name][0] + " " + g.Limits[name][1]
	}
	own := ownNamespaces(s.t)
	for n, link := range g.NS {
		p.NS[n] = word(link == own[n], "shared", "own")
	}
	for _, fd := range []string{"0", "1", "2"} {
		target, _, _ := strings.Cut(g.FDs[fd], ":")
		p.FDs = append(p.FDs, fd+" "+target)
	}
	for fd, target := range g.FDs { // what node opens for itself has no path
		if len(fd) > 1 || fd > "2" {
			kind, _, _ := strings.Cut(target, ":")
			if kind != "anon_inode" && kind != "pipe" && kind != "ENOENT" && !strings.HasPrefix(target, "/proc/") && target != "/dev/null" {
				p.FDs = append(p.FDs, fd+" "+target)
			}
		}
	}
	p.Session = word(g.Session == g.Pgrp, "own", "of another group")
	p.Terminal = word(g.TTY == 0, "none", strconv.Itoa(g.TTY))
	p.Processes = word(g.Processes <= 2, "its own", strconv.Itoa(g.Processes))
	p.Home = word(g.Home != s.home && g.Home != "", "private", g.Home)
	return p
}

// word chooses.
func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// ownNamespaces are those of the tests, which the server is in too.
func ownNamespaces(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, n := range []string{"pid", "mnt", "net", "ipc", "uts", "user", "cgroup"} {
		link, err := os.Readlink("/proc/self/ns/" + n)
		if err != nil {
			t.Fatal(err)
		}
		out[n] = link
	}
	return out
}
