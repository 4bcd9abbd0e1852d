package mcpserver

import (
	"skill-mcp/internal/catalog"
	"skill-mcp/internal/deps"
)

// Dependency is one MCP server that a skill needs, as skill_load shows it.
type Dependency = deps.View

// RunConfig is what a run gets of the MCP servers of all enabled skills. The
// zero value means that there are none.
type RunConfig struct {
	Config []byte   // the mcporter configuration, nil = none
	Hosts  []string // hosts of the servers, for the network of the run
}

// Dependencies are the MCP servers that the skills of one view need.
type Dependencies interface {
	// Of gives a skill's dependencies, in declared order.
	Of(skill string) []Dependency
	// Problems has one problem "dependency" for each mistake.
	Problems() []catalog.Problem
	// Run gives the union over all enabled skills. Its error names the server,
	// the skills and the fields in conflict; no script runs then.
	Run() (RunConfig, error)
}

// dependencies gives what a skill needs, nil when nothing is known of any.
func (v *view) dependencies(sk *catalog.Skill) []Dependency {
	if v.MCP == nil {
		return nil
	}
	return v.MCP.Of(sk.Name)
}

// dependencyProblems reports mistakes in the skills' dependency files.
func (v *view) dependencyProblems() []catalog.Problem {
	if v.MCP == nil {
		return nil
	}
	return v.MCP.Problems()
}

// runConfig gives the configuration of a run, or why no run can be set up.
func (v *view) runConfig() (RunConfig, error) {
	if v.MCP == nil {
		return RunConfig{}, nil
	}
	c, err := v.MCP.Run()
	if err != nil {
		return RunConfig{}, refuse("fix the files named here, or disable one of the skills (MCP_SKILL_DISABLE)",
			"the MCP servers that the skills need cannot be set up, so nothing runs: %v", err)
	}
	return c, nil
}
