package ui

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"skill-mcp/internal/report"
)

// words are the functions of the template.
func words() template.FuncMap {
	return template.FuncMap{
		"clean": clean, "short": short, "bytes": sizeText, "memory": memoryText, "seconds": secondsText, "when": when,
		"plural": plural, "outcome": outcome, "runState": runState, "layerState": layerState, "layerWord": layerWord, "date": date,
		"plus": func(a, b int) int { return a + b }, "minus": func(a, b int) int { return a - b },
	}
}

// clean replaces what could pass for other text: control characters, and the
// bidirectional and invisible ones. Escaping is the template's work.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || (r >= 0x7f && r < 0xa0),
			r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
			return '\ufffd'
		}
		return r
	}, s)
}

// longest is how much of a text of an author the page shows.
const longest = 600

// short cuts a long text.
func short(s string) string {
	r := []rune(clean(s))
	if len(r) <= longest {
		return string(r)
	}
	return string(r[:longest]) + "…"
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sizeText is a size for a person, in units of 1,024.
func sizeText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return plural(int(n), "byte")
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// memoryText is a size that may not have been measured.
func memoryText(n int64) string {
	if n == 0 {
		return "not measured"
	}
	return sizeText(n)
}

// secondsText is a duration in milliseconds for a person.
func secondsText(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.4g s", float64(ms)/1000)
}

// when is a time of this day, or with its date.
func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// date is a time for machines.
func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// outcome says how a run ended beside its verdict.
func outcome(r Run) string {
	switch {
	case r.Signal != "":
		return "by " + clean(r.Signal)
	case r.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return ""
}

// The states that have a colour. Each is said in words too.
const (
	stateGood = "good"
	stateWarn = "warn"
	stateBad  = "bad"
	stateOff  = "off"
)

// runState colours a run.
func runState(r Run) string {
	switch {
	case r.Verdict == string(report.Exited) && r.ExitCode != nil && *r.ExitCode == 0:
		return stateGood
	case r.Verdict == string(report.Exited), r.Verdict == string(report.Cancelled):
		return stateWarn
	}
	return stateBad
}

// layerState colours a layer: what is required and missing is bad.
func layerState(want report.Want, got report.Got) string {
	switch {
	case got == report.Enforced:
		return stateGood
	case got == report.NotAsked:
		return stateOff
	case want == report.Require:
		return stateBad
	}
	return stateWarn
}

// layerWord says what holds, and whether an attack was seen to fail.
func layerWord(got report.Got, proved bool) string {
	if got == report.Enforced && proved {
		return "proved"
	}
	return string(got)
}
