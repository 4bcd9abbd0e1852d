package deps

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Runtime says in which runs a skill takes part.
type Runtime string

// The runtimes. Main and Background are what a skill may name beside Any;
// Automation is a kind of run only, in which every skill takes part.
const (
	Any        Runtime = "any"
	Main       Runtime = "main"
	Background Runtime = "background_job"
	Automation Runtime = "automation"
)

// RuntimeOf reads the frontmatter field ankole-runtime; absent is Any.
func RuntimeOf(text string, set bool) (Runtime, error) {
	switch r := Runtime(text); {
	case !set:
		return Any, nil
	case r == Any || r == Main || r == Background:
		return r, nil
	}
	return Any, Problem{Code: CodeRuntime, Path: "ankole-runtime",
		Detail: "has to be any, main or background_job"}.err()
}

func (p Problem) err() error { return Problems{p} }

// TakesPart reports whether a skill of runtime r is used in runs of kind run.
func (r Runtime) TakesPart(run Runtime) bool {
	return run == Automation || r == Any || r == run
}

const (
	maxSkills  = 4096 // as many as a server can be told to serve
	maxServers = 256  // of one run; mcporter starts each on demand
)

// Declared is what one skill contributes to a union.
type Declared struct {
	Skill   string
	Servers []Server
}

// United is one server of a union with the skills that declare it.
type United struct {
	Server
	Skills []string
}

// Union unites the declarations by server name. The same name twice is fine
// when all facts are equal; else the union fails with one problem per server
// that names every skill and field involved. The result is sorted by name and
// does not depend on the order of the input.
func Union(all []Declared) ([]United, error) {
	if len(all) > maxSkills {
		return nil, Problems{{Code: CodeTooManySkills, Detail: fmt.Sprintf("%d skills, at most %d", len(all), maxSkills)}}
	}
	sorted := slices.Clone(all)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Skill < sorted[j].Skill })
	first, differing := map[string]*United{}, map[string]map[string]bool{}
	for _, d := range sorted {
		for _, s := range d.Servers {
			u := first[s.Name]
			if u == nil {
				first[s.Name] = &United{Server: s, Skills: []string{d.Skill}}
				continue
			}
			if u.Skills[len(u.Skills)-1] != d.Skill {
				u.Skills = append(u.Skills, d.Skill)
			}
			for _, f := range differences(u.Server, s) {
				if differing[s.Name] == nil {
					differing[s.Name] = map[string]bool{}
				}
				differing[s.Name][f] = true
			}
		}
	}
	return settle(first, differing)
}

// settle sorts a union, or gives its conflicts.
func settle(first map[string]*United, differing map[string]map[string]bool) ([]United, error) {
	names := sortedKeys(first)
	var conflicts Problems
	for _, n := range names {
		if differing[n] != nil {
			conflicts = append(conflicts, Problem{Code: CodeConflict, Path: n, Detail: fmt.Sprintf(
				"the skills %s declare the server %q differently: %s", strings.Join(first[n].Skills, ", "), n,
				strings.Join(sortedKeys(differing[n]), ", "))})
		}
	}
	if conflicts != nil {
		return nil, conflicts
	}
	if len(names) > maxServers {
		return nil, Problems{{Code: CodeTooManyServer, Detail: fmt.Sprintf("%d servers in one run, at most %d", len(names), maxServers)}}
	}
	out := make([]United, len(names))
	for i, n := range names {
		out[i] = *first[n]
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// differences names the fields in which two declarations of one server differ.
func differences(a, b Server) []string {
	var out []string
	for _, f := range []struct {
		name  string
		equal bool
	}{
		{"transport", a.Transport == b.Transport},
		{"description", a.Described == b.Described && a.Description == b.Description},
		{"url", a.URL == b.URL},
		{"protocol_version", a.Protocol == b.Protocol},
		{"bearer_token_env_var", a.BearerEnv == b.BearerEnv},
		{"command", a.Command == b.Command},
		{"enabled_tools", sameSet(a.Enabled, b.Enabled)},
		{"disabled_tools", sameSet(a.Disabled, b.Disabled)},
	} {
		if !f.equal {
			out = append(out, f.name)
		}
	}
	return out
}

// sameSet compares two filters as sets; absent differs from empty.
func sameSet(a, b *[]string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(set(*a), set(*b))
}

// set sorts a list and drops repeats.
func set(list []string) []string {
	out := slices.Clone(list)
	sort.Strings(out)
	return slices.Compact(out)
}
