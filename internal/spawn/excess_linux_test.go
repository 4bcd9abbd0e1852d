package spawn

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// TestExcessIsSeen: what no kernel bounds is seen past its limit, in whatever
// process of the tree it is and however a directory is closed, and a run within
// its limits is left alone.
func TestExcessIsSeen(t *testing.T) {
	// As the monitor is: orphans come to it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	const eat = `const held = Buffer.alloc(300 << 20, 1); setInterval(() => held.length, 1000)`
	child := func(rest string) string {
		return `require("child_process").spawn(process.execPath, ["-e", ` + strconv.Quote(eat) + `], {detached: true, stdio: "ignore"}); ` + rest
	}
	const idle = `; console.log("done"); setInterval(() => 0, 1000)`
	fill := func(prepare string) string {
		return `const fs = require("fs"), at = require("os").tmpdir(); process.chdir(at); ` + prepare +
			`for (let i = 0; i < 20; i++) fs.writeFileSync("f" + i, Buffer.alloc(1 << 20, 1)); fs.chmodSync(".", 0)` + idle
	}
	for name, c := range map[string]struct {
		script string
		off    report.Layer
		want   report.Verdict
	}{
		"memory of the script":             {eat, "", report.OOMWatch},
		"memory of a child":                {child(idle[2:]), "", report.OOMWatch},
		"memory of an orphan":              {`require("child_process").spawnSync(process.execPath, ["-e", ` + strconv.Quote(child("process.exit()")) + `])` + idle, "", report.OOMWatch},
		"memory of an orphan without init": {`require("child_process").spawnSync(process.execPath, ["-e", ` + strconv.Quote(child("process.exit()")) + `])` + idle, report.NSPid, report.OOMWatch},
		"little memory":                    {idle[2:], "", ""},
		"files":                            {fill(""), report.NSMount, report.Disk},
		"files in a closed directory":      {fill(`fs.mkdirSync("d"); process.chdir("d"); `), report.NSMount, report.Disk},
		"a directory past every depth":     {fill(`for (let i = 0; i < 400; i++) { fs.mkdirSync("d"); process.chdir("d"); } `), report.NSMount, report.Disk},
		"few files":                        {`require("fs").writeFileSync(require("os").tmpdir() + "/x", "x")` + idle, report.NSMount, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := testPolicy(c.off)
			h := newHost(t, p)
			h.lacks[report.CgroupMemory] = lack{"prepare", "EACCES", "the test takes it away"}
			s := testSpec(t, p, "/usr/bin/node", c.script)
			s.Limits.MemoryBytes, s.Limits.TmpBytes = 200<<20, 8<<20
			r, out := start(t, h, s)
			if row := r.Fence().Row(report.CgroupMemory); row.Got != report.Partial || row.Remedy == "" {
				t.Errorf("%+v", row)
			}
			got := report.Verdict("")
			if c.want == "" {
				buf := make([]byte, 16)
				out.Read(buf) // it has done what it does
				got = r.Over()
			}
			for end := time.Now().Add(30 * time.Second); c.want != "" && got == "" && time.Now().Before(end); poll(-1, 0, 5*time.Millisecond) {
				got = r.Over()
			}
			if got != c.want {
				t.Errorf("over %q, want %q", got, c.want)
			}
			r.Kill(5 * time.Second)
			if u := r.Usage(); c.want == report.OOMWatch && u.PeakMemory < s.Limits.MemoryBytes {
				t.Errorf("peak %d", u.PeakMemory)
			}
			if left := r.Close(); left != nil {
				t.Errorf("left %v", left)
			}
			out.Close()
			nothingLeft(t, h)
		})
	}
}

// TestAnyTreeIsRemoved: deeper than there are descriptors, and closed by modes
// at every level.
func TestAnyTreeIsRemoved(t *testing.T) {
	var had unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &had); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 250 {
		for _, n := range []string{"d", "side"} {
			if err := unix.Mkdirat(at, n, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Symlinkat("/etc", at, "link"); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Fchmodat(at, "side", 0, 0)
		unix.Fchmod(at, 0)
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	low := had
	low.Cur = 100
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	err = removeTree(dir)
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &had); e != nil {
		t.Fatal(e)
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	}
}

// TestTooFullCountsBlocks: a file is as large as what it takes on the disk.
func TestTooFullCountsBlocks(t *testing.T) {
	dir := t.TempDir()
	l := policy.Limits{TmpBytes: 1 << 20, TmpInodes: 10}
	if err := os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if tooFull(dir, l) {
		t.Error("a sparse file counts as whole")
	}
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !tooFull(dir, l) {
		t.Error("eleven files of ten")
	}
}
