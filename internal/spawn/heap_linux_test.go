package spawn

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"skill-mcp/internal/report"
)

// TestNodeSizesItsHeap: by its own limit file where the view shows it, by the
// flag where there is none; never by the machine's memory.
func TestNodeSizesItsHeap(t *testing.T) {
	h := newHost(t, testPolicy())
	for _, off := range [][]report.Layer{nil, {report.CgroupMemory}, {report.NSMount}} {
		s := testSpec(t, testPolicy(off...), "/usr/bin/node", `console.log(Math.round(require("v8").getHeapStatistics().heap_size_limit / 2 ** 20) + " " + process.execArgv.length)`)
		r, out := start(t, h, s)
		b, _ := io.ReadAll(out)
		finish(t, r, out)
		f := strings.Fields(string(b))
		if len(f) != 2 {
			t.Fatalf("output: %s", b)
		}
		heap, _ := strconv.Atoi(f[0])
		flag := off != nil || os.Getuid() != 0
		if heap < 200 || heap > 450 || (f[1] == "1") != flag {
			t.Errorf("without %v: heap %s MiB, flags %s", off, f[0], f[1])
		}
	}
}
