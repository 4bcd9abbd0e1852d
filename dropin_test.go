package repo

import (
	"regexp"
	"strings"
	"testing"
)

// TestDropInNamesWhatIsThere: each row of docs/drop-in.md has all its cells and
// names a test that is there, and what its third cell writes as code stands in
// the source.
func TestDropInNamesWhatIsThere(t *testing.T) {
	var code, tests strings.Builder
	eachGoFile(t, func(path string, src []byte) {
		if strings.HasSuffix(path, "_test.go") {
			tests.Write(src)
		} else {
			code.Write(src)
		}
	})
	table := read(t, "docs/drop-in.md")
	rows := 0
	for _, line := range strings.Split(table, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what |") {
			continue
		}
		rows++
		for _, mistake := range dropInMistakes(line, code.String(), tests.String()) {
			t.Errorf("%s: %s", line, mistake)
		}
	}
	if rows < 30 {
		t.Errorf("%d rows", rows)
	}
	for _, bad := range []string{
		"| a |  | b | c | TestVerdict |",
		"| a | b | `no-such-word` | c | TestVerdict |",
		"| a | b | c | d | TestOfNothing |",
		"| a | b | c | TestVerdict |",
	} {
		if len(dropInMistakes(bad, code.String(), tests.String())) == 0 {
			t.Errorf("nothing is wrong with %s", bad)
		}
	}
}

// dropInMistakes are those of one row.
func dropInMistakes(line, code, tests string) (out []string) {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	if len(cells) != 5 {
		return []string{"it has not five cells"}
	}
	for _, c := range cells {
		if strings.TrimSpace(c) == "" {
			out = append(out, "a cell is empty")
		}
	}
	if name := strings.TrimSpace(cells[4]); !regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`).MatchString(tests) {
		out = append(out, "there is no test "+name)
	}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
		for _, word := range regexp.MustCompile(`[\w/-]{3,}`).FindAllString(m[1], -1) {
			if !strings.Contains(code, word) {
				out = append(out, word+" does not stand in the source")
			}
		}
	}
	return out
}
