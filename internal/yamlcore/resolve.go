package yamlcore

import (
	"math"
	"strconv"
	"strings"
)

// resolve gives the kind of a plain scalar by the core schema of YAML 1.2
// (section 10.3.2 of the specification).
func resolve(s string) Kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	switch {
	case isInt(s):
		return Int
	case isFloat(s) || isSpecialFloat(s):
		return Float
	}
	return String
}

// isInt matches [-+]?[0-9]+, 0o[0-7]+ and 0x[0-9a-fA-F]+.
func isInt(s string) bool {
	if strings.HasPrefix(s, "0o") {
		return len(s) > 2 && strings.Trim(s[2:], "01234567") == ""
	}
	if strings.HasPrefix(s, "0x") {
		return len(s) > 2 && strings.Trim(s[2:], "0123456789abcdefABCDEF") == ""
	}
	digits := s[signLen(s):]
	return digits != "" && digitsLen(digits) == len(digits)
}

// isDecimal tells a decimal whole number from an octal or hexadecimal one.
// Precondition: s satisfies isInt.
func isDecimal(s string) bool {
	return len(s) < 2 || s[1] != 'o' && s[1] != 'x'
}

// isFloat matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?.
func isFloat(s string) bool {
	s = s[signLen(s):]
	whole := digitsLen(s)
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		part := digitsLen(s[1:])
		if whole == 0 && part == 0 {
			return false
		}
		s = s[1+part:]
	} else if whole == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	s = s[signLen(s):]
	return s != "" && digitsLen(s) == len(s)
}

// isSpecialFloat matches the forms of infinity and of what is no number.
func isSpecialFloat(s string) bool {
	switch s {
	case ".nan", ".NaN", ".NAN":
		return true
	}
	switch s[signLen(s):] {
	case ".inf", ".Inf", ".INF":
		return true
	}
	return false
}

// parseFloat gives the value of a scalar that satisfies isFloat or
// isSpecialFloat; a number out of range is infinite.
func parseFloat(s string) float64 {
	if isSpecialFloat(s) {
		switch {
		case s[1] == 'n' || s[1] == 'N':
			return math.NaN()
		case s[0] == '-':
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

func signLen(s string) int {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return 1
	}
	return 0
}

func digitsLen(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
