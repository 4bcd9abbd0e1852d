package confirm

import (
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/config"
)

func TestReadSettings(t *testing.T) {
	normal := Settings{Mode: AskUser, Prompts: true, TTL: 600 * time.Second, Wait: 120 * time.Second}
	with := func(change func(*Settings)) Settings { s := normal; change(&s); return s }
	for _, c := range []struct {
		name     string
		in       config.Confirm
		want     Settings
		warnings int
	}{
		{"nothing set", config.Confirm{}, normal, 0},
		{"modes in any case", config.Confirm{Mode: "AUTO"}, with(func(s *Settings) { s.Mode = Auto }), 0},
		{"refuse", config.Confirm{Mode: "refuse"}, with(func(s *Settings) { s.Mode = Refuse }), 0},
		{"an unknown mode refuses", config.Confirm{Mode: "yes"}, with(func(s *Settings) { s.Mode = Refuse }), 1},
		{"prompts off", config.Confirm{Elicitation: "Off"}, with(func(s *Settings) { s.Prompts = false }), 0},
		{"an unknown word leaves prompts on", config.Confirm{Elicitation: "no"}, normal, 1},
		{"a lifetime", config.Confirm{TTL: "5"}, with(func(s *Settings) { s.TTL = 5 * time.Second }), 0},
		{"zero is no lifetime", config.Confirm{TTL: "0"}, with(func(s *Settings) { s.TTL = 0 }), 1},
		{"a leading zero is no lifetime", config.Confirm{TTL: "010"}, with(func(s *Settings) { s.TTL = 0 }), 1},
		{"a sign is no lifetime", config.Confirm{TTL: "+5"}, with(func(s *Settings) { s.TTL = 0 }), 1},
		{"a huge lifetime is cut", config.Confirm{TTL: strings.Repeat("9", 40)}, with(func(s *Settings) { s.TTL = 999999999 * time.Second }), 1},
		{"the longest lifetime", config.Confirm{TTL: "999999999"}, with(func(s *Settings) { s.TTL = 999999999 * time.Second }), 0},
		{"one second more is cut", config.Confirm{TTL: "1000000000"}, with(func(s *Settings) { s.TTL = 999999999 * time.Second }), 1},
		{"twenty digits are cut, and named", config.Confirm{TTL: "12345678901234567890"}, with(func(s *Settings) { s.TTL = 999999999 * time.Second }), 1},
		{"a wait of twenty digits is not used", config.Confirm{Wait: "12345678901234567890"}, normal, 1},
		{"a wait", config.Confirm{Wait: "3"}, with(func(s *Settings) { s.Wait = 3 * time.Second }), 0},
		{"a wait of hours is not used", config.Confirm{Wait: "7200"}, normal, 1},
		{"every bad value warns once", config.Confirm{Mode: "x", Elicitation: "x", TTL: "x", Wait: "x"},
			with(func(s *Settings) { s.Mode, s.TTL = Refuse, 0 }), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, warnings := ReadSettings(c.in)
			if got != c.want || len(warnings) != c.warnings {
				t.Fatalf("got %+v and %q, want %+v and %d warnings", got, warnings, c.want, c.warnings)
			}
		})
	}
}

func TestRail(t *testing.T) {
	for _, c := range []struct {
		name      string
		s         Settings
		canPrompt bool
		want      Rail
	}{
		{"the zero value refuses", Settings{}, true, RailRefuse},
		{"a client that can is prompted", Settings{Mode: AskUser, Prompts: true, TTL: 1}, true, RailPrompt},
		{"even in mode refuse", Settings{Mode: Refuse, Prompts: true}, true, RailPrompt},
		{"even in mode auto", Settings{Mode: Auto, Prompts: true, TTL: 1}, true, RailPrompt},
		{"prompts off falls back", Settings{Mode: AskUser, TTL: 1}, true, RailToken},
		{"a client that cannot falls back", Settings{Mode: Auto, Prompts: true, TTL: 1}, false, RailToken},
		{"refuse refuses", Settings{Mode: Refuse, Prompts: true, TTL: 1}, false, RailRefuse},
		{"no lifetime refuses", Settings{Mode: AskUser, Prompts: true}, false, RailRefuse},
	} {
		if got := c.s.Rail(c.canPrompt); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
