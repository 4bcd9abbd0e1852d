package wire

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// kinds returns what one side may say at all.
func kinds(from Side) (out []Kind) {
	for _, m := range Table() {
		if m.From == from {
			out = append(out, m.Kind)
		}
	}
	return out
}

// frameOf is a frame under way.
type frameOf struct {
	k Kind
	n int
}

// TestWhatIsRightToSendIsRightToReceive lets both ends say whatever their own
// record permits, in any interleaving and with any delay: the other end must
// never refuse it.
func TestWhatIsRightToSendIsRightToReceive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := map[Side]*Talk{Front: {}, Monitor: {}}
		pipes := map[Side][]frameOf{} // by sender
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			from := rapid.SampledFrom([]Side{Front, Monitor}).Draw(t, "side")
			to := map[Side]Side{Front: Monitor, Monitor: Front}[from]
			if rapid.Bool().Draw(t, "deliver") && len(pipes[from]) > 0 {
				f := pipes[from][0]
				pipes[from] = pipes[from][1:]
				if err := ends[to].Step(from, f.k, f.n); err != nil {
					t.Fatalf("%c refused %q of %c: %v", to, f.k, from, err)
				}
				continue
			}
			f := frameOf{rapid.SampledFrom(kinds(from)).Draw(t, "kind"), rapid.IntRange(0, 8).Draw(t, "n")}
			if f.k == KindCancel || f.k == KindBegin {
				f.n = 0
			}
			trial := *ends[from] // Step may not be undone, so it is tried on a copy
			trial.sums = map[Kind]int{}
			if trial.Step(from, f.k, f.n) == nil && ends[from].Step(from, f.k, f.n) == nil {
				pipes[from] = append(pipes[from], f)
			}
		}
	})
}

// TestTalkFollowsTheModel compares the table with the protocol written as a
// program: one greeting, one plan, one run, output only while a run lasts.
func TestTalkFollowsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var talk Talk
		var begun, greeted, planning, configuring, waiting, running, cancelable bool
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			idle := greeted && !planning && !configuring && !waiting && !running
			permitted := map[Kind]bool{
				KindBegin:    !begun,
				KindReady:    begun && !greeted,
				KindPlan:     greeted && !planning && !configuring && !waiting,
				KindPlanned:  planning,
				KindConfig:   idle || configuring,
				KindRun:      idle || configuring,
				KindStarted:  waiting,
				KindStdout:   running,
				KindStderr:   running,
				KindProgress: running,
				KindResult:   waiting || running,
				KindRefused:  planning || waiting,
				KindCancel:   cancelable && !configuring,
			}
			from := rapid.SampledFrom([]Side{Front, Monitor}).Draw(t, "side")
			choice := kinds(from)
			// Mostly what is permitted: other sequences end at the same few states.
			if good := slices.DeleteFunc(kinds(from), func(k Kind) bool { return !permitted[k] }); len(good) > 0 && rapid.IntRange(0, 3).Draw(t, "any") > 0 {
				choice = good
			}
			k := rapid.SampledFrom(choice).Draw(t, "kind")
			want := permitted[k]
			if got := talk.Step(from, k, 0) == nil; got != want {
				t.Fatalf("message %q: permitted %v, want %v", k, got, want)
			} else if !got {
				continue // Step leaves the state alone
			}
			switch k {
			case KindBegin:
				begun = true
			case KindReady:
				greeted = true
			case KindPlan:
				planning = true
			case KindPlanned:
				planning = false
			case KindConfig:
				configuring = true
			case KindRun:
				configuring, waiting, cancelable = false, true, true
			case KindStarted:
				waiting, running = false, true
			case KindResult:
				waiting, running = false, false
			case KindRefused:
				planning, waiting = false, false
			case KindCancel:
				cancelable = false
			}
		}
	})
}

func TestTalkRefusesWhatIsTooLarge(t *testing.T) {
	start := func(kinds ...Kind) *Talk {
		var talk Talk
		for _, k := range kinds {
			m, _ := find(k)
			if err := talk.Step(m.From, k, 0); err != nil {
				t.Fatal(err)
			}
		}
		return &talk
	}
	if start(KindBegin).Step(Monitor, KindReady, MaxControl+1) == nil {
		t.Error("a control frame over its bound passes")
	}
	if start(KindBegin, KindReady, KindRun).Step(Front, KindCancel, 1) == nil {
		t.Error("a cancel with a payload passes")
	}
	for _, c := range []struct {
		from Side
		kind Kind
		talk *Talk
	}{
		{Front, KindConfig, start(KindBegin, KindReady)},
		{Monitor, KindStdout, start(KindBegin, KindReady, KindRun, KindStarted)},
		{Monitor, KindStderr, start(KindBegin, KindReady, KindRun, KindStarted)},
	} {
		m, _ := find(c.kind)
		for sent := 0; sent < m.Total; sent += m.Max {
			if err := c.talk.Step(c.from, c.kind, m.Max); err != nil {
				t.Fatalf("%s after %d bytes: %v", m.Name, sent, err)
			}
		}
		if c.talk.Step(c.from, c.kind, 1) == nil {
			t.Errorf("%s: one byte more than %d passes", m.Name, m.Total)
		}
	}
	talk := start(KindBegin, KindReady, KindConfig)
	for range MaxConfig / MaxChunk {
		_ = talk.Step(Front, KindConfig, MaxChunk)
	}
	if talk.Step(Front, KindRun, 0) != nil || talk.Step(Monitor, KindResult, 0) != nil || talk.Step(Front, KindConfig, MaxChunk) != nil {
		t.Error("the sum of one run counts against the next")
	}
}

func TestTableIsWhole(t *testing.T) {
	seen := map[Kind]bool{}
	for _, m := range Table() {
		if seen[m.Kind] || m.Name == "" || len(m.Moves) == 0 || m.Max > MaxControl || (m.From != Front && m.From != Monitor) {
			t.Errorf("row %q is repeated or incomplete", m.Kind)
		}
		seen[m.Kind] = true
	}
	if len(seen) != 13 {
		t.Errorf("the table has %d messages: a new one is a decision", len(seen))
	}
}
