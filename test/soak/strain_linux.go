package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// full is a server whose temporary folder and data folder are small disks that
// are filled and emptied. It needs root for the mounts.
func full(bin string, led *ledger, end <-chan struct{}) error {
	if os.Getuid() != 0 {
		led.note("full disks were left out: mounting small ones needs root")
		return nil
	}
	w, err := newWorld("disk")
	if err != nil {
		return err
	}
	defer w.remove()
	for path, size := range map[string]string{w.tmp: "size=8m", w.data: "size=256k,nr_inodes=64"} {
		if err := unix.Mount("soak", path, "tmpfs", 0, size); err != nil {
			return fmt.Errorf("mount a small disk: %w", err)
		}
		if err := os.Chmod(path, 0o777); err != nil {
			return err
		}
	}
	w.env = append(w.env, "MCP_DATA_DIR="+w.data, `MCP_SKILL_RUN=[{"skill":"worker","script":"scripts/act.js"},{"skill":"worker","script":"scripts/late.js"}]`)
	s, err := newSession(led, bin, w.env, &lines{})
	if err != nil {
		return err
	}
	if !s.open(false) {
		return fmt.Errorf("initialize: no result")
	}
	monitors := []int{monitorOf(s.pid())}
	c := &client{led: led, mark: fmt.Sprint("soak-disk-", s.pid()), kinds: []string{"quick", "fail", "disk", "tree"}}
	for !over(end) && !over(s.gone) {
		place := []string{w.tmp, w.data}[rand.IntN(2)]
		led.count("disks filled")
		fill(place)
		c.strain = true
		for range 6 {
			c.act(s)
		}
		_ = os.Remove(place + "/filler")
		c.strain = false
		c.act(s)
		c.run(s, "quick")
	}
	if over(s.gone) {
		led.violate("disk: the server ended by itself")
	}
	s.end()
	nothingRuns(led, c.mark)
	return final(bin, led, w, monitors)
}

// fill writes until nothing more fits.
func fill(dir string) {
	f, err := os.Create(dir + "/filler")
	if err != nil {
		return
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 4 << 10, 1} {
		for chunk := make([]byte, size); ; {
			if _, err := f.Write(chunk); err != nil {
				break
			}
		}
	}
}

// pressed is a server whose front or monitor gets no more descriptors for a
// while, or a front that gets no more memory, which may end it.
func pressed(bin string, led *ledger, end <-chan struct{}) error {
	w, err := newWorld("pressure")
	if err != nil {
		return err
	}
	defer w.remove()
	var monitors []int
	for !over(end) {
		said := &lines{}
		s, err := newSession(led, bin, w.env, said)
		if err != nil {
			return err
		}
		if !s.open(false) {
			return fmt.Errorf("initialize: no result: %s", said)
		}
		monitor := monitorOf(s.pid())
		monitors = append(monitors, monitor)
		c := &client{led: led, mark: fmt.Sprint("soak-press-", s.pid()), kinds: []string{"quick", "fail", "flood", "tree"}}
		c.run(s, "quick") // interpreters are looked up once, at the start
		for range 4 {
			if !over(end) && !over(s.gone) {
				squeeze(led, s, c, monitor)
			}
		}
		if !over(s.gone) && !over(end) {
			starve(led, s, c, said)
		}
		s.end()
		nothingRuns(led, c.mark)
	}
	return final(bin, led, w, monitors)
}

// squeeze lets a process open nothing more for six calls; after it everything
// works again.
func squeeze(led *ledger, s *session, c *client, monitor int) {
	pid, who := s.pid(), "front"
	if rand.IntN(2) == 0 {
		pid, who = monitor, "monitor"
	}
	size, ok := measure(pid)
	if !ok {
		return
	}
	var before unix.Rlimit
	if err := unix.Prlimit(os.Getpid(), unix.RLIMIT_NOFILE, nil, &before); err != nil { // a server inherits it
		return
	}
	if err := limit(pid, "nofile", uint64(size.fds+rand.IntN(4))); err != nil {
		led.violate("take descriptors from the %s: %v", who, err)
		return
	}
	led.count("descriptors taken from the " + who)
	c.strain = true
	for range 6 {
		c.act(s)
	}
	c.strain = false
	if over(s.gone) {
		led.violate("the server ended for want of descriptors of the %s", who)
		return
	}
	if cmdline(pid) != "" {
		if err := limit(pid, "nofile", before.Cur); err != nil {
			led.violate("give descriptors back to the %s: %v", who, err)
		}
	}
	c.plain(s, "ping")
	c.say(s, "skill_load", map[string]any{"name": "worker"}, "# Worker")
	if cmdline(monitor) == "" {
		led.count("monitors that ended for want of descriptors")
		return
	}
	c.run(s, "quick")
}

// limit sets the soft limit of a process, as the user it runs as: a root
// without CAP_SYS_RESOURCE may not change other users' limits.
func limit(pid int, which string, soft uint64) error {
	uid, gid := ids(pid)
	command := []string{"prlimit", "--pid", fmt.Sprint(pid), fmt.Sprintf("--%s=%d:", which, soft)}
	if uid != fmt.Sprint(os.Getuid()) {
		command = append([]string{"setpriv", "--reuid", uid, "--regid", gid, "--clear-groups"}, command...)
	}
	text, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil && cmdline(pid) != "" {
		return fmt.Errorf("%v: %w: %s", command, err, text)
	}
	return nil
}

// ids are the user and the group of a process.
func ids(pid int) (uid, gid string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Uid:" {
			uid = f[1]
		} else if len(f) > 1 && f[0] == "Gid:" {
			gid = f[1]
		}
	}
	return uid, gid
}

// starve bounds the front's address space and asks for much. Go's runtime ends a
// process that gets no memory, which is the promise: it ends, and nothing stays.
func starve(led *ledger, s *session, c *client, said *lines) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.pid()))
	var pages uint64
	if err != nil {
		return
	}
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return
	}
	if err := limit(s.pid(), "as", pages*uint64(os.Getpagesize())+uint64(rand.IntN(8))<<20); err != nil {
		led.violate("take memory from the front: %v", err)
		return
	}
	led.count("memory taken from the front")
	c.strain = true
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range 5 {
				c.act(s)
			}
		})
	}
	work.Wait()
	if !over(s.gone) {
		led.count("fronts that lived with little memory")
		return
	}
	led.count("fronts that ended for want of memory")
	if text := said.String(); !strings.Contains(text, "out of memory") && !strings.Contains(text, "cannot allocate") && !strings.Contains(text, "errno=12") && !strings.Contains(text, "pthread_create") {
		led.violate("a front without memory ended in another way: %.600q", text)
	}
}
