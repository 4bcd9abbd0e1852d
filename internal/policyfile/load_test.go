//go:build unix

package policyfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

// write puts a policy file into a fresh directory.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "acme.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// load reads a file as the server does on Linux.
func load(file string, hosted bool) (Loaded, error) {
	return Load(Options{Choice: file, Hosted: hosted, Linux: true, ProxySet: true, Owners: []int{os.Getuid()}})
}

func TestEveryMistakeIsReportedWithItsPlace(t *testing.T) {
	file := write(t, `name: Über
network: open
layers:
  secomp: {want: off, why: x}
  seccomp: {want: maybe, why: x}
  landlock-fs: {want: off}
interpreters:
  Node: {why: x}
  python3:
    path: python3
    minVersion: three
    sha256: ABC
    env: ["LD_PRELOAD=x", "A"]
limits:
  pids: 1
  memory: 1
  tmpBytes: 1 parsec
  openFiles: 4096
read:
  - {path: etc, why: x}
  - {path: /srv/../etc, why: x}
  - {path: /proc/self, why: x}
  - {path: /srv}
  - {path: /, why: x}
egress:
  ports: [0, 443, 443, https]
  internal: [{host: "http://x", why: x}]
  testResolver: localhost
skills:
  demo:
    secrets: [NODE_OPTIONS, "1A"]
    network: wide
    hosts: [{host: "*.*.com", why: x}, {host: a.example.com}]
  a/b: {}
disabledSkills: [x, x, ".y"]
Read: []
`)
	_, err := load(file, false)
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	got := []string{}
	for _, p := range problems.List {
		got = append(got, strings.Join([]string{itoa(p.Line), itoa(p.Column)}, ":")+" "+p.Text)
	}
	want := strings.Split(strings.TrimSpace(readGolden(t, "mistakes.txt", strings.Join(got, "\n"))), "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(got) || !strings.HasPrefix(lines[0], file+":1:7: ") {
		t.Errorf("as text:\n%v", err)
	}
}

func TestAnOwnersFileBuildsOnThePolicyOfItsEnvironment(t *testing.T) {
	file := write(t, `
limits: {memoryBytes: 128MiB}
interpreters:
  bash: {path: /usr/bin/bash, why: shell scripts}
skills:
  demo:
    network: open
    why: it talks to everything
    read: [{path: /srv/data, why: its data}]
    limits: {pids: 64}
`)
	got, err := load(file, false)
	if err != nil {
		t.Fatal(err)
	}
	p := got.Policy
	if p.Name != "acme" || p.Network != policy.NetDeclared || p.NetworkFor("demo") != policy.NetOpen {
		t.Errorf("name %s network %s", p.Name, p.Network)
	}
	if l := p.LimitsFor("demo"); l.MemoryBytes != 128<<20 || l.Pids != 64 || l.OpenFiles != 1024 {
		t.Errorf("limits %+v", l)
	}
	if d := cmp.Diff([]string{"node", "bash"}, p.Names()); d != "" {
		t.Error(d)
	}
	origins := map[string]string{}
	for _, r := range policy.Explain(p, got.Sources) {
		origins[r.Key] = r.Origin
	}
	for key, want := range map[string]string{
		"limits.memoryBytes": file + ":2", "limits.pids": "standalone", "interpreters.bash": file + ":4",
		"skills.demo.read./srv/data": file + ":9", "skills.demo.limits.pids": file + ":10", "layers.seccomp": "standalone",
	} {
		if origins[key] != want {
			t.Errorf("origin of %s is %q, want %q", key, origins[key], want)
		}
	}
}

func TestHostedTakesAnOwnersFileAsANarrowing(t *testing.T) {
	file := write(t, `
extends: portable
interpreters:
  bash: {path: /usr/bin/bash, why: shell scripts}
layers:
  ns-net: {want: require, why: no network without it}
limits: {memoryBytes: 4GiB, pids: 64, why: big data}
write: [{path: /srv, why: results}]
disabledSkills: [old]
`)
	got, err := load(file, true)
	if err != nil {
		t.Fatal(err)
	}
	base := mustShip(t, "hosted")
	if why := policy.Allows(base, got.Policy); why != "" {
		t.Errorf("allows more than hosted: %s", why)
	}
	p := got.Policy
	if p.Name != "hosted+acme" || p.Want(report.NSNet) != report.Require || p.LimitsFor("").Pids != 64 || !p.Disabled("old") {
		t.Errorf("got %+v", p)
	}
	if len(got.Notes) < 4 {
		t.Errorf("notes %q", got.Notes)
	}
}

func TestTestKeysAreRefusedInHostedMode(t *testing.T) {
	file := write(t, "egress: {testResolver: \"127.0.0.1:5353\"}\n")
	if _, err := load(file, false); err != nil {
		t.Errorf("standalone: %v", err)
	}
	if _, err := load(file, true); err == nil || !strings.Contains(err.Error(), "egress.testResolver") {
		t.Errorf("hosted: %v", err)
	}
}

func TestAFileThatOthersControlIsNotBelieved(t *testing.T) {
	good := "disabledSkills: [x]\n"
	for _, c := range []struct {
		name, want string
		file       func(t *testing.T) string
	}{
		{"group may write it", "chmod go-w", func(t *testing.T) string {
			f := write(t, good)
			os.Chmod(f, 0o620)
			return f
		}},
		{"anyone may write it", "chmod go-w", func(t *testing.T) string {
			f := write(t, good)
			os.Chmod(f, 0o602)
			return f
		}},
		{"it is a directory", "not a regular file", func(t *testing.T) string { return t.TempDir() }},
		{"it is a FIFO without a writer", "not a regular file", func(t *testing.T) string {
			f := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(f, 0o600); err != nil {
				t.Fatal(err)
			}
			return f
		}},
		{"it is a device", "not a regular file", func(*testing.T) string { return "/dev/null" }},
		{"it does not exist", "no such file", func(t *testing.T) string { return filepath.Join(t.TempDir(), "x.yaml") }},
		{"it is too long", "are read", func(t *testing.T) string { return write(t, strings.Repeat("#\n", maxFile)) }},
		{"it calls itself hosted", "shipped policy", func(t *testing.T) string { return write(t, "name: hosted\n") }},
		{"the name is relative", "not one of", func(*testing.T) string { return "acme.yaml" }},
		{"the name leaves the shipped ones", "not one of", func(*testing.T) string { return "../policy/hosted" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := load(c.file(t), false); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestAFileOfAnotherUserIsNotBelieved(t *testing.T) {
	f := write(t, "disabledSkills: [x]\n")
	st, err := os.Stat(f)
	if err != nil {
		t.Fatal(err)
	}
	uid := int(st.Sys().(*syscall.Stat_t).Uid)
	if uid == 0 {
		if err := os.Chown(f, 4242, 4242); err != nil {
			t.Fatal(err)
		}
		uid = 4242
	}
	if _, err := Load(Options{Choice: f, Linux: true, Owners: []int{uid + 1}}); err == nil || !strings.Contains(err.Error(), "chown") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(Options{Choice: f, Linux: true, Owners: []int{uid}}); err != nil {
		t.Errorf("its own user: %v", err)
	}
}

// FuzzParse: whatever the text, a policy that is accepted in hosted mode allows
// nothing that the shipped one does not, and one that is refused says where.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "name: a\n", "network: {mode: open, why: x}\n", "layers: {seccomp: {want: off, why: x}}\n",
		"skills: {a: {secrets: [X], why: x}}\n", "read: [{path: /a, why: x}]\nextends: nothing\n", "limits: {pids: 33}\n",
		"interpreters: {bash: {why: x, read: [{path: /usr, why: y}]}}\n", "egress: {ports: [1]}\n",
	} {
		f.Add([]byte(s))
	}
	base, err := Shipped("hosted")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := overlay("/x.yaml", text, "hosted")
		if err != nil {
			var p *Problems
			if !errors.As(err, &p) || len(p.List) == 0 || p.List[0].Text == "" {
				t.Fatalf("a refusal without a mistake: %v", err)
			}
			return
		}
		if len(got.Policy.TestKeys()) > 0 {
			return
		}
		out, err := narrowed(got, true)
		if err != nil {
			t.Fatal(err)
		}
		if why := policy.Allows(base, out.Policy); why != "" {
			t.Fatalf("allows more than hosted: %s", why)
		}
	})
}
