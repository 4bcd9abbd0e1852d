package spawn

import (
	"os"
	"slices"
	"testing"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/seccomp"
)

func TestCounters(t *testing.T) {
	if got := field("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"); got != 3 {
		t.Errorf("oom_kill %d", got)
	}
	if got := field("42\n", ""); got != 42 {
		t.Errorf("plain %d", got)
	}
	if got := field("", "x"); got != 0 {
		t.Errorf("empty %d", got)
	}
}

// TestSet: a limit that does not read back is a failure, a missing file is not
// made, and a value cut to pages is the value.
func TestSet(t *testing.T) {
	dir := t.TempDir()
	if err := set(dir, "memory.max", "1"); err == nil {
		t.Error("a missing limit was set")
	}
	if _, err := os.Stat(dir + "/memory.max"); err == nil {
		t.Error("the file was made")
	}
	if err := os.WriteFile(dir+"/pids.max", []byte("max\nmax\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := set(dir, "pids.max", "12"); err == nil {
		t.Error("a limit that reads otherwise was taken for set")
	}
	for _, c := range []struct {
		got, want string
		ok        bool
	}{{"536870912", "536870912", true}, {"536870912", "536870999", true}, {"9223372036854771712", "536870912", false}, {"max", "5", false}} {
		if rounded(c.got, c.want) != c.ok {
			t.Errorf("%s for %s: %v", c.got, c.want, !c.ok)
		}
	}
}

// TestFilters asks the filter of every mode about calls, for both
// architectures' rows, without a kernel.
func TestFilters(t *testing.T) {
	numbers, err := seccomp.Numbers(seccomp.Native())
	if err != nil {
		t.Fatal(err)
	}
	const high = uint64(1) << 32
	for _, mode := range []policy.Network{policy.NetNone, policy.NetProxy, policy.NetDeclared, policy.NetOpen} {
		p, err := seccomp.Compile(seccomp.Filter{Arch: seccomp.Native(), Rows: slices.Concat(sockets(mode), always(), setID(), metadata()), Default: seccomp.Allow, Unknown: noCall})
		if err != nil {
			t.Fatal(err)
		}
		inet := noFamily
		if mode != policy.NetNone {
			inet = seccomp.Allow
		}
		for _, c := range []struct {
			call string
			args [6]uint64
			want seccomp.Action
		}{
			{"socket", [6]uint64{1, 1, 0}, seccomp.Allow}, {"socketpair", [6]uint64{1, 1, 0}, seccomp.Allow},
			{"socket", [6]uint64{2, 0x80801, 0}, inet}, {"socket", [6]uint64{high | 40, 1, 0}, noFamily},
			{"socket", [6]uint64{38, 5, 0}, noFamily}, {"socket", [6]uint64{17, 3, 0}, noFamily},
			{"clone", [6]uint64{0x1200011}, seccomp.Allow}, {"clone", [6]uint64{high | 0x10000011}, denied},
			{"clone3", [6]uint64{}, noCall}, {"io_uring_setup", [6]uint64{}, noCall}, {"ptrace", [6]uint64{}, denied},
			{"prlimit64", [6]uint64{0}, seccomp.Allow}, {"prlimit64", [6]uint64{high}, seccomp.Allow}, {"prlimit64", [6]uint64{7}, denied},
			{"setpriority", [6]uint64{0, 0, 5}, seccomp.Allow}, {"setpriority", [6]uint64{1, 0, 5}, denied}, {"setpriority", [6]uint64{0, 9, 5}, denied},
			{"ioctl", [6]uint64{0, high | 0x5412}, denied}, {"ioctl", [6]uint64{0, 0x5401}, seccomp.Allow},
			{"getrandom", [6]uint64{}, seccomp.Allow}, {"statx", [6]uint64{}, seccomp.Allow}, {"fchmod", [6]uint64{}, seccomp.Allow},
			{"memfd_create", [6]uint64{}, seccomp.Allow}, {"membarrier", [6]uint64{}, seccomp.Allow}, {"rseq", [6]uint64{}, seccomp.Allow},
			{"fchmod", [6]uint64{3, 0o4755}, denied}, {"fchmod", [6]uint64{3, high | 0o2755}, denied}, {"fchmod", [6]uint64{3, 0o1777}, seccomp.Allow},
			{"fchmodat2", [6]uint64{3, 0, 0o4755}, denied}, {"mknodat", [6]uint64{3, 0, 0o106755}, denied}, {"mknodat", [6]uint64{3, 0, 0o10644}, seccomp.Allow},
			{"openat", [6]uint64{3, 0, 0o101, 0o4755}, denied}, {"openat", [6]uint64{3, 0, 0o20200001, 0o4755}, denied}, {"openat", [6]uint64{3, 0, 0o101, 0o755}, seccomp.Allow},
			{"openat", [6]uint64{3, 0, 0o200000, 0o6755}, seccomp.Allow}, {"openat2", [6]uint64{}, noCall},
			{"utimensat", [6]uint64{3, 0}, seccomp.Allow}, {"utimensat", [6]uint64{3, 0x7fff0000}, denied}, {"fchmodat", [6]uint64{}, denied},
		} {
			got, err := seccomp.Run(p, seccomp.Data{Nr: uint32(numbers[c.call]), Arch: seccomp.Native(), Args: c.args})
			if err != nil || got != c.want {
				t.Errorf("%s: %s%v: %#x %v, want %#x", mode, c.call, c.args, uint32(got), err, uint32(c.want))
			}
		}
		// Whatever else is asked for: another process is another process.
		for other := range uint64(20) {
			for _, call := range []string{"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setattr"} {
				got, err := seccomp.Run(p, seccomp.Data{Nr: uint32(numbers[call]), Arch: seccomp.Native(), Args: [6]uint64{7, other, other}})
				if err != nil || got != denied {
					t.Errorf("%s: %s of process 7, %d: %#x %v", mode, call, other, uint32(got), err)
				}
			}
		}
		if len(p) > 450 { // each instruction is loaded at every start
			t.Errorf("%s: %d instructions", mode, len(p))
		}
	}
}

// TestAStepWithoutALayerGivesUpWhatItIsFor: the rule set is of all three layers
// of Landlock, in whichever of its steps it fails; a step that is of no layer
// ends the run.
func TestAStepWithoutALayerGivesUpWhatItIsFor(t *testing.T) {
	for stage, want := range map[string]int{"rules": 3, "landlock": 3, "user_map": 4, "chdir": 0} {
		lacks := map[report.Layer]lack{}
		if again := giveUp(&SetupError{Stage: stage, Errno: "EPERM"}, testPolicy(), lacks); again != (want > 0) || len(lacks) != want {
			t.Errorf("%s: again %v, without %v", stage, again, lacks)
		}
	}
}
