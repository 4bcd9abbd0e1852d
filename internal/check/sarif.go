package check

import (
	"net/url"
	"path/filepath"
	"strings"
)

// The schema that SARIF files name.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// The types below are the part of SARIF 2.1.0 (OASIS standard) that is used.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifRule struct {
	ID            string    `json:"id"`
	Short         sarifText `json:"shortDescription"`
	Configuration struct {
		Level Level `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     Level           `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn"`
}

// SARIF gives the report as a SARIF 2.1.0 log, to be written as JSON. Paths
// below base are given relative to it, as code scanning wants them.
func (r Report) SARIF(base, version string) any {
	var run sarifRun
	run.ColumnKind = "unicodeCodePoints"
	run.Tool.Driver = sarifDriver{Name: "skill-mcp check", Version: version, Rules: []sarifRule{}}
	run.Results = []sarifResult{}
	index := map[string]int{}
	for _, f := range r.Findings {
		i, ok := index[f.Code]
		if !ok {
			i = len(index)
			index[f.Code] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(f.Code))
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Code, RuleIndex: i, Level: f.Level, Message: sarifText{f.Message},
			Locations: []sarifLocation{sarifAt(base, f.Path, f.Line, f.Column)},
		})
	}
	done := sarifInvocation{Successful: true, Notifications: []sarifNotification{}}
	for _, n := range r.NotChecked {
		done.Notifications = append(done.Notifications, sarifNotification{
			Level: "note", Message: sarifText{n.What + " was not checked: " + n.Reason}, Locations: []sarifLocation{sarifAt(base, n.Path, 0, 0)},
		})
	}
	run.Invocations = []sarifInvocation{done}
	return sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}
}

func sarifRuleOf(code string) sarifRule {
	r := sarifRule{ID: code, Short: sarifText{rule(code).About}}
	r.Configuration.Level = rule(code).Level
	return r
}

// sarifAt makes a location; a line of 0 is the whole file.
func sarifAt(base, path string, line, column int) sarifLocation {
	var l sarifLocation
	l.Physical.Artifact.URI = uri(base, path)
	if line > 0 {
		l.Physical.Region = &sarifRegion{line, column}
	}
	return l
}

// uri is a path as RFC 3986 wants it: relative below base, else a file URI.
func uri(base, path string) string {
	if rel := Shown(base, path); !filepath.IsAbs(rel) {
		return (&url.URL{Path: filepath.ToSlash(rel)}).String()
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}

// Shown is path as a person at base would write it: relative below base, else
// as it is.
func Shown(base, path string) string {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}
