package archive

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/archive/ziptest"
)

// zeroStream is a deflate stream of at least n bytes that inflates to about
// 1,032 times as many zeros.
func zeroStream(n int) []byte {
	return ziptest.Pack(make([]byte, n*1029))
}

// bombs are archives of about 10 MB, each dangerous in another way.
func bombs() map[string][]byte {
	stream := zeroStream(64 << 10)
	filler := func(n int) e { return e{Name: "filler", Data: make([]byte, n)} }
	const whole = 10 << 20
	big := stream
	pad := make([]byte, whole)

	many, deep, names := []e{}, []e{}, []e{}
	for i := range 150 {
		many = append(many, e{Name: fmt.Sprint(i), Packed: big, Size: u32(uint32(len(big) * 1029))})
	}
	for i := range 32000 {
		deep = append(deep, e{Name: strings.Repeat(fmt.Sprintf("%d/", i%10), 50) + fmt.Sprint(i)})
		names = append(names, e{Name: fmt.Sprintf("%d-%s", i, strings.Repeat("n", 100))})
	}
	ghosts := []e{{Name: "0", Data: pad[:whole]}}
	for i := range 30000 {
		ghosts = append(ghosts, e{Name: fmt.Sprintf("g%d", i), Data: pad[:1], Ghost: true, Offset: u32(0)})
	}
	counted := ziptest.Make(ziptest.End{Count: ziptest.U16(65000)}, filler(whole))
	signatures := ziptest.Make(ziptest.End{Comment: []byte(strings.Repeat("PK\x05\x06", 16000))}, filler(whole))
	return map[string][]byte{
		"one entry declares too much":               ziptest.Zip(e{Name: "z", Packed: big, Size: u32(uint32(len(big) * 1029))}, filler(whole)),
		"one entry hides what it holds":             ziptest.Zip(e{Name: "z", Packed: append(big, pad[:whole-len(big)]...), Size: u32(1 << 20)}),
		"many entries declare too much in all":      ziptest.Zip(many...),
		"thirty thousand records on one body":       ziptest.Zip(ghosts...),
		"a count beyond the directory":              counted,
		"a comment of signatures":                   signatures,
		"deep paths":                                ziptest.Zip(append(deep, e{Name: "../x"})...),
		"long names that clash":                     ziptest.Zip(append(names, e{Name: "N"}, e{Name: "n"})...),
		"no archive":                                pad,
		"a directory of extra fields":               ziptest.Zip(extras()...),
		"one entry declares almost the whole limit": ziptest.Zip(e{Name: "z", Packed: zeroStream(60 << 10), Size: u32(62 << 20)}, filler(whole)),
	}
}

func extras() []e {
	out := []e{}
	for range 80 {
		out = append(out, e{Name: "same", Extra: append([]byte{0x55, 0x54, 0xfb, 0xff}, make([]byte, 0xfffb)...)})
	}
	return out
}

// TestBombsAreRefusedQuickly: the limit is 100 ms for 10 MB. The processor's
// time of the fastest of some tries counts, as other work shares the machine
// and its caches.
func TestBombsAreRefusedQuickly(t *testing.T) {
	const most = 100 * time.Millisecond
	for name, data := range bombs() {
		t.Run(name, func(t *testing.T) {
			best, grown := time.Hour, uint64(0)
			for try := 0; try < 3 || best > most && try < 40; try++ {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := processorTime()
				p := refuse(data)
				best = min(best, processorTime()-start)
				runtime.ReadMemStats(&after)
				grown = after.TotalAlloc - before.TotalAlloc
				if p == nil {
					t.Fatal("accepted")
				}
			}
			t.Logf("%d bytes: %v, %d KiB allocated", len(data), best, grown>>10)
			if best > most {
				t.Errorf("took %v", best)
			}
			if grown > 32<<20 {
				t.Errorf("allocated %d bytes", grown)
			}
		})
	}
}

// refuse reads an archive as an import does, streaming, and gives what stopped
// it.
func refuse(data []byte) *Problem {
	r, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		return asProblem(err)
	}
	buffer := make([]byte, 64<<10)
	for i, e := range r.Entries() {
		if e.Problem != nil {
			return e.Problem
		}
		in, err := r.Open(i)
		if err != nil {
			return asProblem(err)
		}
		for err == nil {
			_, err = in.Read(buffer)
		}
		in.Close()
		if err != io.EOF {
			return asProblem(err)
		}
	}
	return nil
}
