package catalog

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// DefaultMaxSkills is how many skills are served unless the owner says so.
const DefaultMaxSkills = 32

// Options says what to scan.
type Options struct {
	// Roots are the configured directories. Relative ones are taken from the
	// current directory.
	Roots []string
	// MaxSkills is how many skills are served; 0 is DefaultMaxSkills.
	MaxSkills int
	// Reserved tells the names of variables that no script may be handed; nil
	// reserves none. (grant.Reserved)
	Reserved func(name string) bool
	// Before is the catalog that the new one is to replace, nil for the first.
	// It stays as it is; what it knows of unchanged files is kept.
	Before *Catalog
}

// Scan reads the skills of all roots. It never fails: what went wrong is among
// the Catalog's problems. When ctx ends, what has not been read is missing.
func Scan(ctx context.Context, opts Options) *Catalog {
	if opts.MaxSkills <= 0 {
		opts.MaxSkills = DefaultMaxSkills
	}
	if opts.Reserved == nil {
		opts.Reserved = func(string) bool { return false }
	}
	hashes := newHashCache()
	if opts.Before != nil {
		hashes = opts.Before.hashes
	}
	d := discovery{reached: map[string]bool{}}
	for i, root := range opts.Roots {
		abs, err := filepath.Abs(root)
		if err == nil {
			root = abs
		}
		d.root(i, root)
	}
	results := readAll(ctx, d.candidates(), &opts)
	c := assemble(&d, results, &opts)
	c.hashes = hashes
	for _, s := range c.Skills {
		s.hashes = hashes
	}
	return c
}

// result is what became of one candidate.
type result struct {
	skill    *Skill // nil when it is not served
	problems []Problem
}

// readAll reads candidates, several at a time: reading is mostly waiting for
// the kernel, and twice the processors keep them busy.
func readAll(ctx context.Context, all []candidate, opts *Options) []result {
	results := make([]result, len(all))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(2*runtime.GOMAXPROCS(0), len(all), 16) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				results[i] = readSkill(ctx, all[i], opts)
			}
		})
	}
	readers.Wait()
	return results
}

// assemble puts the skills and problems of all roots together, in the order of
// the contract.
func assemble(d *discovery, results []result, opts *Options) *Catalog {
	c := &Catalog{byName: map[string]*Skill{}}
	var groups []string
	byName := map[string][]*Skill{}
	alive := map[string]bool{}
	for _, r := range results {
		if s := r.skill; s != nil {
			if byName[s.Name] == nil {
				groups = append(groups, s.Name)
			}
			byName[s.Name] = append(byName[s.Name], s)
			alive[s.Dir] = true
		}
	}
	for i := range d.roots {
		r := &d.roots[i]
		c.Problems = append(c.Problems, r.linkProblems(alive)...)
		c.Problems = append(c.Problems, r.noSkill...)
		c.Problems = append(c.Problems, r.aside.done(r.source)...)
		for range r.candidates {
			c.Problems = append(c.Problems, results[0].problems...)
			results = results[1:]
		}
	}
	total := 0
	for _, name := range groups {
		same := byName[name]
		if len(same) > 1 {
			c.Problems = append(c.Problems, duplicate(same))
			continue
		}
		if total++; total <= opts.MaxSkills {
			c.Skills = append(c.Skills, same[0])
			c.byName[name] = same[0]
		}
	}
	if total > opts.MaxSkills {
		c.Problems = append(c.Problems, Problem{valid(d.configured()), SkillLimit, fmt.Sprintf(
			"%d skills were found and at most %d are served; the last %d are ignored", total, opts.MaxSkills, total-opts.MaxSkills)})
	}
	c.Problems = capped(c.Problems, d.configured())
	return c
}

// duplicate is the problem of several directories with one name.
func duplicate(same []*Skill) Problem {
	dirs := make([]string, len(same))
	for i, s := range same {
		dirs[i] = s.Dir
	}
	return Problem{valid(same[0].Dir), DuplicateName, valid(fmt.Sprintf(
		"%d directories are named %q, so none of them is served: %s", len(same), same[0].Name, strings.Join(dirs, ", ")))}
}

// capped cuts a list of problems that no client could take in.
func capped(list []Problem, at string) []Problem {
	if len(list) <= maxProblems {
		return list
	}
	last := list[maxProblems]
	return append(list[:maxProblems:maxProblems], Problem{valid(at), last.Reason,
		fmt.Sprintf("%d more problems of this and other kinds are not listed", len(list)-maxProblems)})
}
