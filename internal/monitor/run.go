package monitor

import (
	"errors"
	"time"

	"skill-mcp/internal/capture"
	"skill-mcp/internal/policy"
	"skill-mcp/internal/report"
	"skill-mcp/internal/spawn"
	"skill-mcp/internal/uplink"
	"skill-mcp/internal/wire"
)

// The times at the end of a run (the contract, 5.4; fence specification, 13).
// Together they bound a result to timeout + 5.25 s.
const (
	grace     = 2 * time.Second        // from SIGTERM to SIGKILL
	killWait  = 2 * time.Second        // until the tree is empty
	drainWait = 250 * time.Millisecond // for pipes that somebody still holds, in all
	closeWait = 1 * time.Second        // for counters and the run's private directory
	look      = 100 * time.Millisecond // at limits that no kernel holds: a program fills some 300 MB between two
	tick      = 900 * time.Millisecond // progress must come at least every second
)

// execute runs what was approved and sends its result. An error means that the
// front is gone or broke the protocol; nothing runs any more then.
func (m *monitor) execute(a *approved, config []byte) error {
	if no := m.cleared(); no != nil {
		return m.refuse(no)
	}
	c, err := capture.New(a.limits.OutputFloodBytes)
	if err != nil {
		return m.refuse(refusal(wire.CodeSetup, "", "make the pipes of the run: %v", err))
	}
	defer c.Close()
	begin := time.Now()
	var up *uplink.Uplink
	if a.network == policy.NetDeclared {
		up, err = m.uplinks.Start(a.egress, m.host.Spare)
	}
	if err != nil {
		c.Started()
		return m.notStarted(a, &spawn.SetupError{Stage: "egress", Text: err.Error()}, begin)
	}
	defer up.Close()
	r, err := m.host.Start(m.spec(a, c, config, up))
	c.Started()
	a.close() // before the result: nothing of the run remains after it
	if err != nil {
		return m.notStarted(a, err, begin)
	}
	device := r.Device()
	if err := up.Connect(device); err != nil {
		m.end(r, c)
		return m.notStarted(a, &spawn.SetupError{Stage: "egress", Text: err.Error()}, begin)
	}
	if err := m.conn.SendValue(wire.KindStarted, wire.Started{Pid: r.Pid()}); err != nil {
		m.end(r, c)
		return err
	}
	f, gone := m.watch(r, c, up.Lost(), a.timeout)
	tree := m.end(r, c)
	if gone != nil {
		return gone
	}
	f.ended, f.leader, f.survivors = tree.ended, tree.leader, len(tree.survivors)
	f.pipesHeld, f.usage, f.tail = tree.held, tree.usage, c.Err.Last()
	hosts := up.End(left(tree.by))
	res := m.result(a, f, r.Fence(), hosts, begin)
	res.Fence = uplink.Mark(res.Fence, a.viaProxy, device)
	res.EnvNames = r.EnvNames()
	res.Evidence.Survivors, res.Evidence.Leftovers = tree.survivors, tree.leftovers
	err = m.deliver(res, c)
	if tree.ended {
		r.Next()
	}
	return err
}

// watch waits for the end of the leader or for what ends it: deadline, cancel,
// flood, a limit that is passed, a lost network, or the front's end. Plans are
// answered meanwhile.
func (m *monitor) watch(r run, c *capture.Capture, lost <-chan struct{}, timeout time.Duration) (f facts, gone error) {
	start := time.Now()
	deadline, kill := time.NewTimer(timeout), (<-chan time.Time)(nil)
	defer deadline.Stop()
	progress := time.NewTicker(tick)
	defer progress.Stop()
	looks := time.NewTicker(look)
	defer looks.Stop()
	terminate := func() {
		if kill != nil {
			return // the grace is given once
		}
		deadline.Stop()
		r.Terminate()
		kill = time.After(grace)
	}
	for {
		select {
		case <-r.Done():
			return f, nil
		case <-kill:
			return f, nil
		case <-c.Flood:
			f.flooded = true
			return f, nil
		case <-looks.C:
			if f.over = r.Over(); f.over != "" {
				return f, nil
			}
		case <-lost:
			f.netLost, lost = true, nil
			terminate()
		case <-deadline.C:
			f.timedOut = true
			terminate()
		case <-c.Fresh:
			if gone = m.tell(c); gone != nil {
				return f, gone
			}
		case fr := <-m.frames:
			if fr.kind == wire.KindCancel && fr.err == nil && !f.cancelled {
				f.cancelled = true
				terminate()
				continue
			}
			if gone = m.aside(fr); gone != nil {
				return f, gone
			}
		case <-progress.C:
			if gone = m.conn.SendValue(wire.KindProgress, c.Progress(start)); gone != nil {
				return f, gone
			}
		}
	}
}

// tree is what was found when a run's processes were ended.
type tree struct {
	ended     bool
	leader    spawn.Exit
	survivors []report.Survivor
	held      bool
	by        time.Time // when the result has to be on its way
	usage     spawn.Usage
	leftovers []string
}

// end kills what is left of a run, drains its pipes and gives back all it
// held. It takes at most killWait + drainWait + closeWait; what a busy machine
// needs longer to read two pipes is taken from the last.
func (m *monitor) end(r run, c *capture.Capture) tree {
	var t tree
	t.survivors = r.Kill(killWait)
	t.by = time.Now().Add(drainWait + closeWait)
	t.held = c.Drain(drainWait, closeWait)
	closed := make(chan tree, 1)
	go func() {
		for again := t.survivors; len(again) > 0; {
			again = r.Kill(killWait) // a process that the kernel does not let go yet
		}
		<-r.Done()
		closed <- tree{leader: r.Leader(), usage: r.Usage(), leftovers: r.Close()}
	}()
	timer := time.NewTimer(left(t.by))
	defer timer.Stop()
	select {
	case last := <-closed:
		t.ended, t.leader, t.usage, t.leftovers = true, last.leader, last.usage, last.leftovers
	case <-timer.C:
		t.leftovers = []string{"the run is still being cleared away"}
		m.clearing = closed
	}
	return t
}

// cleared waits a moment for what an earlier run left behind, and refuses the
// next while it is there: two trees at once could not be told apart.
func (m *monitor) cleared() *wire.Refused {
	if m.clearing == nil {
		return nil
	}
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-m.clearing:
		m.clearing = nil
		return nil
	case <-timer.C:
		return refusal(wire.CodeBusy, "wait and call again", "processes of the run before are still being ended by the kernel")
	}
}

// left is the time until by, or a moment when that has come.
func left(by time.Time) time.Duration { return max(time.Until(by), drainWait) }

// result puts together what is told of a run.
func (m *monitor) result(a *approved, f facts, fenced report.Fence, hosts []report.Host, begin time.Time) wire.Result {
	wall := time.Since(begin).Milliseconds()
	_, proxied := m.env.Proxy()
	res := wire.Result{
		TimedOut: f.timedOut, TimeoutMs: a.timeout.Milliseconds(), DurationMs: wall,
		EnvNames: a.env.names, Verdict: f.verdict(), Fence: m.own(fenced),
		NetworkNote: networkNote(f.failed(), a.network, a.hosts, proxied, hosts),
		Evidence: report.Evidence{
			WallMs: wall, CPUMs: f.usage.CPU.Milliseconds(), PeakMemoryBytes: f.usage.PeakMemory,
			PeakPids: f.usage.PeakPids, OOMKills: f.usage.OOMKills, Egress: hosts,
		},
	}
	if f.netLost {
		res.NetworkNote = uplink.LostNote
	}
	if f.ended && f.leader.Signal == "" {
		res.ExitCode = &f.leader.Code
	}
	if f.ended {
		res.Signal = f.leader.Signal
	}
	if f.setup != nil {
		res.Evidence.SetupStage, res.Evidence.SetupErrno = f.setup.Stage, f.setup.Errno
	}
	return res
}

// tell sends what was captured since the last time, so that a person at a
// terminal sees output as it comes.
func (m *monitor) tell(c *capture.Capture) (err error) {
	for more := c.Out.More(); len(more) > 0 && err == nil; more = c.Out.More() {
		err = m.conn.SendChunks(wire.KindStdout, more)
	}
	for more := c.Err.More(); len(more) > 0 && err == nil; more = c.Err.More() {
		err = m.conn.SendChunks(wire.KindStderr, more)
	}
	return err
}

// deliver sends the rest of the kept output and then the result.
func (m *monitor) deliver(res wire.Result, c *capture.Capture) error {
	if err := m.tell(c); err != nil {
		return err
	}
	res.StdoutTruncated, res.StderrTruncated = c.Out.Cut(), c.Err.Cut()
	res.Evidence.StdoutBytes, res.Evidence.StderrBytes = c.Out.Total(), c.Err.Total()
	return m.conn.SendValue(wire.KindResult, res)
}

// notStarted tells of a child that could not be set up. A step of a layer that
// the policy requires refuses the run as a missing layer does; any other is a
// result, told by stage and errno and never by an exit code.
func (m *monitor) notStarted(a *approved, err error, begin time.Time) error {
	var setup *spawn.SetupError
	if !errors.As(err, &setup) {
		return m.refuse(refusal(wire.CodeSetup, "", "set up the run: %v", err))
	}
	if row := a.fence.Row(setup.Layer); setup.Layer != "" && row.Want == report.Require {
		row.Got, row.Reason = report.Absent, setup.Error()
		return m.refuse(missing(a.fence.Policy, row))
	}
	res := m.result(a, facts{setup: setup}, a.fence, nil, begin)
	return m.conn.SendValue(wire.KindResult, res)
}

// spec is what the fence is asked for. All of it was checked.
func (m *monitor) spec(a *approved, c *capture.Capture, config []byte, up *uplink.Uplink) spawn.Spec {
	s := spawn.Spec{
		Policy: m.boot.Policy, Limits: a.limits, Network: a.network,
		SkillDir: a.dir.File, SkillPath: a.dir.Path, ScriptPath: a.script.Path,
		Exec: a.prog, Args: a.req.Args, Env: a.env.list,
		DataDir: m.boot.DataDir, Stdout: c.Out.W, Stderr: c.Err.W, Timeout: a.timeout,
	}
	s.Exec.Env = nil // already in the list
	if a.req.Config {
		s.Config = config
	}
	for _, p := range m.boot.Policy.ReadFor(a.req.Skill) {
		s.Read = append(s.Read, p.Path)
	}
	if proxy, ok := m.env.Proxy(); ok && a.network == policy.NetProxy {
		s.ProxyHost, s.ProxyPort = hostPort(proxy)
	}
	if list, port := up.Env(s.Env); port != 0 {
		s.Env, s.ProxyHost, s.ProxyPort = list, "127.0.0.1", port
	}
	return s
}
