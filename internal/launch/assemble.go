package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"skill-mcp/internal/config"
	"skill-mcp/internal/grant"
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
	writable, why := dataDir(f.DataDir, f.Roots)
	if why != "" {
		f.Warnings = append(f.Warnings, why)
	}
	b := wire.Boot{
		Policy: f.Policy, Grants: f.Grants, Hosted: f.Hosted, Roots: f.Roots, DataDir: writable,
		FrontUID: -1, AllowUnscrubbed: f.AllowUnscrubbed, Version: f.Version,
	}
	b.Policy.DisabledSkills = append(append([]string{}, f.Policy.DisabledSkills...), f.Disabled...)
	return f, b, nil
}

// dataDir is the data folder that scripts may write, or "" and why not: one
// that lies in a folder of skills, or around it, would let a script rewrite
// skills that were approved for something else.
func dataDir(dir string, roots []string) (writable, why string) {
	if dir == "" {
		return "", ""
	}
	data := resolved(dir)
	for _, r := range roots {
		root := resolved(r)
		if within(data, root) || within(root, data) {
			return "", fmt.Sprintf("scripts may not write MCP_DATA_DIR %s: it overlaps the folder of skills %s; give it a folder of its own", dir, r)
		}
	}
	return dir, ""
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
