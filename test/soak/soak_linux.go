package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// all are the kinds of script that every station runs; a bomb of memory takes a
// second of the machine, so that it is rarer.
var all = []string{"quick", "quick", "quick", "fail", "flood", "tree", "late", "disk", "talk", "memory"}

// soak lets the stations, or one of them, work until the time is over.
func soak(bin string, length time.Duration, only string, led *ledger) error {
	led.note("as uid %d, %v", os.Getuid(), length)
	end := ending(length)
	var stations sync.WaitGroup
	for name, station := range map[string]func(string, *ledger, <-chan struct{}) error{
		"stdio": steady, "http": crowded, "kills": restless, "disk": full, "pressure": pressed,
	} {
		if only != "" && only != name {
			continue
		}
		stations.Go(func() {
			if err := station(bin, led, end); err != nil {
				led.violate("station %s: %v", name, err)
			}
		})
	}
	stations.Wait()
	return nil
}

// steady is one server over stdio for the whole time, with three callers, a
// reader that pauses, reloads, and files that come and go under a watch.
func steady(bin string, led *ledger, end <-chan struct{}) error {
	w, err := newWorld("stdio", "MCP_SKILL_WATCH=1")
	if err != nil {
		return err
	}
	defer w.remove()
	said := &lines{}
	s, err := newSession(led, bin, w.env, said)
	if err != nil {
		return err
	}
	if !s.open(false) {
		return fmt.Errorf("initialize: no result: %s", said)
	}
	monitor := monitorOf(s.pid())
	c := &client{led: led, mark: fmt.Sprint("soak-stdio-", s.pid()), kinds: all}
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for !over(end) && !over(s.gone) {
				c.act(s)
			}
		})
	}
	work.Go(func() {
		for !over(end) && !over(s.gone) {
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Millisecond)
			switch rand.IntN(4) {
			case 0:
				s.hup()
			case 1:
				s.rest(time.Duration(rand.IntN(2500)) * time.Millisecond)
			case 2:
				led.count("files changed under a watch")
				w.flip()
			case 3:
				s.write([]byte([]string{`{"jsonrpc":`, `[]`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "\xff\xfe", `7`}[rand.IntN(5)]))
			}
		}
	})
	watchSize(led, "stdio", s.pid(), end, s.gone)
	work.Wait()
	if over(s.gone) {
		led.violate("stdio: the server ended by itself: %.2000s", said)
	}
	goroutines(led, "stdio", s.pid(), said, s.exited)
	s.end()
	nothingRuns(led, c.mark)
	return final(bin, led, w, []int{monitor})
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// watchSize samples a front and its monitor until the end.
func watchSize(led *ledger, name string, front int, end <-chan struct{}, gone <-chan struct{}) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for !over(end) {
		select {
		case <-gone:
			return
		case <-tick.C:
		}
		for who, pid := range map[string]int{"front": front, "monitor": monitorOf(front)} {
			if s, ok := measure(pid); ok {
				led.sample(name+" "+who, s)
			}
		}
	}
}

// mostGoroutines is what a resting front or monitor may have: the runtime's,
// the transport's, the watch's, the monitor's connection. A leak of one in a
// hundred calls is far above it after a minute.
const mostGoroutines = 60

// goroutines ends a resting server by SIGQUIT, which makes Go's runtime write
// every goroutine, and counts them.
func goroutines(led *ledger, name string, front int, said *lines, exited <-chan struct{}) {
	time.Sleep(500 * time.Millisecond) // the last calls' goroutines end
	_ = syscall.Kill(front, syscall.SIGQUIT)
	select {
	case <-exited:
	case <-time.After(20 * time.Second):
		led.note("%s: the front did not end on SIGQUIT", name)
		return
	}
	n := len(regexp.MustCompile(`(?m)^goroutine \d+`).FindAllString(said.String(), -1))
	led.note("%s: %d goroutines of a front at rest in the end", name, n)
	if n > mostGoroutines {
		led.violate("%s: %d goroutines at rest", name, n)
	}
}

// crowded is one server over HTTP with many clients that come and go.
func crowded(bin string, led *ledger, end <-chan struct{}) error {
	w, err := newWorld("http")
	if err != nil {
		return err
	}
	defer w.remove()
	l, err := newListener(led, bin, w.env)
	if err != nil {
		return err
	}
	front := l.cmd.Process.Pid
	monitor := monitorOf(front)
	c := &client{led: led, mark: fmt.Sprint("soak-http-", front), kinds: all}
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for !over(end) && !over(l.exited) {
				v := l.visit()
				if v == nil {
					continue
				}
				for range 1 + rand.IntN(12) {
					c.act(v)
				}
				v.leave()
			}
		})
	}
	work.Go(func() {
		for !over(end) && !over(l.exited) {
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			if rand.IntN(4) == 0 {
				led.count("reloads by SIGHUP")
				w.flip()
				_ = l.cmd.Process.Signal(syscall.SIGHUP)
				continue
			}
			l.rude(c.mark)
		}
	})
	watchSize(led, "http", front, end, l.exited)
	work.Wait()
	if over(l.exited) {
		led.violate("http: the server ended by itself: %.2000s", l.said)
	}
	time.Sleep(6 * time.Second) // idle sessions end after five
	goroutines(led, "http", front, l.said, l.exited)
	l.end()
	nothingRuns(led, c.mark)
	return final(bin, led, w, []int{monitor})
}

// restless starts servers and ends a random party of each at a random moment.
func restless(bin string, led *ledger, end <-chan struct{}) error {
	w, err := newWorld("kills")
	if err != nil {
		return err
	}
	defer w.remove()
	var monitors []int
	for !over(end) {
		s, err := newSession(led, bin, w.env, &lines{})
		if err != nil {
			return err
		}
		s.open(rand.IntN(2) == 0)
		monitor := monitorOf(s.pid())
		monitors = append(monitors, monitor)
		c := &client{led: led, mark: fmt.Sprint("soak-kill-", s.pid()), kinds: all[:len(all)-1], strain: true}
		var work sync.WaitGroup
		for range 1 + rand.IntN(2) {
			work.Go(func() {
				for range 2 + rand.IntN(8) {
					c.act(s)
				}
			})
		}
		work.Go(func() { strike(led, s, monitor) })
		if rand.IntN(4) == 0 { // its client goes while calls are open, and reads no more
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			led.count("clients that closed in the middle")
			_ = s.in.Close()
		}
		work.Wait()
		s.end()
		nothingRuns(led, c.mark)
	}
	return final(bin, led, w, monitors)
}

// strike ends one party of a server.
func strike(led *ledger, s *session, monitor int) {
	time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
	switch rand.IntN(4) {
	case 0:
		led.count("kills: front")
		_ = s.cmd.Process.Kill()
	case 1:
		if monitor > 0 && !over(s.gone) && cmdline(monitor) != "" {
			led.count("kills: monitor")
			_ = syscall.Kill(monitor, syscall.SIGKILL)
		}
	default: // something of a run, if one is under way
		if all := family(monitor); len(all) > 0 && !over(s.gone) {
			led.count("kills: a process of a run")
			_ = syscall.Kill(all[rand.IntN(len(all))], syscall.SIGKILL)
		}
	}
}

// final starts one more server where others were, whose sweep leaves nothing.
func final(bin string, led *ledger, w world, monitors []int) error {
	s, err := newSession(led, bin, w.env, os.Stderr)
	if err != nil {
		return err
	}
	if !s.open(false) {
		return fmt.Errorf("the last start: no answer")
	}
	monitors = append(monitors, monitorOf(s.pid()))
	c := &client{led: led, mark: fmt.Sprint("soak-last-", s.pid()), kinds: all}
	c.run(s, "quick")
	s.end()
	nothingRuns(led, c.mark)
	w.nothingLeft(led, monitors)
	return nil
}
