package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"skill-mcp/internal/beneath"
	"skill-mcp/internal/egresswire"
	"skill-mcp/internal/environ"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/interp"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/resource"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/uplink"
	"skill-mcp/internal/wire"
)

// Bounds of a request (the contract, 5.1 and 2).
const (
	maxArgs      = 64
	maxArgsBytes = 8192
	maxNames     = 64      // variable names and hosts of one declaration
	maxTimeoutMs = 300_000 // the contract's ceiling
)

// approved is a request that passed every check, with what a run of it gets.
// The zero value holds nothing open.
type approved struct {
	req     wire.Request
	dir     beneath.Place // the skill's real directory
	script  beneath.Place
	interp  *interp.Interpreter
	prog    spawn.Program // what interp starts
	granted []string
	env     runEnv
	network policy.Network
	hosts   []string
	// viaProxy: mode declared is kept by a proxy, there being no namespace.
	viaProxy bool
	egress   egresswire.Config
	limits   policy.Limits
	fence    report.Fence
	timeout  time.Duration
}

// close gives the descriptors back.
func (a *approved) close() {
	a.dir.Close()
	a.script.Close()
}

// refusal makes the monitor's no.
func refusal(code, hint, format string, args ...any) *wire.Refused {
	return &wire.Refused{Code: code, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// check decides whether req may run, on the monitor's own copies of grants,
// roots and policy. Nothing of an earlier answer is remembered: a plan gives
// no right to a run. The caller closes a in both cases.
func (m *monitor) check(a *approved) *wire.Refused {
	for _, step := range []func(*approved) *wire.Refused{
		checkShape, m.checkScrub, m.checkGrant, m.checkInterpreter, m.checkDir, m.checkScript, m.checkLimits, m.checkFence, m.checkUplink,
	} {
		if no := step(a); no != nil {
			return no
		}
	}
	a.env = buildEnv(m.env, a)
	return nil
}

// checkShape refuses what no honest front sends and arguments out of bounds.
func checkShape(a *approved) *wire.Refused {
	r := a.req
	bad := func(what string) *wire.Refused { return refusal(wire.CodeInvalid, "", "malformed request: %s", what) }
	switch {
	case r.TimeoutMs < 1 || r.TimeoutMs > maxTimeoutMs:
		return bad("timeout outside 1 to 300000 ms")
	case len(r.Env) > maxNames || len(r.Hosts) > maxNames*maxNames:
		return bad("too many names")
	case len(r.ScriptSHA256) != 2*sha256.Size:
		return bad("no digest of the script")
	}
	for i, n := range r.Env {
		if !grant.Identifier(n) || slices.Contains(r.Env[:i], n) {
			return bad("a variable name that is none or is repeated")
		}
	}
	const hint = "pass a path to a file instead"
	total := 0
	for _, arg := range r.Args {
		if strings.ContainsRune(arg, 0) {
			return refusal(wire.CodeArgs, hint, "an argument holds a NUL byte")
		}
		total += len(arg)
	}
	if len(r.Args) > maxArgs || total > maxArgsBytes {
		return refusal(wire.CodeArgs, hint, "%d arguments of %d bytes, more than %d or %d bytes", len(r.Args), total, maxArgs, maxArgsBytes)
	}
	return nil
}

// checkScrub holds back every run of a hosted server whose environment could
// not be wiped (the contract, 7); elsewhere the report carries it.
func (m *monitor) checkScrub(*approved) *wire.Refused {
	if m.scrub.State != environ.Failed || !m.boot.Hosted || m.boot.AllowUnscrubbed {
		return nil
	}
	return refusal(wire.CodeUnscrubbed, "instructions and files are still served",
		"no script may run on this server: the environ it was started with could not be wiped (%s); MCP_SKILL_ALLOW_UNSCRUBBED=1 allows runs all the same", m.scrub.Reason)
}

// checkGrant compares skill, script and variables with the owner's grants.
func (m *monitor) checkGrant(a *approved) *wire.Refused {
	r := a.req
	if m.boot.Policy.Disabled(r.Skill) {
		return refusal(wire.CodeDisabled, "the owner can enable it", "skill %q is disabled by the owner", r.Skill)
	}
	granted, ok := m.boot.Grants.Allows(r.Skill, r.Script, r.Env)
	if !ok {
		return refusal(wire.CodeNotGranted, "the owner can add a row to MCP_SKILL_RUN", "script %q of skill %q is not granted", r.Script, r.Skill)
	}
	for _, n := range r.Env {
		secret := slices.Contains(m.boot.Policy.Skill(r.Skill).Secrets, n)
		if !slices.Contains(granted, n) && (!secret || grant.Reserved(n)) {
			return refusal(wire.CodeNotGranted, "the owner can add it to the row's env in MCP_SKILL_RUN", "variable %q is not granted to script %q of skill %q", n, r.Script, r.Skill)
		}
	}
	a.granted = r.Env
	return nil
}

// checkInterpreter looks the name up in the closed set.
func (m *monitor) checkInterpreter(a *approved) *wire.Refused {
	set := strings.Join(m.boot.Policy.Names(), ", ")
	i := m.interpreter(a.req.Interpreter)
	if i == nil {
		return refusal(wire.CodeInterpreter, "the owner can add it to the policy", "interpreter %q is not in the set (%s)", a.req.Interpreter, set)
	}
	i.Again(m.host.Spare)
	s := i.State(true)
	if why := resource.TooLittle(i.Name(), s.Version); why != "" {
		return refusal(wire.CodeInterpreter, "start the server with a higher limit (ulimit -d, ulimit -v), or with an older node", "%s", why)
	}
	if s.Reason != "" {
		return refusal(wire.CodeInterpreter, "instructions and files are still served", "interpreter %q cannot run here: %s (set: %s)", i.Name(), s.Reason, set)
	}
	a.interp, a.prog = i, i.Program()
	return nil
}

// checkDir opens the skill's directory below its root and compares its real
// name and place with the claim, since grants go by that name.
func (m *monitor) checkDir(a *approved) *wire.Refused {
	r := a.req
	no := func(err error) *wire.Refused { return refusal(wire.CodePath, "", "skill directory: %v", err) }
	if r.Root < 0 || r.Root >= len(m.roots) || m.roots[r.Root].File == nil {
		return no(fmt.Errorf("root %d is not open", r.Root))
	}
	root := m.roots[r.Root]
	if !beneath.Local(r.Dir) {
		return no(fmt.Errorf("%q is not below the root", r.Dir))
	}
	var err error
	if a.dir, err = beneath.OpenDir(root, r.Dir); err != nil {
		return no(err)
	}
	if filepath.Base(a.dir.Path) != r.Skill {
		return no(fmt.Errorf("%s is not called %q", a.dir.Path, r.Skill))
	}
	if err := beneath.Candidate(root.Path, a.dir.Path); err != nil {
		return no(err)
	}
	return nil
}

// checkScript opens the script below the skill and compares its bytes with the
// approved ones.
func (m *monitor) checkScript(a *approved) *wire.Refused {
	if !beneath.Local(a.req.Script) {
		return refusal(wire.CodePath, "", "script %q is not below its skill", a.req.Script)
	}
	var err error
	if a.script, err = beneath.OpenRegular(a.dir, a.req.Script); err != nil {
		return refusal(wire.CodePath, "the script must be a regular file of its skill", "script: %v", err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, a.script.File); err != nil {
		return refusal(wire.CodePath, "", "read script %s: %v", a.script.Path, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != a.req.ScriptSHA256 {
		return refusal(wire.CodeChanged, "ask for a new preview", "script %q is not the one that was approved: its bytes changed", a.req.Script)
	}
	return nil
}

// checkLimits settles limits, timeout and network, and refuses a limit that an
// interpreter hangs or aborts under.
func (m *monitor) checkLimits(a *approved) *wire.Refused {
	a.limits = m.boot.Policy.LimitsFor(a.req.Skill)
	if why := preflight(a.limits); why != "" {
		return refusal(wire.CodeFence, "raise the limit in the policy", "limits of skill %q: %s", a.req.Skill, why)
	}
	a.timeout = time.Duration(min(a.req.TimeoutMs, a.limits.WallMs)) * time.Millisecond
	a.hosts = []string{}
	a.network = m.boot.Policy.NetworkFor(a.req.Skill)
	if a.network != policy.NetDeclared {
		return nil
	}
	for _, h := range append(slices.Clone(a.req.Hosts), m.boot.Policy.HostsFor(a.req.Skill)...) {
		// An entry that names no host, "*" for one, is not reachable and is not
		// shown as if it were.
		if !slices.Contains(a.hosts, h) && egresswire.CheckHost(h) == nil {
			a.hosts = append(a.hosts, h)
		}
	}
	if len(a.hosts) == 0 {
		a.network = policy.NetNone // no declared host: no network
	}
	return nil
}

// preflight names the first limit under its floor, with the number it needs.
func preflight(l policy.Limits) string {
	floors := policy.Floors()
	for _, name := range policy.LimitNames() {
		got, _ := l.Get(name)
		if least, _ := floors.Get(name); got < least {
			return fmt.Sprintf("%s is %d, an interpreter needs at least %d to start", name, got, least)
		}
	}
	return ""
}

// checkFence refuses when a layer that the policy requires is not proved here.
// The environ layer is judged by checkScrub.
func (m *monitor) checkFence(a *approved) *wire.Refused {
	a.fence = m.report(a.network)
	for _, r := range a.fence.Missing() {
		if r.Layer != report.Environ && r.Got != report.NotAsked { // has no place in this network mode
			return missing(a.fence.Policy, r)
		}
	}
	// Without a view of its own a run reaches the skill by the modes on the way,
	// as the user it is: better said now than by the step that fails.
	if a.fence.Row(report.UID).Got != report.Enforced || a.fence.Row(report.NSMount).Got == report.Enforced {
		return nil
	}
	if why := beneath.Closed(a.script.Path); why != "" {
		return refusal(wire.CodePath, "open it, or serve the skill from a folder that every user may enter (/srv/skills)",
			"the user that scripts run as cannot reach the script, there being no mount namespace here: %s", why)
	}
	return nil
}

// missing says which layer a run lacks and what would allow it.
func missing(name string, r report.Row) *wire.Refused {
	hint := r.Remedy
	if hint == "" {
		hint = fmt.Sprintf("a policy that does not require %s (MCP_SKILL_POLICY)", r.Layer)
	}
	return refusal(wire.CodeFence, hint, "policy %q requires the layer %s and it is %s here: %s", name, r.Layer, r.Got, r.Reason)
}

// checkUplink settles how mode declared is kept, for the plan as for the run:
// by a device in the run's own network namespace, else by a proxy on the only
// port that Landlock leaves, else not at all.
func (m *monitor) checkUplink(a *approved) *wire.Refused {
	if a.network != policy.NetDeclared {
		return nil
	}
	ns, ports := a.fence.Row(report.NSNet), a.fence.Row(report.LandlockNet)
	a.viaProxy = ns.Got != report.Enforced
	if a.viaProxy && ports.Got != report.Enforced {
		return refusal(wire.CodeFence, ns.Remedy, "network mode declared cannot be kept here: no network namespace (%s) and no Landlock rule for ports (%s)", ns.Reason, ports.Reason)
	}
	a.fence = uplink.Mark(a.fence, a.viaProxy, nil)
	upstream, _ := m.env.Proxy()
	var err error
	if a.egress, err = uplink.Config(a.hosts, m.boot.Policy.Egress, upstream, a.viaProxy); err != nil {
		return refusal(wire.CodeInvalid, "the skill's egress declaration or the policy has to be mended", "network of the run: %v", err)
	}
	return nil
}
