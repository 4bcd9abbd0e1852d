package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// packLinux makes a deb and an rpm for each linux platform. The tool is a
// module of its own (packaging/tools), so that the product's stays small.
func (r *release) packLinux() error {
	tool := filepath.Join(r.out, ".nfpm")
	defer os.Remove(tool)
	if _, err := output(filepath.Join(r.source, "packaging", "tools"), []string{"CGO_ENABLED=0"}, "go", "build", "-o", tool, "github.com/goreleaser/nfpm/v2/cmd/nfpm"); err != nil {
		return err
	}
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		if err := r.packLinuxPlatform(tool, p); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
	}
	return nil
}

func (r *release) packLinuxPlatform(tool string, p platform) error {
	dir, err := stage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := r.stageRoot(p, filepath.Join(dir, "root")); err != nil {
		return err
	}
	if err := r.settle(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.out, "linux"), 0o755); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(r.source, "packaging", "nfpm.yaml"))
	if err != nil {
		return err
	}
	values := map[string]string{"PACKAGE_ARCH": p.arch, "PACKAGE_VERSION": r.version, "PACKAGE_TIME": time.Unix(r.epoch, 0).UTC().Format(time.RFC3339)}
	filled := os.Expand(string(config), func(name string) string { return values[name] })
	if err := put(filepath.Join(dir, "nfpm.yaml"), []byte(filled), 0o644); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		to := filepath.Join(r.out, "linux", fmt.Sprintf("skill-mcp-%s-%s.%s", r.version, p.arch, format))
		if _, err := output(dir, r.dated(), tool, "package", "--packager", format, "--target", to); err != nil {
			return err
		}
	}
	return nil
}

// stageRoot lays the files out as they will lie on the system.
func (r *release) stageRoot(p platform, root string) error {
	if err := r.putPrograms(p, filepath.Join(root, "usr", "bin")); err != nil {
		return err
	}
	share := filepath.Join(root, "usr", "share")
	if err := copyTree(filepath.Join(r.source, "skills"), filepath.Join(share, "skill-mcp", "skills")); err != nil {
		return err
	}
	for from, to := range map[string]string{
		r.completions() + "/skill-mcp":                    share + "/bash-completion/completions/skill-mcp",
		r.completions() + "/_skill-mcp":                   share + "/zsh/vendor-completions/_skill-mcp",
		r.completions() + "/skill-mcp.fish":               share + "/fish/vendor_completions.d/skill-mcp.fish",
		r.completions() + "/skill-mcp.ps1":                share + "/skill-mcp/completions/skill-mcp.ps1",
		r.source + "/README.md":                           share + "/doc/skill-mcp/README.md",
		r.source + "/SECURITY.md":                         share + "/doc/skill-mcp/SECURITY.md",
		r.source + "/docs/kernel.md":                      share + "/doc/skill-mcp/kernel.md",
		r.source + "/packaging/systemd/skill-mcp.service": root + "/usr/lib/systemd/system/skill-mcp.service",
	} {
		if err := copyFile(from, to, 0o644); err != nil {
			return err
		}
	}
	return r.stageMan(filepath.Join(share, "man", "man1"))
}

// stageMan compresses the man pages, without name and time in the header.
func (r *release) stageMan(dir string) error {
	pages, err := filepath.Glob(filepath.Join(r.man(), "*.1"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("no man pages in %s", r.man())
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(text); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if err := put(filepath.Join(dir, filepath.Base(page)+".gz"), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
