package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"skill-mcp/internal/policy"
)

// floodMiB is how much one sample of a flood writes: enough for a second of
// the slowest machine, so that starts do not count.
const floodMiB = 4096

// floodTable is how fast the monitor's reader takes in what is written, what
// it costs in memory, and that nothing is lost at a sudden exit.
func floodTable(b bench) ([]table, error) {
	var rates, copies, growth []float64
	rounds := max(3, min(b.rounds/6, 10))
	for range rounds {
		d, err := b.flood()
		if err != nil {
			return nil, err
		}
		if d.Bytes != floodMiB<<20 {
			return nil, fmt.Errorf("%d bytes were taken in, not %d", d.Bytes, floodMiB<<20)
		}
		rates, growth = append(rates, float64(d.Bytes)/d.Seconds/1e9), append(growth, float64(d.Growth)/(1<<20))
		took, err := timed(bare("/bin/sh", "-c", fmt.Sprintf("%s role pour %d | cat >/dev/null", b.self, floodMiB)))()
		if err != nil {
			return nil, err
		}
		copies = append(copies, float64(floodMiB<<20)/took.Seconds()/1e9)
	}
	lost, whole, err := b.suddenExits(max(5, b.rounds/3))
	if err != nil {
		return nil, err
	}
	figure := func(l []float64) []string {
		return []string{ms(quantile(l, 0.5)), ms(quantile(l, 0)), ms(quantile(l, 1))}
	}
	rate, grown := quantile(rates, 0.5), quantile(growth, 1)
	return []table{{
		Title: fmt.Sprintf("A flood of 4 GiB through a pipe (n=%d)", rounds), Header: []string{"row", "median", "least", "most"},
		Rows: [][]string{append([]string{"taken in by the monitor's reader, GB/s"}, figure(rates)...),
			append([]string{"the same bytes through cat, GB/s"}, figure(copies)...),
			append([]string{"growth of the reader's memory at its peak, MiB"}, figure(growth)...)},
		Notes: []string{fmt.Sprintf("`console.log` of 1 MB and `process.exit()` at once, behind the fence: %d of %d runs lost nothing.", whole, whole+lost)},
		Goals: []goal{atLeast("a flood is taken in", rate, 3, "GB/s"), {"memory growth during it", "under 4 MiB", ms(grown) + " MiB", grown < 4},
			{"console.log(1 MB); process.exit() loses nothing", "0 lost", fmt.Sprintf("%d of %d lost", lost, whole+lost), lost == 0}},
	}}, nil
}

// flood is one sample, in a process of its own so that its memory can be seen.
func (b bench) flood() (drained, error) {
	var d drained
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.self, "role", "drain", fmt.Sprint(floodMiB))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if err != nil {
		return d, fmt.Errorf("drain: %w", err)
	}
	return d, json.Unmarshal(out, &d)
}

// suddenExits counts the runs that lost a byte of what they wrote just before
// they ended themselves, and those that lost none.
func (b bench) suddenExits(runs int) (lost, whole int, err error) {
	const size = 1_000_000
	w, err := newWall(b.bin, rowFull, b.node, fmt.Sprintf("console.log('a'.repeat(%d)); process.exit()", size), policy.NetNone)
	if err != nil {
		return 0, 0, err
	}
	defer w.close()
	for range runs {
		r, err := w.Run(context.Background(), w.request(), nil, nil)
		if err != nil {
			return lost, whole, err
		}
		if len(r.Stdout) == size+1 {
			whole++
		} else {
			lost++
		}
	}
	return lost, whole, nil
}
