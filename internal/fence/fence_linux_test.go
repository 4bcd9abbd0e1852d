package fence

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "child" {
		os.Exit(Child())
	}
	os.Exit(m.Run())
}

func testPolicy() policy.Policy {
	p := policy.Policy{Name: "test", Network: policy.NetNone}
	for _, l := range report.Layers() {
		p.Layers = append(p.Layers, policy.Layer{Layer: l, Want: report.Prefer})
	}
	return p
}

func TestSmoke(t *testing.T) {
	p := testPolicy()
	h := Probe(p, ProbeOptions{TmpRoot: t.TempDir()})
	for _, r := range h.Report(p, policy.NetNone).Layers {
		fmt.Printf("%-16s %-8s %-9s %s %s | %s\n", r.Layer, r.Want, r.Got, r.Level, r.Reason, r.Remedy)
	}
	dir := t.TempDir()
	os.WriteFile(dir+"/a.js", []byte(`console.log("hi", process.pid, process.ppid, process.env, process.argv, process.cwd()); const fs=require('fs'); for (const d of ['/','/etc','/dev','/proc','/tmp','/usr/bin']) { try {console.log(d, fs.readdirSync(d).join(' '))} catch(e) {console.log(d,e.code)} }; console.log(fs.readFileSync('/proc/self/status','utf8'),fs.readFileSync('/proc/self/cgroup','utf8'))
console.log(require('v8').getHeapStatistics().heap_size_limit/2**20, process.execPath, process.constrainedMemory?.())
try { console.log(require('child_process').execFileSync(process.execPath,['-p','1+1']).toString()) } catch(e) {console.log(e)}
`), 0o644)
	d, _ := os.Open(dir)
	exe, _ := os.Open("/usr/bin/node")
	pr, pw, _ := os.Pipe()
	s := Spec{Policy: p, Limits: policy.Defaults(), Network: policy.NetNone, SkillDir: d, SkillPath: dir, ScriptPath: dir + "/a.js",
		Exec: Program{Name: "node", Path: "/usr/bin/node", File: exe, Read: []string{"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"}}, Env: []string{"PATH=/usr/bin", "HOME=/root"}, Stdout: pw, Stderr: pw, Timeout: time.Minute}
	t0 := time.Now()
	r, err := h.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("start", time.Since(t0), r.Pid())
	pw.Close()
	b, _ := io.ReadAll(pr)
	fmt.Println(string(b))
	<-r.Done()
	fmt.Println(r.Leader(), r.Kill(2*time.Second), r.Usage(), r.Close())
	for _, r := range r.Fence().Layers {
		if r.Got != report.Enforced {
			fmt.Printf("%-16s %-8s %-9s %s %s | %s\n", r.Layer, r.Want, r.Got, r.Level, r.Reason, r.Remedy)
		}
	}
	h.Close()
}

func splitLines(s string) []string { return strings.Fields(s) }
