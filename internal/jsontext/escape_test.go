package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

// inside gives the inside of s as encoding/json writes it.
func inside(t testing.TB, s string) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.String()[1 : b.Len()-2]
}

// equal compares both appends and both lengths with encoding/json, into memory
// that is too short, just enough, and long.
func equal(t testing.TB, s string) {
	t.Helper()
	one := inside(t, s)
	two := inside(t, one)
	if a, b := Lengths(s); a != len(one) || b != len(two) {
		t.Fatalf("%q: lengths %d and %d, not %d and %d", s, a, b, len(one), len(two))
	}
	for _, room := range []int{0, len(one), len(two) + 1 + Slack, 3 * len(two)} {
		before := append(make([]byte, 0, room+1), '"')
		if got := string(AppendEscaped(before, s)); got != `"`+one {
			t.Fatalf("%q: %q, not %q", s, got, one)
		}
		if got := string(AppendTwice(before, s)); got != `"`+two {
			t.Fatalf("%q: %q, not %q, escaped twice", s, got, two)
		}
	}
}

func FuzzStringsAreWrittenAsEncodingJSONWritesThem(f *testing.F) {
	for _, s := range []string{
		"", "plain", "12345678", "a line of text with \"quotes\".\nand \\ more", "\n\r\t\b\f\x00\x1f\x7f", "<&>", "é\u2028\u2029😀語", "\u2027\u202a“”",
		"1234567\u2028", "\x01 \x01!\"#", strings.Repeat("\x1f ", 20), "\u2028", "ends in \u2029",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { equal(t, strings.ToValidUTF8(s, "?")) })
}

func TestEachByteAtEachPlace(t *testing.T) {
	for c := range 0x80 {
		for at := range 17 {
			for _, fill := range []string{" ", "a", "\"", "\x01", "é"} {
				equal(t, strings.Repeat(fill, at)+string(rune(c))+strings.Repeat(fill, 9))
			}
		}
	}
	for at := range 17 {
		for _, s := range []string{"\u2028", "\u2029", "\u2027", "\u2030", "\u2068", "\u2128"} {
			equal(t, strings.Repeat("x", at)+s+"y")
		}
	}
}

func BenchmarkTwice(b *testing.B) {
	s := strings.Repeat("A line of text with \"quotes\" in it.\n", 1<<20/36)
	dst := make([]byte, 0, 2<<20)
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(len(s)))
		for b.Loop() {
			AppendTwice(dst, s)
		}
	})
	b.Run("lengths", func(b *testing.B) {
		b.SetBytes(int64(len(s)))
		for b.Loop() {
			Lengths(s)
		}
	})
}
