package policy

import (
	"fmt"
	"strings"
)

// LimitsFor returns the limits of one skill's runs: its own row, then the
// policy's, then [Defaults]; no field of the result is zero.
func (p Policy) LimitsFor(skill string) Limits {
	return p.Skill(skill).Limits.Merge(p.Limits.Merge(Defaults()))
}

// NetworkFor returns the network mode of one skill's runs. A mode that is not
// one of the four counts as none, so that a damaged value never opens anything.
func (p Policy) NetworkFor(skill string) Network {
	n := p.Skill(skill).Network
	if n == "" {
		n = p.Network
	}
	if _, known := breadth[n]; !known {
		return NetNone
	}
	return n
}

// ReadFor returns what one skill's runs may read beyond the bundle, the
// interpreter and its libraries: the policy's rows, then the skill's.
func (p Policy) ReadFor(skill string) []Path {
	return append(append([]Path{}, p.Read...), p.Skill(skill).Read...)
}

// HostsFor returns the host patterns the policy adds to a skill's own list.
// They count in mode declared only.
func (p Policy) HostsFor(skill string) []string {
	out := []string{}
	for _, h := range p.Skill(skill).Hosts {
		out = append(out, h.Path)
	}
	return out
}

// Disabled reports whether the owner switched the skill off.
func (p Policy) Disabled(skill string) bool {
	for _, d := range p.DisabledSkills {
		if d == skill {
			return true
		}
	}
	return false
}

// WithDisabled returns p with more skills switched off (MCP_SKILL_DISABLE).
func (p Policy) WithDisabled(skills []string) Policy {
	p.DisabledSkills = union(p.DisabledSkills, skills)
	return p
}

// Resolve returns p as it holds in an environment: mode proxy needs a proxy
// variable, and without one it is none. It never widens.
func (p Policy) Resolve(proxySet bool) Policy {
	if proxySet {
		return p
	}
	if p.Network == NetProxy {
		p.Network = NetNone
	}
	p.Skills = append([]Skill{}, p.Skills...)
	for i := range p.Skills {
		if p.Skills[i].Network == NetProxy {
			p.Skills[i].Network = NetNone
		}
	}
	return p
}

// TestKeys returns the keys that exist for tests of the fence itself and are
// set in p. Each of them can widen what a run reaches, so none is accepted in
// hosted mode.
func (p Policy) TestKeys() []string {
	out := []string{}
	if p.Egress.Resolver != "" {
		out = append(out, "egress.testResolver")
	}
	return out
}

// Accepts returns "" when an interpreter of this version may run, else why not.
// An unknown version passes only where there are no bounds.
func (i Interpreter) Accepts(version string) string {
	if i.MinVersion == "" && i.MaxVersion == "" {
		return ""
	}
	if version == "" {
		return fmt.Sprintf("its version is unknown and the policy has bounds (%s to %s)", orAny(i.MinVersion), orAny(i.MaxVersion))
	}
	if i.MinVersion != "" && CompareVersions(version, i.MinVersion) < 0 {
		return fmt.Sprintf("version %s is below the policy's %s", version, i.MinVersion)
	}
	if i.MaxVersion != "" && CompareVersions(truncate(version, i.MaxVersion), i.MaxVersion) > 0 {
		return fmt.Sprintf("version %s is above the policy's %s", version, i.MaxVersion)
	}
	return ""
}

// orAny names an open bound.
func orAny(v string) string {
	if v == "" {
		return "any"
	}
	return v
}

// truncate cuts version to as many numbers as bound has: an upper bound of 22
// admits 22.4.1.
func truncate(version, bound string) string {
	v := strings.Split(trimVersion(version), ".")
	n := len(strings.Split(bound, "."))
	return strings.Join(v[:min(n, len(v))], ".")
}

// CompareVersions compares dotted numbers, -1, 0 or 1. Missing numbers count as
// zero, a leading v and whatever follows the numbers are ignored.
func CompareVersions(a, b string) int {
	x, y := strings.Split(trimVersion(a), "."), strings.Split(trimVersion(b), ".")
	for i := range max(len(x), len(y)) {
		if c := compareNumber(part(x, i), part(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

// trimVersion keeps the dotted numbers at the start of v.
func trimVersion(v string) string {
	v = strings.TrimPrefix(strings.TrimSpace(v), "v")
	end := strings.IndexFunc(v, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		v = v[:end]
	}
	return strings.Trim(v, ".")
}

// part returns number i of a version without leading zeros.
func part(v []string, i int) string {
	if i >= len(v) {
		return ""
	}
	return strings.TrimLeft(v[i], "0")
}

// compareNumber compares decimal digits of any length.
func compareNumber(a, b string) int {
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
