package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentNamesEveryTable: a table that the document does not have is
// measured by nobody.
func TestDocumentNamesEveryTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names() {
		if !strings.Contains(string(text), "\n## "+name+"\n") {
			t.Errorf("docs/performance.md has no table %q: make performance", name)
		}
	}
}

func TestWhatAPersonWroteIsKept(t *testing.T) {
	mine := keepBegin + "\n## Where the time goes\n\nHere.\n" + keepEnd
	if got := kept(document(nil, nil, mine)); got != mine {
		t.Errorf("kept: %q", got)
	}
}

func TestPlotsAreWellFormed(t *testing.T) {
	for _, p := range []plot{
		{Title: "a < b & c", Names: []string{"x", "y"}, Series: []series{{Y: []float64{-1, math.NaN()}}}},
		{Title: "lines", Series: []series{{Name: "s", X: []float64{1, 4096}, Y: []float64{0.5, 200}}}},
	} {
		d := xml.NewDecoder(strings.NewReader(p.svg()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(p.svg(), "NaN") {
			t.Error("a figure that is missing was drawn")
		}
	}
}

// TestPlotsHoldWhatTheyDraw: nothing lies outside of the picture, a figure below
// zero has a bar, and no name is cut.
func TestPlotsHoldWhatTheyDraw(t *testing.T) {
	name := strings.Repeat("a long name ", 4)
	bars := plot{Title: "t", Y: "ms", Names: []string{name, "b"}, Series: []series{{Y: []float64{-4.5, 12}}}}
	lines := plot{Title: "l", X: "bytes", Y: "ms", Series: []series{{Name: "s", X: []float64{1024, 4 << 20}, Y: []float64{12, 40}}}}
	for _, p := range []plot{bars, lines} {
		picture := p.svg()
		for _, m := range regexp.MustCompile(`(?:x|cx)="(-?[\d.]+)"(?:[^>]*? width="(-?[\d.]+)")?`).FindAllStringSubmatch(picture, -1) {
			x, _ := strconv.ParseFloat(m[1], 64)
			w, _ := strconv.ParseFloat(m[2], 64)
			if x < 0 || w < 0 || x+w > plotWidth {
				t.Errorf("%s lies outside", m[0])
			}
		}
	}
	drawn := bars.svg()
	if w := regexp.MustCompile(`<rect x="[\d.]+" y="\d+" width="([\d.]+)"`).FindStringSubmatch(drawn); w == nil || w[1] == "0.0" || !strings.Contains(drawn, name) {
		t.Errorf("a figure below zero has no bar, or a name is cut: %v", w)
	}
	if s := lines.svg(); !strings.Contains(s, ">1 KiB<") || !strings.Contains(s, ">4 MiB<") || !strings.Contains(s, ">20<") {
		t.Error("the axes are not readable")
	}
}

func TestRatioHasItsInterval(t *testing.T) {
	r := ratioOf([]float64{1, 2, 3, 4, 5}, []float64{2, 4, 6, 8, 10})
	if r.Value != 0.5 || r.Low > 0.5 || r.High < 0.5 {
		t.Errorf("%+v", r)
	}
}
