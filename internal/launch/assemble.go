package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/policyfile"
	"skill-mcp/internal/wire"
)

// FrontRole is the argument that marks the front; it is not for people.
const FrontRole = "front"

// Options are what a command line adds to the environment. The zero value
// serves stdio as the environment says.
type Options struct {
	HTTP  config.HTTP
	Roots []string // replaces the roots of the environment when not empty
}

// Assemble reads the owner's side once and gives both halves what they may
// know. An error is a mistake in the owner's policy: nothing is started, since
// a server with another policy than the one asked for would be weaker in
// silence.
func Assemble(look grant.Lookup, o Options) (config.Front, wire.Boot, error) {
	exe, err := executable()
	if err != nil {
		return config.Front{}, wire.Boot{}, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	f := config.Read(config.Input{Look: look, Dir: dir, Executable: exe, Version: config.Version})
	if len(o.Roots) > 0 {
		f.Roots = o.Roots
	}
	f.HTTP = o.HTTP
	chosen, err := Policy(look, f)
	if err != nil {
		return config.Front{}, wire.Boot{}, err
	}
	f.Policy, f.PolicyFile, f.PolicyOwners = chosen.Policy, chosen.File, []int{os.Getuid()}
	f.Warnings = append(f.Warnings, chosen.Notes...)
	writable := narrow(&f, exe)
	b := wire.Boot{
		Policy: f.Policy, Grants: f.Grants, Hosted: f.Hosted, Roots: f.Roots, DataDir: writable,
		FrontUID: -1, AllowUnscrubbed: f.AllowUnscrubbed, Version: f.Version,
	}
	b.Policy.DisabledSkills = append(append([]string{}, f.Policy.DisabledSkills...), f.Disabled...)
	return f, b, nil
}

// narrow takes out of the policy what scripts must not write, gives the data
// folder that they may or "", and leaves a warning for each that they may not.
func narrow(f *config.Front, exe string) (dataDir string) {
	held := map[string]string{f.PolicyFile: "the policy file", filepath.Dir(exe): "this program"}
	may := func(name, dir string) bool {
		why := overlaps(dir, f.Roots, held)
		if why != "" {
			f.Warnings = append(f.Warnings, fmt.Sprintf("scripts may not write %s %s: it %s; give it a folder of its own", name, dir, why))
		}
		if why == "" && f.AuditPath != "" && within(resolved(f.AuditPath), resolved(dir)) {
			f.Warnings = append(f.Warnings, fmt.Sprintf("scripts can change the audit file %s: they may write %s %s", f.AuditPath, name, dir))
		}
		return why == ""
	}
	kept := []policy.Path{}
	for _, w := range f.Policy.Write {
		if may("the policy's", w.Path) {
			kept = append(kept, w)
		}
	}
	if len(kept) < len(f.Policy.Write) {
		f.Policy.Write = kept
	}
	if f.DataDir != "" && may("MCP_DATA_DIR", f.DataDir) {
		dataDir = f.DataDir
	}
	return dataDir
}

// overlaps says why scripts must not write a folder, "" when they may: one that
// lies in a folder of skills, or around it, would let a script rewrite skills
// that were approved for something else; one with a file of the owner's side in
// it, the next start of the server.
func overlaps(dir string, roots []string, held map[string]string) (why string) {
	data := resolved(dir)
	for _, r := range roots {
		if root := resolved(r); within(data, root) || within(root, data) {
			return "overlaps the folder of skills " + r
		}
	}
	for path, what := range held {
		if path != "" && within(resolved(path), data) {
			return "holds " + what + ", " + path
		}
	}
	return ""
}

// resolved follows links as far as the path exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Policy loads the policy that an environment chooses.
func Policy(look grant.Lookup, f config.Front) (policyfile.Loaded, error) {
	choice, _ := grant.Read(look, "MCP_SKILL_POLICY")
	return policyfile.Load(policyfile.Options{
		Choice: choice, Hosted: f.Hosted, Linux: runtime.GOOS == "linux", ProxySet: f.ProxySet, Owners: []int{os.Getuid()},
	})
}

// executable is this program's real path.
func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(exe)
}

// Helper returns the path of a helper binary, which is installed beside this
// program and looked for nowhere else: a search path is somebody else's word.
func Helper(name string) (string, error) {
	exe, err := executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	p := filepath.Join(filepath.Dir(exe), name)
	st, err := os.Stat(p)
	if err != nil {
		return "", fmt.Errorf("%s must be installed beside %s: %w", name, exe, err)
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", p)
	}
	return p, nil
}
