package mcpserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// given is one approval that was handed out: for which call, which content of
// the skill, until when, and whether it was used up.
type given struct {
	text    string // token or state
	prompt  bool   // a state
	call    int
	content string
	expires time.Time
	spent   bool
}

// gateModel drives the server with any sequence of messages and knows for each
// whether a script may run.
type gateModel struct {
	b      *bench
	token  *client // cannot be prompted
	prompt *client // new era, can be prompted
	given  []*given
	runs   int
}

// modelCalls are the calls the model makes; no two are the same call.
var modelCalls = []string{
	`{"name":"demo","script":"scripts/a.js"}`, `{"name":"demo","script":"scripts/b.js"}`, `{"name":"demo","script":"scripts/b.js","args":["x"]}`,
	`{"name":"demo","script":"scripts/b.js","args":["x",""]}`, `{"name":"demo","script":"scripts/b.js","args":["x "]}`,
}

const modelFile = "docs/a b.md"

func (m *gateModel) content() string {
	text, err := os.ReadFile(filepath.Join(m.b.shelf.root, "demo", modelFile))
	if err != nil {
		m.b.tb.Fatal(err)
	}
	return string(text)
}

// mayRun says whether an approval is good for a call now.
func (m *gateModel) mayRun(g *given, call int) bool {
	return !g.spent && g.call == call && g.content == m.content() && !m.b.clock.now().After(g.expires)
}

// settle compares what ran with what may have run.
func (m *gateModel) settle(t *rapid.T, what string, mayRun bool) {
	got := len(m.b.wall.ran())
	if mayRun {
		m.runs++
	}
	if got != m.runs {
		t.Fatalf("%s: %d runs, want %d", what, got, m.runs)
	}
}

func (m *gateModel) preview(t *rapid.T) {
	i := rapid.IntRange(0, len(modelCalls)-1).Draw(t, "call")
	tok := tokenOf(m.b.t(t), m.token.tool(toolRun, modelCalls[i]))
	m.given = append(m.given, &given{text: tok, call: i, content: m.content(), expires: m.b.clock.now().Add(time.Minute)})
	m.settle(t, "preview", false)
}

func (m *gateModel) ask(t *rapid.T) {
	i := rapid.IntRange(0, len(modelCalls)-1).Draw(t, "call")
	r := m.prompt.tool(toolRun, modelCalls[i])
	m.given = append(m.given, &given{text: r.RequestState, prompt: true, call: i, content: m.content(), expires: m.b.clock.now().Add(time.Minute)})
	m.settle(t, "ask", false)
}

// draw picks an approval, or nil when there is none.
func (m *gateModel) draw(t *rapid.T) *given {
	if len(m.given) == 0 {
		return nil
	}
	return m.given[rapid.IntRange(0, len(m.given)-1).Draw(t, "approval")]
}

// redeem sends any approval as a token, for any call, from either client.
func (m *gateModel) redeem(t *rapid.T) {
	g := m.draw(t)
	if g == nil {
		return
	}
	i, text := m.near(t, g), m.spoil(t, g.text)
	if rapid.Bool().Draw(t, "by the client that can be prompted") {
		if r := m.prompt.tool(toolRun, withToken(modelCalls[i], text)); r.ResultType != "input_required" {
			t.Fatalf("a token was not ignored: %+v", r)
		}
		m.settle(t, "a token where prompts are shown", false)
		return
	}
	may := !g.prompt && text == g.text && m.mayRun(g, i)
	r := m.token.tool(toolRun, withToken(modelCalls[i], text))
	m.settle(t, "redeem", may)
	if may {
		g.spent = true
	} else if !r.IsError {
		t.Fatalf("neither run nor refused: %s", r.text())
	}
}

// answer sends any approval as a state, with any answer, for any call.
func (m *gateModel) answer(t *rapid.T) {
	g := m.draw(t)
	if g == nil {
		return
	}
	i, text := m.near(t, g), m.spoil(t, g.text)
	said := rapid.SampledFrom([]string{
		`{"action":"accept","content":{"confirmed":true}}`, `{"action":"accept","content":{"confirmed":false}}`, `{"action":"decline"}`,
		`{"action":"accept"}`, `{"action":"unanswered","content":{"confirmed":true}}`, `{}`, `null`, `{"action":"ACCEPT","content":{"confirmed":true}}`,
	}).Draw(t, "answer")
	good := g.prompt && text == g.text && m.mayRun(g, i)
	yes := said == `{"action":"accept","content":{"confirmed":true}}`
	m.prompt.tool(toolRun, modelCalls[i], `,"inputResponses":{"confirmation":`+said+`},"requestState":"`+text+`"`)
	m.settle(t, "answer "+said, good && yes)
	if good {
		g.spent = true // a yes ran, a no is final
	}
}

// near picks mostly the call an approval is for: a sequence of misses says little.
func (m *gateModel) near(t *rapid.T, g *given) int {
	if rapid.IntRange(0, 3).Draw(t, "another call") > 0 {
		return g.call
	}
	return rapid.IntRange(0, len(modelCalls)-1).Draw(t, "call")
}

// spoil sometimes changes a character.
func (m *gateModel) spoil(t *rapid.T, text string) string {
	if rapid.IntRange(0, 7).Draw(t, "spoil") > 0 {
		return text
	}
	at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
	c := byte('A')
	if text[at] == c {
		c = 'B'
	}
	return text[:at] + string(c) + text[at+1:]
}

func (m *gateModel) edit(t *rapid.T) {
	m.b.shelf.write("demo", modelFile, fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "content")))
	m.settle(t, "edit", false)
}

func (m *gateModel) wait(t *rapid.T) {
	m.b.clock.add(time.Duration(rapid.IntRange(1, 25).Draw(t, "seconds")) * time.Second)
	m.settle(t, "wait", false)
}

func (m *gateModel) reload(t *rapid.T) {
	m.b.Replace(View{Catalog: m.b.shelf.scan()})
	m.settle(t, "reload", false)
}

// t gives the test a client reports to.
func (b *bench) t(t *rapid.T) testing.TB { return failing{TB: b.tb, t: t} }

// failing makes a failure inside a helper fail the drawn case.
type failing struct {
	testing.TB
	t *rapid.T
}

func (f failing) Fatalf(format string, args ...any) { f.t.Fatalf(format, args...) }
func (f failing) Errorf(format string, args ...any) { f.t.Errorf(format, args...) }

func TestNoSequenceOfMessagesRunsWhatWasNotApprovedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, nil)
		b.tb = t
		m := &gateModel{b: b, token: b.legacy(t, "{}"), prompt: b.stateless(t, `{"elicitation":{}}`)}
		m.token.t, m.prompt.t = b.t(rt), b.t(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"preview": m.preview, "ask": m.ask, "redeem": m.redeem, "redeem again": m.redeem, "answer": m.answer, "answer again": m.answer,
			"edit": m.edit, "wait": m.wait, "reload": m.reload,
		})
	})
}
