package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// packBundles packs one MCP bundle for each platform with the tool of the
// format, which checks the manifest before.
func (r *release) packBundles() error {
	tool := filepath.Join(r.source, "test", "node", "node_modules", ".bin", "mcpb")
	if _, err := os.Stat(tool); err != nil {
		return fmt.Errorf("the mcpb tool is missing, `make tools` brings it: %w", err)
	}
	for _, p := range r.platforms {
		if err := r.packBundle(tool, p); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
	}
	return nil
}

// packBundle stages the programs, the bundled skills and the manifest with this
// platform's file names.
func (r *release) packBundle(tool string, p platform) error {
	dir, err := stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	manifest, err := readJSON(filepath.Join(r.source, "packaging", "mcpb", "manifest.json"))
	if err != nil {
		return err
	}
	entry := "server/" + p.program("skill-mcp")
	server, ok := manifest["server"].(map[string]any)
	start, also := server["mcp_config"].(map[string]any)
	if !ok || !also {
		return fmt.Errorf("packaging/mcpb/manifest.json has no server.mcp_config")
	}
	server["entry_point"], start["command"] = entry, "${__dirname}/"+entry
	manifest["version"] = r.version
	manifest["compatibility"] = map[string]any{"platforms": []string{p.npmOS}}
	if err := putJSON(filepath.Join(dir, "manifest.json"), manifest); err != nil {
		return err
	}
	if err := r.putPrograms(p, filepath.Join(dir, "server")); err != nil {
		return err
	}
	if err := copyTree(filepath.Join(r.source, "skills"), filepath.Join(dir, "skills")); err != nil {
		return err
	}
	if err := r.settle(dir); err != nil {
		return err
	}
	if _, err := output(dir, r.dated(), tool, "validate", filepath.Join(dir, "manifest.json")); err != nil {
		return err
	}
	to := filepath.Join(r.out, "mcpb", fmt.Sprintf("skill-mcp-%s-%s.mcpb", r.version, p.name()))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if _, err := output(dir, r.dated(), tool, "pack", dir, to); err != nil {
		return err
	}
	return r.settleZip(to)
}
