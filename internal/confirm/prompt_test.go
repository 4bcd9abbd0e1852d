package confirm

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"keys are sorted", `{"b":1,"a":[{"d":null,"c":true}]}`, `{"a":[{"c":true,"d":null}],"b":1}`},
		{"by UTF-16 unit", "{\"\uffff\":1,\"\U0001F600\":2}", "{\"\U0001F600\":2,\"\uffff\":1}"},
		{"dollar keys get one more", `{"$a":1,"a$":2}`, `{"$$a":1,"a$":2}`},
		{"numbers keep their digits", `[1e3,1000,9007199254740993]`, `[1e3,1000,9007199254740993]`},
		{"texts", `["<é\u0000"]`, `["\u003cé\u0000"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Canonical(json.RawMessage(c.in))
			if err != nil || string(got) != c.want {
				t.Fatalf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
}

func TestThePromptIsForAPerson(t *testing.T) {
	p := Prompt{
		Skill: "demo", Script: "scripts/a.js", Args: []string{"plain", "two words", "x\nInterpreter: safe", "\u202egnp.exe"},
		Interpreter: "node", Folder: "/skills/demo", Timeout: 15 * time.Second, EnvNames: []string{"HOME", "PATH"},
		Network: "none", Missing: []string{"cgroup-memory (no cgroup v2)"}, Action: "skill.run",
		Details: map[string]any{"argv": []string{"\u202egnp.exe", "<b>"}},
	}
	text, err := p.Text()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for _, want := range []string{"scripts/a.js", "demo", "4 arguments", `plain "two words" "x\nInterpreter: safe" "\u202egnp.exe"`} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("first line %q lacks %q", lines[0], want)
		}
	}
	if strings.Count(text, "\nInterpreter: ") != 1 {
		t.Error("an argument made a line of its own")
	}
	if strings.ContainsRune(text, '\u202e') {
		t.Error("a direction mark is not visible")
	}
	for _, want := range []string{"Interpreter: node", "Folder: /skills/demo", "Time limit: 15s", "HOME PATH", "Network: none", "cgroup-memory", "only its own temporary folder"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	_, tail, ok := strings.Cut(text, "\n\n{")
	if !ok {
		t.Fatal("no JSON at the end")
	}
	var got struct {
		Action  string
		Details struct{ Argv []string }
	}
	if err := json.Unmarshal([]byte("{"+tail), &got); err != nil || got.Action != "skill.run" || got.Details.Argv[0] != "\u202egnp.exe" || got.Details.Argv[1] != "<b>" {
		t.Fatalf("%v %+v", err, got)
	}
}

func TestOnlyTrueIsYes(t *testing.T) {
	for text, want := range map[string]bool{
		`{"confirmed":true}`: true, `{"confirmed":false}`: false, `{}`: false, `{"confirmed":"true"}`: false,
		`{"confirmed":1}`: false, `null`: false, `[true]`: false, `{"Confirmed":true}`: false, `"confirmed"`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if Confirmed(v) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func TestRepliesHaveTheContractsKeysInOrder(t *testing.T) {
	g, _ := newGate(t, Config{})
	p := Preview{DryRun: true, WillRun: map[string]string{"skill": "demo"}, Note: "No process has been started."}
	required, err := g.Required(call(), p, false)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := g.Rejected(DraftChanged, call(), p, false)
	if err != nil {
		t.Fatal(err)
	}
	reused, err := g.Rejected(TokenReused, call(), p, false)
	if err != nil {
		t.Fatal(err)
	}
	declined, err := Declined("skill.run")
	if err != nil {
		t.Fatal(err)
	}
	refused, err := Settings{Mode: Refuse, Prompts: true, TTL: 1}.Refused("skill.run")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, keys string
		isError    bool
		got        Reply
	}{
		{"required", "status confirmed dispatched action preview confirmToken expiresAt ttlSeconds instruction", false, required},
		{"changed", "status confirmed dispatched error reason note action preview confirmToken expiresAt ttlSeconds instruction", true, changed},
		{"reused", "status confirmed dispatched error action note", true, reused},
		{"declined", "confirmed cancelled action note", false, declined},
		{"refused", "confirmed dispatched action reason note hint", false, refused},
	} {
		if got := keys(t, c.got.Text); got != c.keys || c.got.IsError != c.isError {
			t.Errorf("%s: got %q (error %v), want %q (error %v)", c.name, got, c.got.IsError, c.keys, c.isError)
		}
		if !strings.HasPrefix(c.got.Text, "{\n  \"") {
			t.Errorf("%s is not indented by two blanks: %q", c.name, c.got.Text)
		}
	}
	if !strings.Contains(required.Text, `"expiresAt": "2027-01-15T08:01:00.000Z"`) {
		t.Errorf("expiry: %s", required.Text)
	}
}

// keys gives the top-level keys of a JSON object in order.
func keys(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	var out []string
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(out, " ")
}

func TestRefusalsNameTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Settings
		want []string
	}{
		{"mode refuse", Settings{Mode: Refuse, Prompts: true, TTL: 1}, []string{"elicitation", "MCP_CONFIRM_MODE=ask-user"}},
		{"bad lifetime", Settings{Mode: AskUser, Prompts: true}, []string{"MCP_CONFIRM_TTL_SECONDS"}},
		{"prompts off", Settings{Mode: Refuse, TTL: 1}, []string{"Prompts are turned off", "MCP_CONFIRM_ELICITATION=off"}},
	} {
		r, err := c.s.Refused("skill.run")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.want {
			if !strings.Contains(r.Text, w) {
				t.Errorf("%s: no %q in %s", c.name, w, r.Text)
			}
		}
	}
}
