package main

import "testing"

// mostMore is how much larger and slower to start the helper of every run may
// be for the mode that few runs use: a twentieth.
const mostMore = 1.05

// TestHelperDoesNotGrowWithModeDeclared compares the helper with one in which
// what mode declared needs is a stub.
func TestHelperDoesNotGrowWithModeDeclared(t *testing.T) {
	h, err := buildHelpers(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if more := float64(h.withSize) / float64(h.withoutSize); more > mostMore || more < 1 {
		t.Errorf("%d bytes, without %d: %.3f of it", h.withSize, h.withoutSize, more)
	}
	// Other work on the machine slows one more than the other: it is slow when
	// every round finds it so.
	const rounds = 4
	for i := range rounds {
		s, err := h.starts(100)
		if err != nil {
			t.Fatal(err)
		}
		with, without := quantile(s["with"], 0.5), quantile(s["without"], 0.5)
		t.Logf("round %d: starts in %.2f ms, without in %.2f ms, again in %.2f ms", i, with, without, quantile(s["without again"], 0.5))
		if with <= mostMore*without {
			return
		}
	}
	t.Errorf("in every round it starts more than %.2f times as slow", mostMore)
}
