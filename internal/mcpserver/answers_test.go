package mcpserver

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestAnswersTwiceLateAndToNobody: a client that answers a prompt again, with
// another word, under another id, or after its call was cancelled.
func TestAnswersTwiceLateAndToNobody(t *testing.T) {
	for name, x := range map[string]struct {
		first, then string // answers to the prompt's id
		cancel      bool   // between the two
		runs        int
	}{
		"a yes twice":                    {accept, accept, false, 1},
		"a no, then a yes":               {decline, accept, false, 0},
		"an odd word, then a yes":        {`"result":{"action":"accept","content":{"confirmed":1}}`, accept, false, 0},
		"an error, then a yes":           {`"error":{"code":1,"message":"no"}`, accept, false, 0},
		"a yes after its call was ended": {"", accept, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			c := b.legacy(t, `{"elicitation":{}}`)
			c.asked, c.answer = make(chan string, 4), func(string, json.RawMessage) string { return "" }
			say := func(id, text string) { c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, text)) }
			id, answer := c.send("tools/call", `{"name":"skill_run","arguments":`+runB+`}`)
			prompt := <-c.asked
			for _, other := range []string{"0", `"` + prompt + `x"`, "-1", fmt.Sprint(id)} {
				say(other, accept)
			}
			if x.first != "" {
				say(prompt, x.first)
				c.wait(answer)
			}
			if x.cancel {
				c.receive(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
			}
			for range 3 {
				say(prompt, x.then)
			}
			c.tool(toolList, "{}") // everything before it was read
			if got := len(b.wall.ran()); got != x.runs {
				t.Errorf("%d runs, want %d", got, x.runs)
			}
		})
	}
}
