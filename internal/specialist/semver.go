package specialist

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// versionRule is the full grammar of Semantic Versioning 2.0.0.
var versionRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
		`(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?` +
		`(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`)
})

// maxVersion bounds a version, in bytes: it becomes part of a file name.
const maxVersion = 128

func validVersion(s string) bool { return len(s) <= maxVersion && versionRule().MatchString(s) }

// compareVersions orders two versions by precedence (Semantic Versioning
// 2.0.0, section 11); build metadata does not count. Precondition: both are
// valid.
func compareVersions(a, b string) int {
	x, y := versionRule().FindStringSubmatch(a), versionRule().FindStringSubmatch(b)
	for i := 1; i <= 3; i++ {
		if c := compareNumbers(x[i], y[i]); c != 0 {
			return c
		}
	}
	switch {
	case x[4] == y[4]:
		return 0
	case x[4] == "":
		return 1
	case y[4] == "":
		return -1
	}
	left, right := strings.Split(x[4], "."), strings.Split(y[4], ".")
	for i := range min(len(left), len(right)) {
		if c := compareParts(left[i], right[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(left), len(right))
}

// compareNumbers compares decimals of any length without leading zeros.
func compareNumbers(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func compareParts(a, b string) int {
	aNumber, bNumber := strings.Trim(a, "0123456789") == "", strings.Trim(b, "0123456789") == ""
	switch {
	case aNumber && bNumber:
		return compareNumbers(a, b)
	case aNumber:
		return -1
	case bNumber:
		return 1
	}
	return strings.Compare(a, b)
}
