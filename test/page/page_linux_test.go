package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// missing says that a test was not run, or fails where the gate requires it.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("SKILL_MCP_REQUIRE_NODE") == "1" {
		t.Fatal(what)
	}
	t.Skip("not run: " + what)
}

// serve starts the built program and gives the address it prints.
func serve(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin", "skill-mcp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		missing(t, "bin/skill-mcp is not built: run make")
	}
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	// As another user's file the policy would be refused, so it is written here.
	policy := filepath.Join(t.TempDir(), "acme.yaml")
	rules := "name: acme\nextends: standalone\nread:\n  - {path: /usr/share/zoneinfo, why: times of other places}\n" +
		"write:\n  - {path: " + t.TempDir() + ", why: forms that were filled in}\n"
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "ui")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SKILLS_DIR=" + filepath.Join(data, "skills"),
		"MCP_SKILL_AUDIT=" + filepath.Join(data, "audit.jsonl"), "PDF_LICENSE_KEY=kept-to-itself", "MCP_SKILL_POLICY=" + policy,
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- strings.TrimSpace(text)
		io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the page's server ended with %v", err)
		}
	})
	select {
	case url := <-line:
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Fatalf("the address is %q", url)
		}
		return url
	case <-time.After(patience):
		t.Fatal("no address was printed")
	}
	return ""
}

// TestThePageInABrowser looks at the page as people do: wide and narrow, light
// and dark, by keyboard, and by what axe-core finds.
func TestThePageInABrowser(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("..", "node", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		missing(t, "axe-core is not installed: run npm ci in test/node")
	}
	url := serve(t)
	b := open(t)
	for _, width := range []int{1280, 400, 320} {
		for _, scheme := range []string{"light", "dark"} {
			b.show(url, scheme, width)
			b.t = t
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				b.t = t
				b.eval("document.querySelectorAll('details').forEach(d => d.open = true)", nil)
				fits(t, b, width)
				contrast(t, b)
				judged(t, b, string(axe))
				b.eval("document.querySelectorAll('details').forEach(d => d.open = false)", nil)
				b.picture(fmt.Sprintf("page-%d-%s", width, scheme))
			})
		}
	}
	b.t = t
	b.show(url, "light", 1280)
	t.Run("by keyboard", func(t *testing.T) { b.t = t; keyboard(t, b) })
	t.Run("whole", func(t *testing.T) { b.t = t; whole(t, b) })
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		t.Errorf("the console says: %s", e)
	}
}

// fits holds that nothing is wider than the window, and no text of a picture
// wider than its card.
func fits(t *testing.T, b *browser, width int) {
	t.Helper()
	var over []string
	b.eval(`(() => {
		const out = [];
		if (document.documentElement.scrollWidth > window.innerWidth) out.push('the page: ' + document.documentElement.scrollWidth);
		for (const e of document.querySelectorAll('body *')) {
			const r = e.getBoundingClientRect();
			if (r.width > 1 && r.right > window.innerWidth + 0.5) out.push(e.tagName + ' ' + e.className + ' ' + r.right);
		}
		for (const g of document.querySelectorAll('svg g')) {
			const card = g.querySelector('.thing').getBBox();
			for (const x of g.querySelectorAll('text')) {
				const box = x.getBBox();
				if (box.x + box.width > card.x + card.width || box.y + box.height > card.y + card.height) out.push('text out of its card: ' + x.textContent);
			}
		}
		for (const x of document.querySelectorAll('svg .name, svg .below')) {
			const box = x.getBBox();
			if (box.x < 6 || box.x + box.width > 120) out.push('text out of the fence: ' + x.textContent);
		}
		return out;
	})()`, &over)
	for _, o := range over {
		t.Errorf("does not fit %d px: %s", width, o)
	}
}

// contrast computes what axe-core does not look at: the text of the pictures,
// against the card it stands on (WCAG 2.2, 1.4.3: 4.5 to 1).
func contrast(t *testing.T, b *browser) {
	t.Helper()
	var low []string
	b.eval(`(() => {
		const rgb = s => s.match(/[\d.]+/g).slice(0, 3).map(Number);
		const light = s => { const [r, g, b] = rgb(s).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
		const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
		const out = [];
		for (const svg of document.querySelectorAll('svg.picture')) {
			const inside = getComputedStyle(svg.querySelector('.inside')).fill;
			for (const x of svg.querySelectorAll('text')) {
				const g = x.closest('g');
				const ground = g ? getComputedStyle(g.querySelector('.thing')).fill : inside;
				const r = ratio(getComputedStyle(x).fill, ground);
				if (r < 4.5) out.push(x.getAttribute('class') + ' ' + x.textContent + ': ' + r.toFixed(2));
			}
			for (const w of svg.querySelectorAll('.way, .bar, .fence')) {
				const sheet = getComputedStyle(document.querySelector('.card')).backgroundColor;
				const r = ratio(getComputedStyle(w).stroke, sheet);
				if (r < 3) out.push(w.getAttribute('class') + ': ' + r.toFixed(2));
			}
		}
		return out;
	})()`, &low)
	for _, l := range low {
		t.Errorf("too little contrast: %s", l)
	}
}

// judged has axe-core look at the page. Every rule counts, best practices too.
func judged(t *testing.T, b *browser, axe string) {
	t.Helper()
	b.eval(axe+"\n;0", nil)
	var r struct {
		Passes     int
		Violations []struct {
			ID, Impact, Help string
			Nodes            []json.RawMessage
		}
	}
	b.eval(`axe.run().then(r => ({passes: r.passes.length, violations: r.violations.map(v => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(n => n.html)}))}))`, &r)
	if r.Passes < 20 {
		t.Errorf("axe-core made only %d checks", r.Passes)
	}
	for _, v := range r.Violations {
		t.Errorf("axe-core: %s (%s): %s in %d places, the first %s", v.ID, v.Impact, v.Help, len(v.Nodes), v.Nodes[0])
	}
}

// keyboard walks the page with the tab key: the skip link is first and works,
// the order is that of the document, and what has the focus can be seen.
func keyboard(t *testing.T, b *browser) {
	t.Helper()
	var stops int
	b.eval("document.querySelectorAll('a[href], summary').length", &stops)
	if stops < 8 {
		t.Fatalf("only %d places take the focus", stops)
	}
	type focus struct {
		Index   int
		Text    string
		Outline float64
		Visible bool
	}
	const where = `(() => {
		const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
		return {index: [...document.querySelectorAll('a[href], summary')].indexOf(e), text: e.textContent.slice(0, 40),
			outline: s.outlineStyle === 'none' ? 0 : parseFloat(s.outlineWidth), visible: r.top >= 0 && r.bottom <= window.innerHeight && r.width > 0};
	})()`
	for want := range stops {
		b.press("Tab", 9, "")
		var f focus
		b.eval(where, &f)
		if f.Index != want || f.Outline < 2 || !f.Visible {
			t.Errorf("stop %d: number %d (%q), outline %g px, visible %v", want, f.Index, f.Text, f.Outline, f.Visible)
		}
	}
	b.eval("document.activeElement.blur(); document.querySelector('.skip').focus()", nil)
	b.press("Enter", 13, "\r")
	var now string
	b.eval("document.activeElement.id", &now)
	if now != "main" {
		t.Errorf("the skip link leads to %q", now)
	}
	b.eval("document.querySelector('summary').focus()", nil)
	b.press("Enter", 13, "\r")
	var opened bool
	b.eval("document.querySelector('details').open", &opened)
	if !opened {
		t.Error("the words below a picture do not open by keyboard")
	}
}

// whole holds that the page has what it promises, and no value of a variable.
func whole(t *testing.T, b *browser) {
	t.Helper()
	var text string
	b.eval("document.documentElement.outerHTML", &text)
	for _, want := range []string{
		"pdf-forms", "scripts/fill.js", "PDF_LICENSE_KEY", "malformed-frontmatter", "declared-script-missing", "not-portable",
		"oom-cgroup", "512.0 MiB", "1.234 s", "exit code 3", "landlock-fs", "api.weather.example", "does not run", "a scratch folder of its own",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "kept-to-itself") {
		t.Error("the page has the value of a variable")
	}
	var named int
	b.eval("[...document.querySelectorAll('svg.picture')].filter(s => s.querySelector('title').textContent && s.querySelector('desc').textContent).length", &named)
	if named < 4 {
		t.Errorf("%d pictures have a title and a description", named)
	}
}
