package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// writeBill writes sbom.cdx.json, CycloneDX 1.5: every module that is linked
// into a program, taken from the programs themselves and not from go.mod.
func (r *release) writeBill() error {
	modules := map[string]debug.Module{}
	toolchain := ""
	for _, p := range r.platforms {
		for _, name := range programs() {
			info, err := buildinfo.ReadFile(filepath.Join(r.programs(p), p.program(name)))
			if err != nil {
				return err
			}
			toolchain = info.GoVersion
			for _, m := range info.Deps {
				if m.Replace != nil {
					m = m.Replace
				}
				modules[m.Path+"@"+m.Version] = *m
			}
		}
	}
	product := "pkg:generic/skill-mcp@" + r.version
	components := []any{map[string]any{
		"type": "library", "name": "std", "version": strings.TrimPrefix(toolchain, "go"),
		"bom-ref": "pkg:golang/std@" + strings.TrimPrefix(toolchain, "go"), "purl": "pkg:golang/std@" + strings.TrimPrefix(toolchain, "go"),
	}}
	refs := []string{"pkg:golang/std@" + strings.TrimPrefix(toolchain, "go")}
	for _, key := range sortedKeys(modules) {
		m := modules[key]
		purl := "pkg:golang/" + m.Path + "@" + url.PathEscape(m.Version)
		components = append(components, map[string]any{
			"type": "library", "name": m.Path, "version": m.Version, "bom-ref": purl, "purl": purl,
			"properties": []any{map[string]any{"name": "go:sum", "value": m.Sum}},
		})
		refs = append(refs, purl)
	}
	return putJSON(filepath.Join(r.out, "sbom.cdx.json"), map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.time(),
			"component": map[string]any{"type": "application", "name": "skill-mcp", "version": r.version, "bom-ref": product, "purl": product},
		},
		"components":   components,
		"dependencies": []any{map[string]any{"ref": product, "dependsOn": refs}},
	})
}

// writeProvenance writes provenance.json, an in-toto statement with the SLSA
// predicate: which files were made, from which source, by which command. It is
// not signed here; whoever publishes signs it.
func (r *release) writeProvenance() error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	subject := []any{}
	for _, path := range sortedKeys(sums) {
		subject = append(subject, map[string]any{"name": path, "digest": map[string]any{"sha256": sums[path]}})
	}
	source := map[string]any{"uri": "git+skill-mcp"}
	if commit, err := output(r.source, nil, "git", "rev-parse", "HEAD"); err == nil {
		source["digest"] = map[string]any{"gitCommit": strings.TrimSpace(commit)}
	}
	lists, err := r.dependencyLists()
	if err != nil {
		return err
	}
	names := []string{}
	for _, p := range r.platforms {
		names = append(names, p.name())
	}
	return putJSON(filepath.Join(r.out, "provenance.json"), map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subject,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            "urn:skill-mcp:make-release:1",
				"externalParameters":   map[string]any{"version": r.version, "platforms": names},
				"internalParameters":   map[string]any{"SOURCE_DATE_EPOCH": r.epoch, "go": runtime.Version()},
				"resolvedDependencies": append([]any{source}, lists...),
			},
			"runDetails": map[string]any{
				"builder":  map[string]any{"id": "urn:skill-mcp:make-release"},
				"metadata": map[string]any{"startedOn": r.time()},
			},
		},
	})
}

// dependencyLists are the files that pin what a build takes from outside.
func (r *release) dependencyLists() ([]any, error) {
	var out []any
	for _, path := range []string{"go.sum", "packaging/tools/go.sum", "test/node/package-lock.json"} {
		sum, err := sha256File(filepath.Join(r.source, path))
		if err != nil {
			return nil, err
		}
		out = append(out, map[string]any{"name": path, "digest": map[string]any{"sha256": sum}})
	}
	return out, nil
}

// writeChecksums writes SHA256SUMS over everything else, in the form that
// sha256sum -c reads.
func (r *release) writeChecksums() error {
	sums, err := r.sums()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, path := range sortedKeys(sums) {
		fmt.Fprintf(&b, "%s  %s\n", sums[path], path)
	}
	return put(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// sums are the checksums of the release's files by their path in it.
func (r *release) sums() (map[string]string, error) {
	sums := map[string]string{}
	err := filepath.WalkDir(r.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.out, path)
		if err != nil {
			return err
		}
		sums[filepath.ToSlash(rel)], err = sha256File(path)
		return err
	})
	return sums, err
}

func sha256File(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// time is the source's time, the only one that a release knows.
func (r *release) time() string { return time.Unix(r.epoch, 0).UTC().Format(time.RFC3339) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
