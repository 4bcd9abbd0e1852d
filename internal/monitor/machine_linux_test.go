package monitor

import (
	"strings"
	"testing"
)

// TestTheMachineIsCountedWithoutProc: the run's /proc has its processes only,
// and programs learn how many of them may work at once all the same.
func TestTheMachineIsCountedWithoutProc(t *testing.T) {
	users(t, func(t *testing.T, uid int) {
		s := serve(t, options{uid: uid})
		out := s.run(s.script("node", `const os = require('os'), {Worker} = require('worker_threads');
console.log(Array.isArray(os.cpus()), os.availableParallelism() > 0, os.totalmem() > 2 ** 28, os.uptime() > 0);
new Worker('require("worker_threads").parentPort.postMessage(1)', {eval: true}).on('message', n => console.log('worker', n));`))
		if got := string(out.Stdout); got != "true true true true\nworker 1\n" {
			t.Errorf("node: %q %q", got, out.Stderr)
		}
		out = s.run(s.script("bash", `nproc; ls /proc | grep -c cpuinfo; true`))
		if got := strings.Fields(string(out.Stdout)); len(got) != 2 || got[0] == "0" || got[1] != "0" {
			t.Errorf("bash: %q %q", out.Stdout, out.Stderr)
		}
	})
}
