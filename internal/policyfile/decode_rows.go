package policyfile

import (
	"slices"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/yamlcore"
)

// interpreters reads the closed set by name; an entry replaces the base's of
// the same name as a whole.
func (r *reader) interpreters(n *yamlcore.Node, base []policy.Interpreter) []policy.Interpreter {
	out := slices.Clone(base)
	for _, e := range r.entries(n, "interpreters", interpreterName) {
		row := r.interpreter(word(e.Key), e)
		i := slices.IndexFunc(out, func(o policy.Interpreter) bool { return o.Name == row.Name })
		if i < 0 {
			out = append(out, row)
		} else {
			out[i] = row
		}
	}
	return out
}

// interpreter reads one entry of the closed set.
func (r *reader) interpreter(name string, e yamlcore.Entry) policy.Interpreter {
	key := "interpreters." + name
	f := r.fields(e.Value, "interpreter "+name, "path", "args", "env", "read", "minVersion", "maxVersion", "sha256", "why")
	out := policy.Interpreter{
		Name: name,
		Path: f.text("path", maxPath),
		Args: f.strings("args", argument, "an argument"),
		Env:  f.strings("env", assignment, "NAME=value with a name that may be set"),
		Read: f.rows("read", "path", key+".read.", badTree),
		Why:  f.why(),
	}
	if n := f.by["path"]; n != nil && out.Path != "" && !absolute(out.Path) {
		r.bad(n, "path of interpreter %s is not a clean absolute path: leave it out to look %s up on the server's PATH", name, name)
	}
	out.MinVersion = f.version("minVersion")
	out.MaxVersion = f.version("maxVersion")
	if n := f.by["maxVersion"]; n != nil && out.MinVersion != "" && out.MaxVersion != "" &&
		(policy.Interpreter{MaxVersion: out.MaxVersion}).Accepts(out.MinVersion) != "" {
		r.bad(n, "maxVersion %s of interpreter %s is below its minVersion %s", out.MaxVersion, name, out.MinVersion)
	}
	if n := f.by["sha256"]; n != nil {
		out.SHA256 = word(n)
		if !sha256Text(out.SHA256) {
			r.bad(n, "sha256 of interpreter %s is not 64 lower-case hexadecimal digits", name)
		}
	}
	r.at(e.Key, key)
	for _, k := range []string{"args", "env", "minVersion", "maxVersion", "sha256"} {
		if n := f.by[k]; n != nil {
			r.at(n, key+"."+k)
		}
	}
	return out
}

// version reads dotted numbers, quoted or not.
func (f fields) version(key string) string {
	n := f.by[key]
	if n == nil {
		return ""
	}
	w := word(n)
	if !versionText(w) {
		f.r.bad(n, "%s of %s is %s, not up to four dotted numbers such as 22.4", key, f.where, quote(n))
	}
	return w
}

// skills reads the per-skill rows; a row replaces the base's of the same name.
func (r *reader) skills(n *yamlcore.Node, base policy.Policy) []policy.Skill {
	out := slices.Clone(base.Skills)
	for _, e := range r.entries(n, "skills", skillName) {
		row := r.skill(word(e.Key), e, base)
		i := slices.IndexFunc(out, func(o policy.Skill) bool { return o.Name == row.Name })
		if i < 0 {
			out = append(out, row)
		} else {
			out[i] = row
		}
	}
	return out
}

// skill reads the row of one skill. Its why stands for its network and secrets;
// reads and hosts have their own.
func (r *reader) skill(name string, e yamlcore.Entry, base policy.Policy) policy.Skill {
	key := "skills." + name + "."
	f := r.fields(e.Value, "skill "+name, "network", "read", "hosts", "secrets", "limits", "why")
	out := policy.Skill{
		Name:    name,
		Network: policy.Network(f.choice("network", modes()...)),
		Read:    f.rows("read", "path", key+"read.", badTree),
		Hosts:   f.rows("hosts", "host", key+"hosts.", badHost),
		Secrets: f.strings("secrets", secret, "a variable that may be handed over"),
	}
	if n := f.by["limits"]; n != nil {
		out.Limits = r.limits(n, "limits of skill "+name, key+"limits.", base.LimitsFor(""))
	}
	if len(out.Secrets) > 0 || (out.Network != "" && out.Network != policy.NetNone) {
		out.Why = f.why()
	} else {
		out.Why = f.text("why", maxWhy)
	}
	if n := f.by["network"]; n != nil {
		r.at(n, key+"network")
	}
	for i, s := range out.Secrets {
		r.at(f.by["secrets"].Items[i], key+"secrets."+s)
	}
	return out
}
