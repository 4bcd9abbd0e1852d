package httpserve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestSessionFromBeginningToEnd(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	if resp := st.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h); resp.StatusCode != 202 || text(t, resp) != "" {
		t.Error(resp.Status)
	}
	resp := st.do("POST", call(2, "quick", ""), h)
	if body := text(t, resp); resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, "quick") {
		t.Errorf("%s: %s", resp.Status, body)
	}
	if resp := st.do("DELETE", "", h); resp.StatusCode != 204 {
		t.Error(resp.Status)
	}
	if resp := st.do("POST", ping, h); resp.StatusCode != 404 {
		t.Errorf("after its end the session answers %s", resp.Status)
	}
}

func TestProgressMakesAStream(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	for _, more := range []struct {
		h    headers
		body string
	}{
		{h, call(2, "talk", `,"_meta":{"progressToken":"p"}`)},
		{modern("tools/call", "talk"), call(2, "talk", `,`+strings.Replace(modernMeta, `"_meta":{`, `"_meta":{"progressToken":"p",`, 1))},
	} {
		resp := st.do("POST", more.body, more.h)
		if resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s %s: %s", resp.Status, resp.Header.Get("Content-Type"), text(t, resp))
		}
		r := bufio.NewReader(resp.Body)
		for i := range 3 {
			if e := event(t, r); !strings.Contains(e, fmt.Sprintf(`"message":"%d"`, i)) {
				t.Errorf("event %d is %s", i, e)
			}
		}
		if e := event(t, r); !strings.Contains(e, "said") {
			t.Errorf("the last event is %s", e)
		}
		if rest, err := io.ReadAll(r); err != nil || strings.TrimSpace(string(rest)) != "" {
			t.Errorf("and then %q, %v", rest, err)
		}
	}
	resp := st.do("POST", call(3, "talk", `,"_meta":{"progressToken":"p"}`), headers{"Mcp-Session-Id": h["Mcp-Session-Id"], "Accept": "application/json"})
	if body := text(t, resp); !strings.Contains(body, "said") || strings.Contains(body, "progress") {
		t.Errorf("a client that takes no stream gets %s", body)
	}
}

func TestPromptIsAnsweredByAnotherRequest(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	resp := st.do("POST", call(2, "ask", ""), h)
	r := bufio.NewReader(resp.Body)
	var ask struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal([]byte(event(t, r)), &ask); err != nil || ask.Method != "elicitation/create" {
		t.Fatalf("%+v, %v", ask, err)
	}
	if answered := st.do("POST", `{"jsonrpc":"2.0","id":`+string(ask.ID)+`,"result":{"action":"accept"}}`, h); answered.StatusCode != 202 {
		t.Error(answered.Status)
	}
	if e := event(t, r); !strings.Contains(e, "accept") {
		t.Error(e)
	}
}

// TestAClientWithoutStreamsIsNotAsked: a question could not reach it, and the
// call would wait for an answer to the end of its time.
func TestAClientWithoutStreamsIsNotAsked(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	h["Accept"] = "application/json"
	resp := st.do("POST", call(2, "ask", ""), h)
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(body), "unanswered") {
		t.Errorf("%v, %s", err, body)
	}
}

func TestCallEndsWithItsClient(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	t.Run("by a cancelled notification", func(t *testing.T) {
		done := make(chan int, 1)
		go func() {
			resp, err := st.client.Do(st.request(t.Context(), "POST", call(5, "wait", ""), h))
			if err != nil {
				done <- 0
				return
			}
			_ = resp.Body.Close()
			done <- resp.StatusCode
		}()
		within(t, "the tool begins", st.began)
		st.do("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, h)
		within(t, "the tool ends", st.ended)
		if status := <-done; status != 204 {
			t.Errorf("the cancelled call was answered with %d", status)
		}
	})
	t.Run("by a closed connection", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		req := st.request(ctx, "POST", call(6, "wait", ","+modernMeta), modern("tools/call", "wait"))
		go func() { _, _ = st.client.Do(req) }() //nolint:bodyclose // there is no response
		within(t, "the tool begins", st.began)
		cancel()
		within(t, "the tool ends", st.ended)
	})
	t.Run("by the end of its session", func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = st.client.Do(st.request(t.Context(), "POST", call(7, "wait", ""), h))
		}() //nolint:bodyclose // ends with the test
		within(t, "the tool begins", st.began)
		st.do("DELETE", "", h)
		within(t, "the tool ends", st.ended)
		within(t, "the call is answered", done)
	})
}

func TestListChangesReachTheStreams(t *testing.T) {
	st := open(t, Options{})
	h := st.session()
	get := st.do("GET", "", h)
	if second := st.do("GET", "", h); second.StatusCode != 409 {
		t.Errorf("a second stream: %s", second.Status)
	}
	listen := st.do("POST", `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{`+modernMeta+`,"notifications":{"toolsListChanged":true}}}`,
		modern("subscriptions/listen", ""))
	old, young := bufio.NewReader(get.Body), bufio.NewReader(listen.Body)
	if e := event(t, young); !strings.Contains(e, "acknowledged") {
		t.Fatal(e)
	}
	st.d.Broadcast(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
	if e := event(t, old); !strings.Contains(e, "tools/list_changed") {
		t.Error(e)
	}
	if e := event(t, young); !strings.Contains(e, "tools/list_changed") || !strings.Contains(e, `"io.modelcontextprotocol/subscriptionId":"s"`) {
		t.Error(e)
	}
	st.stop()
	if e := event(t, young); !strings.Contains(e, `"resultType":"complete"`) {
		t.Errorf("the stream ends with %s", e)
	}
	if err := <-st.done; err != nil {
		t.Error(err)
	}
}

func TestManyClientsAtOnceWhileOneRuns(t *testing.T) {
	st := open(t, Options{})
	slow := st.session()
	done := make(chan string, 1)
	go func() { done <- text(t, st.do("POST", call(1, "wait", ""), slow)) }()
	within(t, "the tool begins", st.began)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			h := st.session()
			for i := range 5 {
				if body := text(t, st.do("POST", call(i, "quick", ""), h)); !strings.Contains(body, "quick") {
					t.Error(body)
				}
			}
		})
	}
	all.Wait()
	close(st.release)
	if body := <-done; !strings.Contains(body, "released") {
		t.Error(body)
	}
}

func TestEndOfTheServer(t *testing.T) {
	st := open(t, Options{Grace: 50 * time.Millisecond})
	h := st.session()
	done := make(chan string, 1)
	go func() { done <- text(t, st.do("POST", call(1, "wait", ""), h)) }()
	within(t, "the tool begins", st.began)
	began := time.Now()
	st.stop()
	if body := <-done; !strings.Contains(body, "ended") {
		t.Errorf("the call in flight is answered with %s", body)
	}
	if err := <-st.done; err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("ended with %v after %v", err, time.Since(began))
	}
}

func TestSessionsAreBoundedAndExpire(t *testing.T) {
	st := open(t, Options{MaxSessions: 2})
	first, second, third := st.session(), st.session(), st.session()
	for name, tc := range map[string]struct {
		h      headers
		status int
	}{"the one unused for longest": {first, 404}, "the second": {second, 200}, "the third": {third, 200}} {
		if resp := st.do("POST", ping, tc.h); resp.StatusCode != tc.status {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	st.s.sessions.sweep(time.Now().Add(29 * time.Minute))
	if resp := st.do("POST", ping, second); resp.StatusCode != 200 {
		t.Errorf("after 29 minutes: %s", resp.Status)
	}
	st.s.sessions.sweep(time.Now().Add(31 * time.Minute))
	if resp := st.do("POST", ping, second); resp.StatusCode != 404 {
		t.Errorf("after 31 minutes: %s", resp.Status)
	}
}
