package main

import (
	"os"
	"path/filepath"
)

// scope is the npm scope of the wrapper and its platform packages.
const scope = "@chrischall/"

// packNPM packs the wrapper and one package for each platform. npm writes its
// archives with a fixed time.
func (r *release) packNPM() error {
	for _, p := range r.platforms {
		if err := r.packNPMPlatform(p); err != nil {
			return err
		}
	}
	return r.packNPMWrapper()
}

// packNPMWrapper packs the wrapper from a folder of its own, since npm takes
// over the modes of a checkout, which the umask decided.
func (r *release) packNPMWrapper() error {
	dir, err := stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyTree(filepath.Join(r.source, "packaging", "npm"), dir); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(dir, "bin", "skill-mcp.cjs"), 0o755); err != nil {
		return err
	}
	return r.npmPack(dir)
}

// packNPMPlatform packs the programs and the bundled skills of one platform.
func (r *release) packNPMPlatform(p platform) error {
	dir, err := stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := scope + "skill-mcp-" + p.npmOS + "-" + p.npmArch
	manifest := map[string]any{
		"name": name, "version": r.version,
		"description": "The programs of " + scope + "skill-mcp for " + p.npmOS + " on " + p.npmArch + ".",
		"os":          []string{p.npmOS}, "cpu": []string{p.npmArch},
		"files": []string{"bin", "skills"}, "preferUnplugged": true, // programs cannot be started within a zip
	}
	if err := putJSON(filepath.Join(dir, "package.json"), manifest); err != nil {
		return err
	}
	if err := r.putPrograms(p, filepath.Join(dir, "bin")); err != nil {
		return err
	}
	if err := copyTree(filepath.Join(r.source, "skills"), filepath.Join(dir, "skills")); err != nil {
		return err
	}
	return r.npmPack(dir)
}

// npmPack packs a folder without running anything of it and without asking
// the registry.
func (r *release) npmPack(dir string) error {
	env := append(r.dated(), "npm_config_offline=true", "npm_config_ignore_scripts=true", "npm_config_update_notifier=false")
	to := filepath.Join(r.out, "npm")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	_, err := output(dir, env, "npm", "pack", "--silent", "--pack-destination", to)
	return err
}
