package monitor

import (
	"fmt"
	"strings"

	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/uplink"
)

// facts are what is known when a run is over; the verdict is a function of them.
type facts struct {
	setup     *spawn.SetupError // nil = the script was started
	ended     bool              // the leader's end was seen
	leader    spawn.Exit        // valid when ended
	timedOut  bool
	cancelled bool
	flooded   bool
	over      report.Verdict // the limit that the monitor itself saw exceeded, "" = none
	netLost   bool           // the egress process ended first
	pipesHeld bool           // not closed within the drain after the tree was ended
	survivors int
	usage     spawn.Usage
	tail      string // the last bytes of stderr
}

// failed reports whether the run did not end with exit code 0 by itself.
func (f facts) failed() bool {
	return f.timedOut || !f.ended || f.leader.Signal != "" || f.leader.Code != 0
}

// verdict says in one word how a run ended. First what the caller or the
// monitor did, then what the kernel's counters prove, then what only the exit
// and the last words of the run suggest.
func (f facts) verdict() report.Verdict {
	u := f.usage
	switch {
	case f.setup != nil && f.setup.Stage == "execve" && (f.setup.Errno == "EACCES" || f.setup.Errno == "EPERM"):
		return report.DeniedExec
	case f.setup != nil:
		return report.SetupFailed
	case f.survivors > 0 || !f.ended:
		return report.KillIncomplete
	case f.cancelled:
		return report.Cancelled
	case f.flooded:
		return report.OutputFlood
	case f.over != "":
		return f.over
	case f.netLost:
		return report.NetworkLost
	case u.LeaderOOM:
		return report.OOMCgroup
	case u.OOMKills > 0:
		return report.OOMChild
	case u.PidsHit > 0:
		return report.Pids
	case u.DiskFull || f.leader.Signal == "SIGXFSZ":
		return report.Disk
	case f.leader.Signal == "SIGXCPU":
		return report.CPU
	case f.timedOut:
		return report.Timeout
	}
	return f.byWords()
}

// byWords judges a run that nothing outside ended.
func (f facts) byWords() report.Verdict {
	says := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(f.tail, w) {
				return true
			}
		}
		return false
	}
	switch {
	case (f.leader.Signal != "" || f.leader.Code == 134) && says("JavaScript heap out of memory"):
		return report.OOMHeap
	case f.failed() && says("EFBIG", "ENOSPC", "File too large", "No space left on device"):
		return report.Disk
	case f.failed() && (says("spawn") && says("EACCES") || f.leader.Code == 126 && says("Permission denied")):
		return report.DeniedExec
	case f.pipesHeld:
		return report.TimeoutAfterExit
	case f.leader.Signal != "":
		return report.Signaled
	}
	return report.Exited
}

// networkNote tells the reader of a failed run what its network was, since a
// refused connection looks like a broken host from inside ("" = nothing to say).
func networkNote(failed bool, mode policy.Network, hosts []string, proxySet bool, reached []report.Host) string {
	if !failed || (mode == policy.NetOpen && !proxySet) {
		return ""
	}
	const allow = "to allow a host, the owner adds it to the egress policy"
	switch mode {
	case policy.NetNone:
		return "This run had no network (mode none), so any connection failed whatever the host; " + allow + " (the registration's egress list, or the skill's egress declaration with network mode declared)."
	case policy.NetDeclared:
		if h, ok := uplink.FirstRefused(reached); ok {
			return fmt.Sprintf("This run could reach only the declared hosts (mode declared: %s); %s.", strings.Join(hosts, ", "), uplink.Allow(h))
		}
		return fmt.Sprintf("This run could reach only the declared hosts (mode declared: %s); %s: the skill's egress declaration or the policy's hosts for the skill.", strings.Join(hosts, ", "), allow)
	}
	return fmt.Sprintf("This run's network is restricted (mode %s): a refusal by the egress proxy, often a 403 from a loopback address, and a timeout look alike from inside; %s of the registration.", mode, allow)
}
