package environ

import (
	"strings"
	"testing"
)

func TestTheFirstDefinedProxyDecides(t *testing.T) {
	for name, c := range map[string]struct {
		env  Environ
		want bool
	}{
		"none":                         {Environ{}, false},
		"one":                          {Environ{"http_proxy": "http://p:1"}, true},
		"an empty one hides the later": {Environ{"HTTPS_PROXY": "", "http_proxy": "http://p:1"}, false},
	} {
		if _, got := c.env.Proxy(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEnvRange(t *testing.T) {
	fields := strings.Repeat("0 ", 47)
	for name, c := range map[string]struct {
		stat       string
		start, end int64
		ok         bool
	}{
		"a plain name":                   {"7 (x) " + fields + "100 200 0", 100, 200, true},
		"a name that holds parentheses":  {"7 (a) b) " + fields + "100 200 0", 100, 200, true},
		"an empty block":                 {"7 (x) " + fields + "100 100 0", 100, 100, true},
		"zero":                           {"7 (x) " + fields + "0 0 0", 0, 0, false},
		"an end before the start":        {"7 (x) " + fields + "200 100 0", 0, 0, false},
		"a number that is none":          {"7 (x) " + fields + "x 100 0", 0, 0, false},
		"a number beyond all":            {"7 (x) " + fields + "1 99999999999999999999 0", 0, 0, false},
		"too few fields":                 {"7 (x) 1 2 3", 0, 0, false},
		"nothing":                        {"", 0, 0, false},
		"no parenthesis and many fields": {strings.Repeat("9 ", 10), 0, 0, false},
	} {
		start, end, err := envRange([]byte(c.stat))
		if (err == nil) != c.ok || (c.ok && (start != c.start || end != c.end)) {
			t.Errorf("%s: %d %d %v", name, start, end, err)
		}
	}
}

func FuzzEnvRange(f *testing.F) {
	f.Add([]byte("7 (a) b) " + strings.Repeat("0 ", 47) + "100 200 0"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if start, end, err := envRange(stat); err == nil && (start <= 0 || end < start) {
			t.Fatal(start, end)
		}
	})
}

func TestSecretIn(t *testing.T) {
	e := Environ{"TOKEN": "0123456789", "SHORT": "abc"}
	if e.SecretIn(`{"x":"0123456789"}`, []string{"SHORT", "TOKEN"}) != "TOKEN" || e.SecretIn("abc ${TOKEN}", []string{"SHORT", "TOKEN"}) != "" {
		t.Error("a value in the text is missed, or a name is taken for one")
	}
}

func TestZoneName(t *testing.T) {
	for tz, want := range map[string]string{
		"": "", "UTC": "UTC", ":Asia/Tokyo": ":Asia/Tokyo", "/usr/share/zoneinfo/Asia/Tokyo": "Asia/Tokyo",
		":/usr/share/zoneinfo/Asia/Tokyo": "Asia/Tokyo", "/etc/localtime": "/etc/localtime",
	} {
		if got := ZoneName(tz); got != want {
			t.Errorf("%q: %q, want %q", tz, got, want)
		}
	}
}
