package monitor

import (
	"sort"
	"strings"

	"skill-mcp/internal/environ"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/uplink"
)

// runEnv is the exact environment of one run. The fence may replace the values
// of HOME and TMPDIR; it adds no name, so what is planned is what is received.
type runEnv struct {
	list   []string // NAME=value, sorted by name
	names  []string // sorted
	notSet []string // asked for, granted, not set here
}

// buildEnv takes the ambient names that are set, the granted names that are
// set, what the interpreter needs and what a run always has. TMPDIR always
// exists, since the private directory is the only place a script may write;
// the others only when the server has them (the contract, 5.3).
func buildEnv(e environ.Environ, a *approved) runEnv {
	values := map[string]string{}
	out := runEnv{notSet: []string{}}
	for _, n := range grant.Ambient() {
		if v, ok := e[n]; ok {
			values[n] = v
		}
	}
	for _, n := range a.granted {
		if v, ok := e[n]; ok {
			values[n] = v
		} else {
			out.notSet = append(out.notSet, n)
		}
	}
	for _, kv := range a.prog.Env {
		n, v, _ := strings.Cut(kv, "=")
		values[n] = v
	}
	values["TMPDIR"] = "/tmp"
	if tz, ok := values["TZ"]; ok {
		values["TZ"] = environ.ZoneName(tz)
	}
	if a.network == policy.NetDeclared {
		uplink.Plan(values, a.viaProxy)
	}
	if a.req.Config {
		addConfigEnv(values)
	}
	out.names = make([]string, 0, len(values))
	for n := range values {
		out.names = append(out.names, n)
	}
	sort.Strings(out.names)
	for _, n := range out.names {
		out.list = append(out.list, n+"="+values[n])
	}
	return out
}

// addConfigEnv adds what mcporter is told: the configuration's place, which
// the fence fills in, and not to leave a daemon behind or open a browser.
func addConfigEnv(values map[string]string) {
	values["MCPORTER_CONFIG"] = ""
	values["MCPORTER_DISABLE_KEEPALIVE"] = "*"
	values["MCPORTER_OAUTH_NO_BROWSER"] = "1"
	delete(values, "MCPORTER_KEEPALIVE")
	delete(values, "MCPORTER_NO_KEEPALIVE")
}
