package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"skill-mcp/internal/catalog"
)

// BenchmarkCall is the cost of one call from the line to the frame.
func BenchmarkCall(b *testing.B) {
	bench := newBench(b, func(_ *setup, c *shelf, _ *wall) {
		for i := range 4 {
			c.write("demo", fmt.Sprint(i), strings.Repeat("A line of text, with \"quotes\".\n", catalog.MaxRead/31)[:catalog.MaxRead-40])
		}
	})
	c := bench.legacy(b, "{}")
	for _, x := range []struct{ name, tool, args string }{
		{"list", toolList, "{}"}, {"load", toolLoad, `{"name":"demo"}`}, {"small file", toolFile, `{"name":"demo","paths":["scripts/a.js"]}`},
		{"4 MiB of files", toolFile, `{"name":"demo","paths":["0","1","2","3"]}`}, {"preview", toolRun, runB},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, ch := c.send("tools/call", toolParams(x.tool, x.args))
				<-ch
			}
		})
	}
}
