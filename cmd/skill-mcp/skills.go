package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"

	"skill-mcp/internal/catalog"
	"skill-mcp/internal/config"
	"skill-mcp/internal/deps"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/launch"
	"skill-mcp/internal/mcpserver"
	"skill-mcp/internal/policyfile"
	"skill-mcp/internal/watch"
	"skill-mcp/internal/yamlcore"
)

// catalogOptions says what to scan.
func catalogOptions(cfg config.Front) catalog.Options {
	return catalog.Options{Roots: cfg.Roots, MaxSkills: cfg.MaxSkills, Reserved: grant.Reserved}
}

// served is what is served now, and how it is read again.
type served struct {
	cfg    config.Front
	log    *slog.Logger
	server *mcpserver.Server
	trail  trail
	last   *catalog.Catalog // of the last scan; nil before the first
}

// scan reads the skills and what belongs to them.
func (s *served) scan(ctx context.Context) mcpserver.View {
	opts := catalogOptions(s.cfg)
	opts.Before = s.last
	c := catalog.Scan(ctx, opts)
	disabled := append([]string{}, s.cfg.Disabled...)
	disabled = append(disabled, s.disabledByPolicy()...)
	s.last = c
	return mcpserver.View{Catalog: c, Disabled: disabled, MCP: newDependencies(c, disabled)}
}

// disabledByPolicy reads the owner's file again, for this one key: disabling a
// skill takes effect with the next reload, everything else with a restart. A
// file that has become wrong keeps what was read last.
func (s *served) disabledByPolicy() []string {
	if s.cfg.PolicyFile == "" {
		return s.cfg.Policy.DisabledSkills
	}
	loaded, err := policyfile.Load(policyfile.Options{
		Choice: s.cfg.PolicyFile, Hosted: s.cfg.Hosted, Linux: true, ProxySet: s.cfg.ProxySet, Owners: s.cfg.PolicyOwners,
	})
	if err != nil {
		s.log.Warn("the policy file is not used for this reload", "error", err)
		return s.cfg.Policy.DisabledSkills
	}
	s.cfg.Policy.DisabledSkills = loaded.Policy.DisabledSkills
	return loaded.Policy.DisabledSkills
}

// reload scans again beside what is served and swaps it in whole.
func (s *served) reload(ctx context.Context, why string) {
	v := s.scan(ctx)
	if ctx.Err() != nil {
		return
	}
	s.server.Replace(v)
	s.log.Info("skills were read again", "because", why)
}

// keepUp scans beside the transport, so that a large tree does not hold up the
// first answer, and again at each SIGHUP and, where the owner wants it, after
// changes below the roots. The returned function waits for the last scan.
func (s *served) keepUp(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, reloadSignals...)
	changes := s.watch(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.Replace(s.scan(ctx))
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				if err := s.trail.rotate(); err != nil {
					s.log.Error("the audit was not rotated", "error", err)
				}
				s.reload(ctx, "SIGHUP")
			case what, ok := <-changes:
				if !ok {
					changes = nil
					continue
				}
				s.reload(ctx, what)
			}
		}
	}()
	return func() { signal.Stop(hup); cancel(); <-done }
}

// watch tells of changes below the roots where the owner wants it.
func (s *served) watch(ctx context.Context) <-chan string {
	if !s.cfg.Watch {
		return nil
	}
	c, err := watch.Roots(ctx, s.cfg.Roots, s.log)
	if err != nil {
		s.log.Warn("changes are not seen by themselves; SIGHUP reads the skills again", "error", err)
		return nil
	}
	return c
}

// dependencies are the MCP servers of the skills of one scan. It implements
// mcpserver.Dependencies.
type dependencies struct {
	of       map[string][]deps.View
	problems []catalog.Problem
	run      mcpserver.RunConfig
	err      error
}

// newDependencies reads and unites what the skills declare: a run is an
// automation run, in which every enabled skill takes part.
func newDependencies(c *catalog.Catalog, disabled []string) *dependencies {
	off := map[string]bool{}
	for _, n := range disabled {
		off[n] = true
	}
	set := deps.Collect(depsSkills(c), func(n string) bool { return off[n] }, deps.Automation)
	d := &dependencies{of: map[string][]deps.View{}}
	for _, one := range set.Declared {
		for _, s := range one.Servers {
			d.of[one.Skill] = append(d.of[one.Skill], s.View())
		}
	}
	for _, sk := range c.Skills {
		for _, p := range set.Problems[sk.Name] {
			d.problems = append(d.problems, catalog.Problem{Path: sk.Dir, Reason: catalog.DependencyProblem, Detail: p.String()})
		}
	}
	if d.err = set.Err(); d.err != nil {
		return d
	}
	union, err := deps.Union(set.Declared)
	if err != nil || len(union) == 0 {
		d.err = err
		return d
	}
	d.run.Hosts = deps.Hosts(union)
	d.run.Config, d.err = deps.Config(union)
	return d
}

// depsSkills gives what is needed of each served skill.
func depsSkills(c *catalog.Catalog) []deps.Skill {
	var out []deps.Skill
	for _, sk := range c.Skills {
		s := deps.Skill{Name: sk.Name, Dir: sk.Dir}
		if n := sk.Frontmatter.Get("ankole-runtime"); n != nil {
			s.RuntimeSet = true
			if n.Kind == yamlcore.String {
				s.Runtime = n.Text
			}
		}
		out = append(out, s)
	}
	return out
}

// Of gives a skill's dependencies, in declared order.
func (d *dependencies) Of(skill string) []mcpserver.Dependency { return d.of[skill] }

// Problems has one problem for each mistake.
func (d *dependencies) Problems() []catalog.Problem { return d.problems }

// Run gives the configuration of a run, or why none can be set up.
func (d *dependencies) Run() (mcpserver.RunConfig, error) { return d.run, d.err }

// configuredCatalog reads the configuration of this environment and scans its
// roots, for the owner's commands.
func configuredCatalog(ctx context.Context) (config.Front, *catalog.Catalog, error) {
	cfg, _, err := launch.Assemble(os.LookupEnv, launch.Options{})
	if err != nil {
		return cfg, nil, err
	}
	return cfg, catalog.Scan(ctx, catalogOptions(cfg)), nil
}

// configuredSkills scans the roots that this environment configures, for the
// owner's commands.
func configuredSkills() (skills []deps.Skill, disabled func(string) bool, err error) {
	cfg, c, err := configuredCatalog(context.Background())
	if err != nil {
		return nil, nil, err
	}
	off := map[string]bool{}
	for _, n := range append(append([]string{}, cfg.Disabled...), cfg.Policy.DisabledSkills...) {
		off[n] = true
	}
	return depsSkills(c), func(n string) bool { return off[n] }, nil
}
