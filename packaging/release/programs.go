package main

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// programs are built and installed side by side: the server looks for its
// helper, and the helper for the network, beside itself.
func programs() []string { return []string{"skill-mcp", "skill-exec", "skill-egress"} }

// buildPrograms builds them for every platform into programs/OS-ARCH. Nothing
// of the machine, the folder or the repository's state goes into the bytes.
func (r *release) buildPrograms() error {
	for _, p := range r.platforms {
		args := []string{"build", "-trimpath", "-buildvcs=false", "-o", r.programs(p) + string(filepath.Separator),
			"-ldflags", "-s -w -buildid= -X skill-mcp/internal/config.Version=" + r.version}
		for _, name := range programs() {
			args = append(args, "./cmd/"+name)
		}
		env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0"}
		if _, err := output(r.source, env, "go", args...); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
	}
	return nil
}

// programs is the folder of one platform's programs.
func (r *release) programs(p platform) string { return filepath.Join(r.out, "programs", p.name()) }

// putPrograms copies one platform's programs into a folder of a package.
func (r *release) putPrograms(p platform, dir string) error {
	for _, name := range programs() {
		name = p.program(name)
		if err := copyFile(filepath.Join(r.programs(p), name), filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// writeDocuments makes the completions, by the program itself, and the man
// pages, by the package of tests that links the generator, so that no program
// does.
func (r *release) writeDocuments() error {
	server := filepath.Join(r.programs(r.hostPlatform()), r.hostPlatform().program("skill-mcp"))
	dir := r.completions()
	for shell, file := range completionFiles() {
		text, err := output(r.source, []string{"SKILLS_DIR="}, server, "completion", shell)
		if err != nil {
			return err
		}
		if err := put(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	_, err := output(r.source, append(r.dated(), "SKILLS_DIR="), "go", "test", "-count", "1", "-run", "^TestManPages$", "./cmd/skill-mcp", "-man", r.man())
	return err
}

// completionFiles are the names under which each shell looks for completions.
func completionFiles() map[string]string {
	return map[string]string{"bash": "skill-mcp", "zsh": "_skill-mcp", "fish": "skill-mcp.fish", "powershell": "skill-mcp.ps1"}
}

func (r *release) completions() string { return filepath.Join(r.out, "completions") }
func (r *release) man() string         { return filepath.Join(r.out, "man") }

// hostPlatform is the one this runs on, whose programs can be started.
func (r *release) hostPlatform() platform {
	for _, p := range r.platforms {
		if p.os == runtime.GOOS && p.arch == runtime.GOARCH {
			return p
		}
	}
	return r.platforms[0]
}
