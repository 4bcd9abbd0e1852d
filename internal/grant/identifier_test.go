package grant

import (
	"regexp"
	"testing"
)

// TestIdentifierIsTheRegularExpression compares with the rule as the contract
// writes it.
func TestIdentifierIsTheRegularExpression(t *testing.T) {
	rule := regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`)
	for a := range 256 {
		for _, name := range []string{string([]byte{byte(a)}), string([]byte{'A', byte(a)}), string([]byte{byte(a), '_', '9'})} {
			if Identifier(name) != rule.MatchString(name) {
				t.Errorf("%q: %v", name, Identifier(name))
			}
		}
	}
	if Identifier("") || Identifier("é") || Identifier("A\n") {
		t.Error("an empty, a foreign or a broken name passes")
	}
}
