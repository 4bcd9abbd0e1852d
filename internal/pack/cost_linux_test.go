package pack

import (
	"archive/zip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

// largeBundle writes a zip of exactly size bytes: two skills of stored zeros.
func (b *bench) largeBundle(size int64) string {
	b.t.Helper()
	name := filepath.Join(b.dir, "large.zip")
	overhead := b.zeroBundle(name, 0)
	if got := b.zeroBundle(name, size-overhead); got != size {
		b.t.Fatalf("the bundle has %d bytes", got)
	}
	return name
}

// zeroBundle writes a zip that holds n zeros in all and gives its size.
func (b *bench) zeroBundle(name string, n int64) int64 {
	b.t.Helper()
	f, err := os.Create(name)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	for _, skill := range []string{"a", "b"} {
		b.store(w, skill+"/SKILL.md", md(skill), 0)
		for i := range 3 {
			zeros := min(n, 42<<20)
			b.store(w, fmt.Sprintf("%s/%d", skill, i), nil, zeros)
			n -= zeros
		}
	}
	b.store(w, "rest", nil, n)
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.t.Fatal(err)
	}
	return info.Size()
}

func (b *bench) store(w *zip.Writer, name string, data []byte, zeros int64) {
	b.t.Helper()
	to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := to.Write(data); err != nil {
		b.t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for ; zeros > 0; zeros -= int64(len(block)) {
		if _, err := to.Write(block[:min(zeros, int64(len(block)))]); err != nil {
			b.t.Fatal(err)
		}
	}
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// residentPeak previews in a process of its own and gives the most memory that
// it had resident, in bytes.
func (b *bench) residentPeak(source string) int64 {
	b.t.Helper()
	out, err := b.child(source, "PACK_TEST_ONLY_PREVIEW=1").CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	m := peak.FindSubmatch(out)
	if m == nil {
		b.t.Fatalf("no peak in %s", out)
	}
	kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kib << 10
}

func TestB14AndMemoryOfALargeBundle(t *testing.T) {
	const most = 64 << 20
	b := newBench(t)
	name := b.largeBundle(MaxBundleBytes)
	got := b.residentPeak(name)
	t.Logf("256 MiB stored: %d MiB resident at the peak", got>>20)
	if got >= most {
		t.Errorf("256 MiB bundle: %d bytes resident", got)
	}
	if err := os.Truncate(name, MaxBundleBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Preview(context.Background(), name); codeOf(err) != "archive.compressed-size-exceeded" {
		t.Errorf("one byte more: %v", err)
	}
}

func TestMemoryOfNestedAndCountless(t *testing.T) {
	const most = 64 << 20
	b := newBench(t)
	inner := ziptest.Zip(skillAt("", "n", e{Name: "zeros", Data: make([]byte, 48<<20)})...)
	packed := ziptest.Pack(inner)
	nested := b.file(ziptest.Zip(e{Name: "a.zip", Data: inner, Packed: packed}, e{Name: "b.zip", Data: inner, Packed: packed}))
	if got := b.residentPeak(nested); got >= most {
		t.Errorf("nested archives: %d bytes resident", got)
	}
	entries := skillAt("s", "s")
	for i := len(entries); i < MaxEntries; i++ {
		entries = append(entries, e{Name: fmt.Sprintf("s%d/%s/%d", i%2, strings.Repeat("n", 60), i)})
	}
	if got := b.residentPeak(b.file(ziptest.Zip(entries...))); got >= most {
		t.Errorf("32,768 entries: %d bytes resident", got)
	}
}

// TestPreviewTouchesOnlySourceAndStore watches a preview's system calls: no
// process is started, and what is opened lies below the source, the store and
// the folder of skills, or is the system's own.
func TestPreviewTouchesOnlySourceAndStore(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		if os.Getenv("SKILL_MCP_REQUIRE_STRACE") == "1" {
			t.Fatal("strace is not installed")
		}
		t.Skip("strace is not installed")
	}
	b := newBench(t)
	b.install(skillAt("", "x", e{Name: "run.sh", Data: []byte("#!/bin/sh\ntouch /tmp/never\n"), Mode: 0o100755})...)
	source := b.file(ziptest.Zip(append(skillAt("s", "x", e{Name: "run.sh", Mode: 0o100755}), e{Name: "n.zip", Data: ziptest.Zip(skillAt("", "n")...), Deflate: true})...))
	log := filepath.Join(b.dir, "strace.log")
	cmd := b.child(source, "PACK_TEST_ONLY_PREVIEW=1")
	cmd.Args = append([]string{"strace", "-f", "-y", "-e", "trace=%process,open,openat,openat2,creat,socket,connect", "-o", log}, cmd.Path)
	cmd.Path, _ = exec.LookPath("strace")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	opens, execs := 0, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, " resumed>"): // its first half was seen
		case strings.Contains(line, "execve("):
			execs++
		case strings.Contains(line, "fork("), strings.Contains(line, "clone") && !strings.Contains(line, "CLONE_THREAD") && strings.Contains(line, "("), strings.Contains(line, "socket("), strings.Contains(line, "connect("):
			t.Errorf("not expected: %s", line)
		case strings.Contains(line, "open"):
			opens++
			if name := opened(line); !b.mayOpen(name, source) {
				t.Errorf("opened %q: %s", name, line)
			}
		}
	}
	if execs != 1 || opens < 10 {
		t.Errorf("%d programs started (strace starts one), %d files opened", execs, opens)
	}
}

var openCall = regexp.MustCompile(`open(?:at2?)?\((?:AT_FDCWD<[^>]*>|\d+<([^>]*)>)?,? ?"([^"]*)"`)

// opened gives the path that a line of strace -y opens.
func opened(line string) string {
	m := openCall.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	if filepath.IsAbs(m[2]) {
		return m[2]
	}
	return filepath.Join(m[1], m[2])
}

func (b *bench) mayOpen(name, source string) bool {
	for _, system := range []string{"/sys/kernel/mm/", "/proc/", "/sys/fs/cgroup/", "/etc/localtime", "/dev/null", "/etc/ld.so.cache", "/lib", "/usr/lib"} {
		if strings.HasPrefix(name, system) {
			return true
		}
	}
	return name == source || name == b.Into || strings.HasPrefix(name, b.Into+"/") || strings.HasPrefix(name, b.Store.Dir())
}
