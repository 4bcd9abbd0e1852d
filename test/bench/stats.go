package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// row is one thing that is measured.
type row struct {
	name string
	do   func() (time.Duration, error) // one sample
	rare int                           // measured in every rare-th round only, 0 = each
}

// timed measures a function as a whole.
func timed(f func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		begun := time.Now()
		err := f()
		return time.Since(begun), err
	}
}

// samples are the figures of one table: per row one value a round, in ms; NaN
// where a rare row was left out.
type samples map[string][]float64

// interleave takes rounds of all rows, each round in another order.
func interleave(rows []row, rounds int) (samples, error) {
	const warm = 2 // rounds that fill the caches
	s := samples{}
	for i := range rounds + warm {
		for _, j := range rand.Perm(len(rows)) {
			r := rows[j]
			v := math.NaN()
			if r.rare == 0 || i%r.rare == 0 {
				d, err := r.do()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", r.name, err)
				}
				v = float64(d) / float64(time.Millisecond)
			}
			if i >= warm {
				s[r.name] = append(s[r.name], v)
			}
		}
	}
	return s, nil
}

// less gives the paired differences to another row.
func (s samples) less(name, base string) []float64 {
	out := make([]float64, len(s[name]))
	for i, v := range s[name] {
		out[i] = v - s[base][i]
	}
	return out
}

// quantile of a list, 0 to 1; values that are missing do not count.
func quantile(list []float64, q float64) float64 {
	l := make([]float64, 0, len(list))
	for _, v := range list {
		if !math.IsNaN(v) {
			l = append(l, v)
		}
	}
	if len(l) == 0 {
		return math.NaN()
	}
	sort.Float64s(l)
	return l[min(len(l)-1, int(q*float64(len(l))))]
}

// ratio is one median as a part of another, with a 95 % interval.
type ratio struct{ Value, Low, High float64 }

// ratioOf compares medians. The interval is a bootstrap over rounds: what one
// round's noise did to both stays together. Its random numbers are the same in
// every run, so that equal samples give equal intervals.
func ratioOf(a, b []float64) ratio {
	const resamples = 2000
	draw := rand.New(rand.NewPCG(1, 2))
	var all []float64
	x, y := make([]float64, len(a)), make([]float64, len(a))
	for range resamples {
		for i := range x {
			j := draw.IntN(len(a))
			x[i], y[i] = a[j], b[j]
		}
		if v := quantile(x, 0.5) / quantile(y, 0.5); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, v)
		}
	}
	return ratio{quantile(a, 0.5) / quantile(b, 0.5), quantile(all, 0.025), quantile(all, 0.975)}
}

// String shows value and interval for a cell.
func (r ratio) String() string { return fmt.Sprintf("%.2f (%.2f to %.2f)", r.Value, r.Low, r.High) }

func ms(v float64) string { return fmt.Sprintf("%.2f", v) }

// percent is how much more a is than b, for a cell.
func percent(a, b float64) string { return fmt.Sprintf("%+.1f %%", 100*(a-b)/b) }
