package mcpserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skill-mcp/internal/confirm"
	"skill-mcp/internal/report"
)

// TestARemovedRecordDoesNotBringAnApprovalBack: where no mount view hides the
// folder of spent approvals, a script can remove a record and wait for the server
// to start anew. With the view it cannot, and approvals last over a restart.
func TestARemovedRecordDoesNotBringAnApprovalBack(t *testing.T) {
	for got, refused := range map[report.Got]bool{report.Absent: true, report.Partial: true, report.Enforced: false} {
		b := newBench(t, func(_ *setup, _ *shelf, w *wall) {
			w.ready.Fence.Layers = append(w.ready.Fence.Layers, report.Row{Layer: report.NSMount, Got: got})
		})
		store := filepath.Join(t.TempDir(), "spent")
		restart := func() {
			gate, err := confirm.New(confirm.Config{Settings: b.Server.deps.Gate.Settings(), Key: bytes.Repeat([]byte{3}, 32), Now: b.clock.now, Store: store})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { gate.Close() })
			b.Server.deps.Gate = gate
		}
		restart()
		c := b.legacy(t, "{}")
		call := withToken(runB, tokenOf(t, c.tool(toolRun, runB)))
		if r := c.tool(toolRun, call); r.IsError || len(b.wall.ran()) != 1 {
			t.Fatalf("ns-mount %s: the first use: %s", got, r.text())
		}
		records, err := filepath.Glob(filepath.Join(store, "*"))
		if err != nil || len(records) != 1 || os.Remove(records[0]) != nil {
			t.Fatalf("the records: %v %v", records, err)
		}
		restart()
		r := c.tool(toolRun, call)
		if ran := len(b.wall.ran()) == 2; ran == refused || refused != strings.Contains(r.text(), "token") {
			t.Errorf("ns-mount %s: ran again: %v, %s", got, ran, r.text())
		}
	}
}
