package deps

import "fmt"

// Skill is what is needed of a served skill to read its dependencies.
type Skill struct {
	Name       string
	Dir        string // real path
	Runtime    string // frontmatter field ankole-runtime
	RuntimeSet bool   // the field is there
}

// Set is what the skills of one kind of run declare.
type Set struct {
	Declared []Declared
	Problems map[string]Problems // by skill
	Notes    map[string][]string // by skill
}

// Collect reads the metadata of every skill that takes part in the run. A
// disabled skill and one of another runtime are not even read, so that a
// broken file there stops nothing.
func Collect(skills []Skill, disabled func(name string) bool, run Runtime) Set {
	set := Set{Problems: map[string]Problems{}, Notes: map[string][]string{}}
	for _, s := range skills {
		if disabled != nil && disabled(s.Name) {
			continue
		}
		runtime, err := RuntimeOf(s.Runtime, s.RuntimeSet)
		if err != nil {
			set.Problems[s.Name] = append(set.Problems[s.Name], err.(Problems)...)
			continue
		}
		if !runtime.TakesPart(run) {
			continue
		}
		m := Read(s.Dir)
		if len(m.Problems) > 0 {
			set.Problems[s.Name] = m.Problems
		}
		if len(m.Notes) > 0 {
			set.Notes[s.Name] = m.Notes
		}
		if len(m.Servers) > 0 {
			set.Declared = append(set.Declared, Declared{Skill: s.Name, Servers: m.Servers})
		}
	}
	return set
}

// Err gives all problems as one error, skill by skill, or nil.
func (s Set) Err() error {
	var all Problems
	for _, name := range sortedKeys(s.Problems) {
		for _, p := range s.Problems[name] {
			p.Detail = fmt.Sprintf("skill %q: %s", name, p.Detail)
			all = append(all, p)
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// View is one server as skill_load and the commands show it.
type View struct {
	Name              string    `json:"name"`
	Transport         Transport `json:"transport"`
	Description       string    `json:"description,omitempty"`
	URL               string    `json:"url,omitempty"`
	Command           string    `json:"command,omitempty"`
	EnabledTools      *[]string `json:"enabledTools,omitempty"`
	DisabledTools     *[]string `json:"disabledTools,omitempty"`
	BearerTokenEnvVar string    `json:"bearerTokenEnvVar,omitempty"`
}

// View gives what may be shown of a server.
func (s Server) View() View {
	return View{
		Name: s.Name, Transport: s.Transport, Description: s.Description, URL: s.URL, Command: s.Command,
		EnabledTools: s.Enabled, DisabledTools: s.Disabled, BearerTokenEnvVar: s.BearerEnv,
	}
}

// Address is where a server is: its URL or its command.
func (s Server) Address() string {
	if s.Transport == HTTP {
		return s.URL
	}
	return s.Command
}
