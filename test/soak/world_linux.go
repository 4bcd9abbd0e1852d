package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// worker is the skill that the soak serves.
const worker = `---
name: worker
description: Does what the soak asks of it.
mcp-host:
  version: 1
  run:
    - {script: scripts/act.js, interpreter: node, timeout: 20}
    - {script: scripts/late.js, interpreter: node, timeout: 1}
---
# Worker

Text.
`

// act is the script: what it does is its first argument.
const act = `const fs = require('fs'), os = require('os'), { spawn } = require('child_process');
const kind = process.argv[2];
if (kind === 'flood') process.stdout.write('x'.repeat(3 << 20));
if (kind === 'fail') process.exitCode = 7;
if (kind === 'tree') {
  for (let i = 0; i < 3; i++) spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', process.argv[3]], { detached: true, stdio: 'inherit' }).unref();
}
if (kind === 'memory') { const all = []; for (;;) all.push(Buffer.alloc(8 << 20, 1)); }
if (kind === 'disk') {
  try { for (let i = 0; i < 40; i++) fs.writeFileSync(os.tmpdir() + '/f' + i, 'x'.repeat(4 << 20)); } catch (e) { console.log(e.code); }
}
if (kind === 'talk') {
  let n = 0;
  const t = setInterval(() => { console.log('line', n); if (++n > 12) clearInterval(t); }, 200);
}
console.log('done');
`

// world is a folder of one station.
type world struct {
	dir, skills, tmp, data string
	env                    []string
}

// newWorld makes the skills, a temporary folder and a data folder.
func newWorld(name string, extra ...string) (world, error) {
	dir, err := os.MkdirTemp("", "skill-soak-"+name+"-")
	if err != nil {
		return world{}, err
	}
	w := world{dir: dir, skills: dir + "/skills", tmp: dir + "/tmp", data: dir + "/data"}
	files := map[string]string{
		"SKILL.md": worker, "scripts/act.js": act, "scripts/late.js": "setInterval(() => {}, 1000);\n",
		"references/big.txt": strings.Repeat("0123456789abcde\n", 60_000),
	}
	for name, text := range files {
		path := filepath.Join(w.skills, "worker", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return w, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return w, err
		}
	}
	for _, d := range []string{w.tmp, w.data} {
		if err := os.Mkdir(d, 0o777); err != nil {
			return w, err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return w, err
	}
	w.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SKILLS_DIR=" + w.skills, "TMPDIR=" + w.tmp, "SOAK_SECRET=" + name,
	}, extra...)
	return w, nil
}

// flip adds or removes a second skill.
func (w world) flip() {
	dir := w.skills + "/passing"
	if os.RemoveAll(dir+"-old") == nil && os.Rename(dir, dir+"-old") == nil {
		_ = os.RemoveAll(dir + "-old")
		return
	}
	if os.Mkdir(dir, 0o755) == nil {
		_ = os.WriteFile(dir+"/SKILL.md", []byte("---\nname: passing\ndescription: Comes and goes.\n---\nText.\n"), 0o644)
	}
}

// measure is the size of a process.
func measure(pid int) (sample, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return sample{}, false
	}
	field := func(name string) int {
		_, rest, _ := strings.Cut(string(text), "\n"+name+":")
		f := strings.Fields(rest)
		if len(f) == 0 {
			return 0
		}
		n, _ := strconv.Atoi(f[0])
		return n
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return sample{field("VmRSS"), len(fds), field("Threads")}, err == nil && field("VmRSS") > 0
}

// monitorOf finds the helper of a front.
func monitorOf(front int) int {
	for _, pid := range children(front) {
		if strings.Contains(cmdline(pid), "skill-exec\x00monitor") {
			return pid
		}
	}
	return 0
}

func children(pid int) []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l)
		for _, f := range strings.Fields(string(text)) {
			n, _ := strconv.Atoi(f)
			all = append(all, n)
		}
	}
	return all
}

func cmdline(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(text)
}

// family is every descendant of a process.
func family(pid int) []int {
	var all []int
	for _, c := range children(pid) {
		all = append(append(all, c), family(c)...)
	}
	return all
}

// marked finds processes that have mark as an argument.
func marked(mark string) []int {
	var found []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && strings.Contains(cmdline(pid)+"\x00", "\x00"+mark+"\x00") {
			found = append(found, pid)
		}
	}
	return found
}

// until waits for a condition.
func until(most time.Duration, ok func() bool) bool {
	for end := time.Now().Add(most); ; time.Sleep(50 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// nothingRuns holds that no process of a run outlives its server.
func nothingRuns(led *ledger, mark string) {
	if !until(20*time.Second, func() bool { return len(marked(mark)) == 0 }) {
		led.violate("%s: processes are left: %v", mark, marked(mark))
	}
}

// nothingLeft holds that groups and folders of these monitors are gone. One that
// was killed is swept up by the next start in the same folder.
func (w world) nothingLeft(led *ledger, monitors []int) {
	for _, pid := range monitors {
		for _, place := range []string{w.tmp + "/", "/tmp/", "/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
			if left, _ := filepath.Glob(fmt.Sprintf("%sskill-mcp-*-%d-*", place, pid)); len(left) > 0 && !until(10*time.Second, func() bool {
				left, _ = filepath.Glob(fmt.Sprintf("%sskill-mcp-*-%d-*", place, pid))
				return len(left) == 0
			}) {
				led.violate("monitor %d left %v", pid, left)
			}
		}
	}
	if left, _ := os.ReadDir(w.tmp); len(left) > 0 {
		led.violate("%s holds %v", w.tmp, left)
	}
}

// remove takes the world away.
func (w world) remove() {
	_ = syscall.Unmount(w.tmp, syscall.MNT_DETACH)
	_ = syscall.Unmount(w.data, syscall.MNT_DETACH)
	_ = os.RemoveAll(w.dir)
}
