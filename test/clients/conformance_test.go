package clients

import (
	"strings"
	"testing"
)

// The suite's own scenarios against a server that has what they look for: what
// fails here fails in the transport.
func TestConformanceOfTheTransports(t *testing.T) {
	f := find(t)
	url := serveHTTP(t, f.environment(), f.fixture, "--http", "127.0.0.1:0")
	conformance(t, f, url, "2025-11-25", "server-initialize", "server-session-lifecycle", "logging-set-level", "ping", "completion-complete",
		"tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
		"tools-call-with-logging", "tools-call-error", "tools-call-with-progress", "tools-call-elicitation", "elicitation-sep1034-defaults",
		"elicitation-sep1330-enums", "server-sse-multiple-streams", "resources-list", "resources-read-text", "resources-read-binary",
		"resources-templates-read", "prompts-list", "prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource",
		"prompts-get-with-image", "dns-rebinding-protection")
	conformance(t, f, url, "2026-07-28", "server-stateless", "completion-complete", "tools-list", "tools-call-simple-text", "tools-call-error",
		"tools-call-with-progress", "server-sse-multiple-streams", "resources-list", "resources-read-text", "resources-read-binary",
		"resources-templates-read", "sep-2164-resource-not-found", "prompts-list", "prompts-get-simple", "dns-rebinding-protection", "caching",
		"http-header-validation", "input-required-result-basic-elicitation", "input-required-result-missing-input-response",
		"input-required-result-result-type", "input-required-result-unsupported-methods", "input-required-result-ignore-extra-params",
		"input-required-result-validate-input")
}

// The scenarios that need nothing but what skill-mcp has.
func TestConformanceOfTheServer(t *testing.T) {
	f := withServer(t)
	for skills, dir := range f.portable(t) {
		url := serveHTTP(t, f.environment("SKILLS_DIR="+dir), f.server, "serve", "--http", "127.0.0.1:0")
		t.Run(skills, func(t *testing.T) {
			conformance(t, f, url, "2025-11-25", "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
				"completion-complete", "dns-rebinding-protection")
			modern := []string{"tools-list", "resources-list", "prompts-list", "completion-complete", "caching", "sep-2164-resource-not-found",
				"dns-rebinding-protection", "http-header-validation", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"}
			if skills == "bundled" || skills == "plaited" {
				modern = append(modern, "sep-2640-skills-directory") // it wants a folder inside the first skill
			}
			conformance(t, f, url, "2026-07-28", modern...)
		})
	}
}

// conformance has the suite run all that a revision requires, in one process,
// and looks for the scenarios named here in its summary; the others need tools
// that the server does not have. Scenarios of extensions are not in that list
// and are run one by one.
func conformance(t *testing.T, f tools, url, revision string, scenarios ...string) {
	t.Helper()
	program := f.program(t, "@modelcontextprotocol/conformance", "conformance")
	out, _ := f.run(t, nil, program, "server", "--url", url, "--requirements", revision)
	for _, scenario := range scenarios {
		t.Run(revision+"/"+scenario, func(t *testing.T) {
			if _, summary, ok := strings.Cut(out, "=== SUMMARY ==="); ok && strings.Contains(summary, " "+scenario+": ") {
				if !strings.Contains(summary, "✓ "+scenario+": ") || strings.Contains(summary, "✓ "+scenario+": 0 passed") {
					text, _ := f.run(t, nil, program, "server", "--url", url, "--spec-version", revision, "--scenario", scenario)
					t.Error(tail(text))
				}
				return
			}
			text, code := f.run(t, nil, program, "server", "--url", url, "--spec-version", revision, "--scenario", scenario, "--force")
			if code != 0 || strings.Contains(text, "Unknown scenario") {
				t.Errorf("exit status %d\n%s", code, tail(text))
			}
		})
	}
}
