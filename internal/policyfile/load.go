package policyfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"skill-mcp/internal/policy"
	shipped "skill-mcp/policy"
)

// Options is what the choice of a policy depends on.
type Options struct {
	Choice   string // MCP_SKILL_POLICY: a shipped name or an absolute path; "" = by environment
	Hosted   bool   // a hosting registration started the server
	Linux    bool   // the fence exists
	ProxySet bool   // a proxy variable is set; proxy without it is none
	// Owners are the user ids whose file is believed besides root's. The server
	// gives the one it was started with, before it drops it.
	Owners []int
}

// Loaded is the effective policy and what can be told about it.
type Loaded struct {
	Policy  policy.Policy
	Sources []policy.Source // strongest first, for policy.Explain
	Notes   []string        // what an owner's file asked for and hosted mode does not give
	File    string          // the owner's file, "" = a shipped policy
}

// Default returns the name of the policy for an environment: hosted where a
// hosting registration started the server, standalone on Linux, else portable.
func Default(hosted, linux bool) string {
	switch {
	case hosted:
		return "hosted"
	case linux:
		return "standalone"
	}
	return "portable"
}

// Shipped returns a shipped policy as written. The error is a fault of the
// build, or an unknown name.
func Shipped(name string) (policy.Policy, error) {
	text, ok := shipped.Text(name)
	if !ok || !isShipped(name) {
		return policy.Policy{}, fmt.Errorf("open policy %q: not one of %s and not an absolute path", name, strings.Join(shippedNames(), ", "))
	}
	p, problems := parse(name+".yaml", text, func(string) policy.Policy { return nothing(name) })
	if problems != nil {
		return policy.Policy{}, problems
	}
	return p.policy, nil
}

// nothing is the policy a file builds on that extends nothing: no interpreter,
// no network, no grant, every layer required.
func nothing(name string) policy.Policy {
	return policy.Policy{
		Name: name, Network: policy.NetNone, Layers: inOrder(nil), Limits: policy.Defaults(),
		Interpreters: []policy.Interpreter{}, Read: []policy.Path{}, Write: []policy.Path{},
		Egress: policy.Egress{Ports: []int{}, Internal: []policy.Path{}},
		Skills: []policy.Skill{}, DisabledSkills: []string{},
	}
}

// Load gives the effective policy of a server. In hosted mode whatever the
// choice is, it can only narrow the shipped hosted policy, and a key that
// exists for tests of the fence is refused.
func Load(in Options) (Loaded, error) {
	standard := Default(in.Hosted, in.Linux)
	choice := strings.TrimSpace(in.Choice)
	if choice == "" {
		choice = standard
	}
	var out Loaded
	var err error
	if filepath.IsAbs(choice) {
		out, err = owned(choice, standard, in.Owners)
	} else {
		out, err = one(choice)
	}
	if err != nil {
		return Loaded{}, err
	}
	out.Policy = out.Policy.Resolve(in.ProxySet)
	for i := range out.Sources {
		out.Sources[i].Policy = out.Sources[i].Policy.Resolve(in.ProxySet)
	}
	if !in.Hosted {
		return out, nil
	}
	return narrowed(out, in.ProxySet)
}

// one gives a shipped policy as a Loaded.
func one(name string) (Loaded, error) {
	p, err := Shipped(name)
	return Loaded{Policy: p, Sources: []policy.Source{{Name: name, Policy: p}}}, err
}

// owned reads an owner's file over the policy it extends, by default the one
// the environment would have.
func owned(file, standard string, owners []int) (Loaded, error) {
	text, err := readOwned(file, owners)
	if err != nil {
		return Loaded{}, err
	}
	return overlay(file, text, standard)
}

// overlay reads the text of an owner's file.
func overlay(file string, text []byte, standard string) (Loaded, error) {
	var under Loaded
	var fault error
	base := func(extends string) policy.Policy {
		if extends == Nothing {
			return nothing(ownName(file))
		}
		if extends == "" {
			extends = standard
		}
		under, fault = one(extends)
		p := under.Policy
		p.Name = ownName(file)
		return p
	}
	got, problems := parse(file, text, base)
	if fault != nil {
		return Loaded{}, fault
	}
	if problems == nil && isShipped(got.policy.Name) {
		problems = &Problems{File: file, List: []Problem{{Line: 1, Column: 1,
			Text: fmt.Sprintf("name %q is that of a shipped policy: give the file a name of its own with the key name", got.policy.Name)}}}
	}
	if problems != nil {
		return Loaded{}, problems
	}
	own := policy.Source{Name: file, Policy: got.policy, Lines: got.lines}
	return Loaded{Policy: got.policy, Sources: append([]policy.Source{own}, under.Sources...), File: file}, nil
}

// ownName names a policy after its file where that is a name.
func ownName(file string) string {
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	if policyName(name) && !isShipped(name) {
		return name
	}
	return "owner"
}

// narrowed lays a policy under the shipped hosted one.
func narrowed(in Loaded, proxySet bool) (Loaded, error) {
	if keys := in.Policy.TestKeys(); len(keys) > 0 {
		return Loaded{}, fmt.Errorf("use policy %q: %s exists for tests of the fence and is refused in hosted mode: remove it", in.Policy.Name, strings.Join(keys, ", "))
	}
	base, err := one("hosted")
	if err != nil {
		return Loaded{}, err
	}
	base.Sources[0].Policy = base.Policy.Resolve(proxySet)
	p, notes := policy.Narrow(base.Sources[0].Policy, in.Policy)
	if in.File == "" && in.Policy.Name == "hosted" {
		return Loaded{Policy: p, Sources: in.Sources}, nil
	}
	sources := append([]policy.Source{}, in.Sources...)
	return Loaded{Policy: p, Sources: append(sources, base.Sources...), Notes: notes, File: in.File}, nil
}

// Check reads an owner's file as [Load] would and returns its mistakes.
func Check(file string, in Options) (Loaded, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return Loaded{}, fmt.Errorf("open policy %q: %w", file, err)
	}
	in.Choice = abs
	return Load(in)
}
