package page

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience bounds each answer of the browser, whose first takes seconds on a
// machine that has other work.
const patience = 60 * time.Second

// browser is Chromium behind its debugging pipe: JSON messages that end with
// NUL, on descriptors 3 and 4 of its own.
type browser struct {
	t       *testing.T
	to      io.Writer
	session string

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	heard   map[string]chan json.RawMessage // events that somebody waits for
	errors  []string                        // what the page's console reported as an error
}

// answer is one message of the browser.
type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// open starts the browser with one empty page.
func open(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "there is no chromium: apt-get install chromium")
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	// The sandbox is off since root has none; the page is our own.
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
		"--user-data-dir="+filepath.Join(home, "profile"), "about:blank")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, to: to, waiting: map[int]chan answer{}, heard: map[string]chan json.RawMessage{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.read(from)
	}()
	t.Cleanup(func() {
		to.Close() // the browser ends with its pipe
		kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		cmd.Wait()
		<-ended
	})
	b.attach()
	return b
}

// read hands every message to whoever waits for it.
func (b *browser) read(from *os.File) {
	defer from.Close()
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(text[:len(text)-1], &a) != nil {
			continue
		}
		b.mu.Lock()
		switch c := b.waiting[a.ID]; {
		case a.ID != 0 && c != nil:
			c <- a
		case a.Method == "Log.entryAdded":
			b.note(a.Params)
		case b.heard[a.Method] != nil:
			select {
			case b.heard[a.Method] <- a.Params:
			default:
			}
		}
		b.mu.Unlock()
	}
}

// note keeps an error of the page's console, such as a refusal by its policy.
func (b *browser) note(params json.RawMessage) {
	var e struct {
		Entry struct{ Level, Text, URL string }
	}
	if json.Unmarshal(params, &e) == nil && e.Entry.Level == "error" {
		b.errors = append(b.errors, e.Entry.Text+" "+e.Entry.URL)
	}
}

// call calls one method and decodes its result into out, which may be nil.
func (b *browser) call(method string, params map[string]any, out any) {
	b.t.Helper()
	c := make(chan answer, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = c
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("tell the browser: %v", err)
	}
	select {
	case a := <-c:
		if a.Error != nil {
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if out != nil {
			if err := json.Unmarshal(a.Result, out); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(patience):
		b.t.Fatalf("%s: the browser does not answer", method)
	}
}

// attach makes a page and speaks to it from then on.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Log", "Runtime"} {
		b.call(domain+".enable", nil, nil)
	}
}

// show sets the window's width and scheme and loads an address to its end.
func (b *browser) show(url, scheme string, width int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	loaded := make(chan json.RawMessage, 1)
	b.mu.Lock()
	b.heard["Page.loadEventFired"] = loaded
	b.mu.Unlock()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	select {
	case <-loaded:
	case <-time.After(patience):
		b.t.Fatalf("%s is not loaded", url)
	}
}

// eval evaluates an expression, waits for a promise, and decodes its value.
func (b *browser) eval(expression string, out any) {
	b.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("in the page: %s %s", r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	}
	if out != nil {
		if err := json.Unmarshal(r.Result.Value, out); err != nil {
			b.t.Fatalf("in the page: %v in %s", err, r.Result.Value)
		}
	}
}

// press presses and releases a key.
func (b *browser) press(key string, code int, text string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{
			"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
		}, nil)
	}
}

// picture keeps the whole page as an image where SKILL_MCP_SCREENSHOTS says.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("SKILL_MCP_SCREENSHOTS")
	if dir == "" {
		dir = b.t.TempDir()
	}
	var size struct{ W, H float64 } // as it is now: the browser remembers the tallest
	b.eval("({W: document.documentElement.clientWidth, H: document.body.getBoundingClientRect().bottom + scrollY})", &size)
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": size.W, "height": size.H, "scale": 1}}, &shot)
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil && len(image) < 1000 {
		err = fmt.Errorf("an image of %d bytes", len(image))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), image, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
