package main

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// mostShown is how many violations the summary spells out; all are counted.
const mostShown = 50

// ledger is what the stations report to.
type ledger struct {
	began time.Time

	mu         sync.Mutex
	counts     map[string]int
	violations []string
	broke      int
	samples    map[string][]sample // by process: "stdio front"
	notes      []string
}

// sample is the size of one process at one moment.
type sample struct{ rssKiB, fds, threads int }

func newLedger() *ledger {
	return &ledger{began: time.Now(), counts: map[string]int{}, samples: map[string][]sample{}}
}

// count adds one to what is counted under name.
func (l *ledger) count(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[name]++
}

// violate records that something which has to hold did not.
func (l *ledger) violate(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprintf("%6.0f s  %s", time.Since(l.began).Seconds(), fmt.Sprintf(format, args...))
	fmt.Fprintln(os.Stderr, "violation:", line)
	if l.broke++; len(l.violations) < mostShown {
		l.violations = append(l.violations, line)
	}
}

// note keeps a line for the summary.
func (l *ledger) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// sample keeps the size of a process.
func (l *ledger) sample(name string, s sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples[name] = append(l.samples[name], s)
}

func (l *ledger) broken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broke
}

// Growth that is not noise: a collector decides by itself when it gives memory
// back, a prepared child has up to eight descriptors, and a thread that was
// blocked once stays.
const (
	growthKiB     = 12 << 10
	growthFDs     = 10
	growthThreads = 10
)

// judgeGrowth compares the second quarter of a process's life with the last one.
// The first is left out: it is when caches fill.
func (l *ledger) judgeGrowth() {
	for name, all := range l.samples {
		if len(all) < 8 {
			continue
		}
		quarter := len(all) / 4
		early, late := middle(all[quarter:2*quarter]), middle(all[len(all)-quarter:])
		line := fmt.Sprintf("%s: %.1f -> %.1f MiB, %d -> %d descriptors, %d -> %d threads (medians of the second and the last quarter of %d samples)",
			name, float64(early.rssKiB)/1024, float64(late.rssKiB)/1024, early.fds, late.fds, early.threads, late.threads, len(all))
		l.note("%s", line)
		if late.rssKiB > early.rssKiB+growthKiB || late.fds > early.fds+growthFDs || late.threads > early.threads+growthThreads {
			l.violate("growth: %s", line)
		}
	}
}

// middle is the median of each figure.
func middle(all []sample) sample {
	of := func(get func(sample) int) int {
		values := make([]int, len(all))
		for i, s := range all {
			values[i] = get(s)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		of(func(s sample) int { return s.rssKiB }), of(func(s sample) int { return s.fds }), of(func(s sample) int { return s.threads }),
	}
}

// summary is the report as Markdown.
func (l *ledger) summary() string {
	l.judgeGrowth()
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%s of soak, %d violations.\n\n", time.Since(l.began).Round(time.Second), l.broke)
	for _, v := range l.violations {
		fmt.Fprintf(&b, "- violation: %s\n", v)
	}
	sort.Strings(l.notes)
	for _, n := range l.notes {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	fmt.Fprint(&b, "\n| what happened | times |\n|---|---|\n")
	names := make([]string, 0, len(l.counts))
	for n := range l.counts {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(&b, "| %s | %d |\n", n, l.counts[n])
	}
	return b.String()
}
