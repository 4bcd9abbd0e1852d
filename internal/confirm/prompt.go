package confirm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Prompt is what a person is asked to approve. Lists that are empty and texts
// that are "" are left out.
type Prompt struct {
	Skill, Script string
	Args          []string
	Interpreter   string
	Folder        string        // the run's working directory
	Timeout       time.Duration // after which the run is ended
	EnvNames      []string      // variables handed over
	EnvWarning    string        // why these values leave the owner's hands
	Network       string        // what the run can reach, as a sentence
	Reads, Writes []string      // trees beyond the skill and the interpreter
	Home          string        // what HOME is, when it is not as set
	Missing       []string      // layers of the fence that are not in force
	Action        string        // e.g. "skill.run"
	Details       any           // everything, encoded as JSON at the end
}

// Text is the prompt for a person: the first line says what runs, the lines
// after it what that gets, the JSON comes last. Names and arguments come from
// somebody else, so they are quoted until they cannot look like lines of ours.
func (p Prompt) Text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Review and confirm running this skill script: %s of skill %s", word(p.Script), word(p.Skill))
	if len(p.Args) == 0 {
		b.WriteString(", without arguments.\n")
	} else {
		fmt.Fprintf(&b, ", with %s: %s\n", count(len(p.Args), "argument"), words(p.Args))
	}
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", label, text)
		}
	}
	line("Interpreter", word(p.Interpreter))
	line("Folder", word(p.Folder))
	line("Time limit", p.Timeout.String())
	line("Variables it receives (names only)", or(words(p.EnvNames), "none"))
	line("Note", p.EnvWarning)
	line("Network", p.Network)
	line("Home", p.Home)
	line("It can also read", words(p.Reads))
	line("It can write", or(words(p.Writes), "only its own temporary folder"))
	line("Not in force here", strings.Join(p.Missing, "; "))
	b.WriteString("The server cannot tell what the script does; a skill is somebody else's program.\n\n")
	text, err := visibleJSON(map[string]any{"action": p.Action, "details": p.Details})
	if err != nil {
		return "", fmt.Errorf("write the prompt: %w", err)
	}
	b.Write(text)
	return b.String(), nil
}

// Schema is the form of the prompt: one box to tick.
func Schema() map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"confirmed": map[string]any{
				"type": "boolean", "title": "Run this script",
				"description": "Tick to run exactly the script and arguments shown above, once.",
			},
		},
		"required": []string{"confirmed"},
	}
}

// Confirmed reads the content of an accepted prompt: only the boolean true
// under the key confirmed is a yes.
func Confirmed(content any) bool {
	m, ok := content.(map[string]any)
	if !ok {
		return false
	}
	yes, ok := m["confirmed"].(bool)
	return ok && yes
}

// word shows one text on one line: as it is when it is plain, else quoted with
// everything invisible escaped.
func word(s string) string {
	plain := s != ""
	for _, r := range s {
		if !strings.ContainsRune("._/@:=+,-", r) && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && !('0' <= r && r <= '9') {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

func words(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = word(s)
	}
	return strings.Join(out, " ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// visibleJSON is v as indented JSON in which every character that does not
// show (direction marks, joiners, odd blanks) is escaped, so that what a person
// reads is what is there.
func visibleJSON(v any) ([]byte, error) {
	text, err := prettyJSON(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes(), nil
}

// prettyJSON is v as JSON with two blanks of indent and no HTML escapes.
func prettyJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
