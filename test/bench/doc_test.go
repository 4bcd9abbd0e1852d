package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
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

func TestRatioHasItsInterval(t *testing.T) {
	r := ratioOf([]float64{1, 2, 3, 4, 5}, []float64{2, 4, 6, 8, 10})
	if r.Value != 0.5 || r.Low > 0.5 || r.High < 0.5 {
		t.Errorf("%+v", r)
	}
}
