package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/archive/ziptest"
)

const specialistPrompt = "PROMPT-MARKER"

func (b *packageBench) specialistPackage(version, body string) string {
	b.t.Helper()
	return b.bundle(
		ziptest.Entry{Name: "manifest.json", Data: []byte(`{"schema_version":1,"id":"rev","version":"` + version + `","exported_with_app_version":"1.0.0"}`)},
		ziptest.Entry{Name: "specialist.json", Data: []byte(`{"name":"Reviewer","description":"Reviews.","system_prompt":"` + specialistPrompt + `","skill_ids":[],"connector_ids":[]}`)},
		skillFile("skills/lint/SKILL.md", "lint", body))
}

func TestSpecialistCommands(t *testing.T) {
	b := newPackageBench(t)
	report := filepath.Join(b.dir, "report.json")
	b.want(exitOK, "specialist", "preview", b.specialistPackage("1.0.0", "one"), "--report", report)
	token := b.token()
	saved, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{token, b.dir, specialistPrompt} {
		if bytes.Contains(saved, []byte(never)) {
			t.Errorf("the report holds %q: %s", never, saved)
		}
	}
	b.want(exitOK, "specialist", "install", token)
	b.want(exitProblem, "specialist", "install", token)
	b.want(exitOK, "specialist", "list")
	if out := b.stdout.String(); out != "rev\t1.0.0\t1\toff\tReviewer\n" {
		t.Errorf("%q", out)
	}
	b.want(exitProblem, "uninstall", "lint")
	if out := b.stder.String(); !strings.Contains(out, `"lint" is used by "rev" (`) {
		t.Error(out)
	}
	b.want(exitProblem, "specialist", "preview", b.specialistPackage("2.0.0", "two")) // a conflict
	token = b.token()
	b.want(exitProblem, "specialist", "install", token, "--overwrite")
	b.want(exitProblem, "specialist", "install", token, "--resolve", "lint=use-incoming")
	b.want(exitOK, "specialist", "install", token, "--resolve", "lint=use-incoming", "--overwrite")
	first, second := filepath.Join(b.dir, "first.zip"), filepath.Join(b.dir, "second.zip")
	b.want(exitProblem, "specialist", "export", "rev", "--revision", "1", "-o", first)
	b.want(exitOK, "specialist", "export", "rev")
	b.want(exitOK, "specialist", "export", "rev", "--revision", "2", "-o", first)
	b.want(exitProblem, "specialist", "export", "rev", "-o", first) // it is there
	b.want(exitOK, "specialist", "delete", "rev")
	b.want(exitProblem, "specialist", "delete", "rev", "--revision", "2", "--with", "other")
	b.want(exitOK, "specialist", "delete", "rev", "--revision", "2", "--with", "lint")
	b.want(exitOK, "specialist", "preview", first)
	b.want(exitOK, "specialist", "install", b.token())
	b.want(exitOK, "specialist", "export", "rev", "-o", second)
	one, _ := os.ReadFile(first)
	two, _ := os.ReadFile(second)
	if len(one) == 0 || !bytes.Equal(one, two) {
		t.Error("the export of an import differs")
	}
	b.want(exitUsage, "specialist", "preview")
	b.want(exitUsage, "specialist", "install")
	b.want(exitUsage, "specialist", "delete", "rev", "--with", "lint")
	b.want(exitUsage, "specialist", "export", "rev", "--include", "lint", "--no-skills")
}

func TestSpecialistCommandsInJSON(t *testing.T) {
	b := newPackageBench(t)
	answer := func(into any) {
		t.Helper()
		if err := json.Unmarshal(b.stdout.Bytes(), into); err != nil {
			t.Fatalf("%v: %s", err, &b.stdout)
		}
	}
	var bad struct {
		Installable    bool
		Diagnostics    []struct{ Level, Code, Path, Message string }
		CandidateToken string
	}
	b.want(exitProblem, "specialist", "preview", b.bundle(ziptest.Entry{Name: "manifest.json", Data: []byte("[]")}, ziptest.Entry{Name: "../\x1b[2J"}), "--json")
	if answer(&bad); bad.Installable || len(bad.Diagnostics) != 3 || bad.CandidateToken == "" {
		t.Errorf("%+v", bad)
	}
	if strings.Contains(b.stdout.String(), "../") || strings.Contains(b.stdout.String(), `\u001b`) {
		t.Errorf("an unsafe name is shown: %s", &b.stdout)
	}
	var failed struct {
		Error struct{ Code, Message string }
	}
	request := filepath.Join(b.dir, "request.json")
	for text, want := range map[string]string{
		`{"candidateToken":"` + bad.CandidateToken + `"}`:                           "candidate-not-installable",
		`{"candidateToken":"x"}`:                                                    "stale-candidate",
		`{"candidateToken":"` + bad.CandidateToken + `","confirmOverwrite":"true"}`: "candidate-invalid",
		`{"candidateToken":"x","more":1}`:                                           "candidate-invalid",
	} {
		if err := os.WriteFile(request, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.want(exitProblem, "specialist", "install", "--request", request, "--json")
		if answer(&failed); failed.Error.Code != want {
			t.Errorf("%s: %+v", text, failed)
		}
	}
	b.want(exitOK, "specialist", "preview", b.specialistPackage("1.0.0", "x"), "--json")
	answer(&bad)
	var installed struct {
		ID       string
		Revision int
		Skills   []struct{ ID, Disposition string }
	}
	b.want(exitOK, "specialist", "install", bad.CandidateToken, "--json")
	if answer(&installed); installed.Revision != 1 || len(installed.Skills) != 1 || installed.Skills[0].Disposition != "install" {
		t.Errorf("%+v", installed)
	}
	for _, args := range [][]string{{"list"}, {"export", "rev"}, {"delete", "rev"}, {"delete", "rev", "--revision", "1"}} {
		var any map[string]any
		b.want(exitOK, append(append([]string{"specialist"}, args...), "--json")...)
		if answer(&any); len(any) == 0 {
			t.Errorf("%v: %s", args, &b.stdout)
		}
	}
	b.want(exitProblem, "specialist", "export", "rev", "--json")
	if answer(&failed); failed.Error.Code != "unknown-specialist" {
		t.Errorf("%+v", failed)
	}
}
