package ui

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"time"

	"skill-mcp/internal/doctor"
	"skill-mcp/internal/mcpserver"
)

// Source gives what the page shows; every request asks again. Both functions
// are called by one request at a time.
type Source struct {
	Look func(ctx context.Context) (Facts, error)
	// Doctor may take seconds: it is asked when the rest of the page is on its way.
	Doctor func(ctx context.Context) (Examination, error)
}

// Facts are everything but the doctor's table.
type Facts struct {
	Overview mcpserver.Overview
	Runs     []Run  // newest first
	RunsFrom string // a sentence: whose runs these are, or why there are none
	Time     time.Time
}

// Run is one run that ended.
type Run struct {
	Time            time.Time
	Skill, Script   string
	Verdict         string // as package report names it
	ExitCode        *int   // nil: a signal ended it
	Signal          string
	DurationMs      int64
	PeakMemoryBytes int64 // 0: not measured
}

// Examination is the doctor's report and when it was made.
type Examination struct {
	Report doctor.Report
	Time   time.Time
	Note   string // how it was made
}

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// templates are the two parts of the page, which are sent one after the other.
type templates struct {
	all   *template.Template
	style template.CSS
}

// parse reads the page, which belongs to the program: a mistake in it is one of
// ours and found by every test.
func parse() (templates, error) {
	t, err := template.New("page").Funcs(words()).Parse(pageText)
	return templates{t, template.CSS(styleText)}, err
}

// policyOf is the Content-Security-Policy: nothing but the one style, by its
// hash, and the icon.
func policyOf(style template.CSS) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// top is what the first part of the template is given.
type top struct {
	Facts
	Style    template.CSS
	Count    count
	Pictures map[string]picture // by skill and script
}

// count is what the summary says.
type count struct{ Skills, Problems, Scripts, Runnable int }

// newTop counts and draws.
func newTop(f Facts, style template.CSS) top {
	t := top{Facts: f, Style: style, Pictures: map[string]picture{}}
	t.Count.Skills, t.Count.Problems = len(f.Overview.Skills), len(f.Overview.Problems)
	for _, s := range f.Overview.Skills {
		t.Count.Problems += len(s.Problems)
		for _, one := range s.Scripts {
			t.Count.Scripts++
			if one.Asked && one.Why == "" {
				t.Count.Runnable++
			}
			t.Pictures[s.Name+"\x00"+one.Path] = draw(len(t.Pictures)+1, s.Name, one)
		}
	}
	return t
}

// Picture finds the picture of a script.
func (t top) Picture(skill, script string) picture { return t.Pictures[skill+"\x00"+script] }
