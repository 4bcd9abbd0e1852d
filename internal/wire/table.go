package wire

import "fmt"

// Side is one end of the wall.
type Side byte

// The two ends.
const (
	Front   Side = 'f'
	Monitor Side = 'm'
)

// State is how far a conversation has come. Front and monitor each keep their
// own and may differ while a frame is under way; the table is made so that a
// frame which was right to send is right to receive (a property test holds it).
type State byte

// The states. A plan may be asked for while a run lasts, since a preview must
// not wait for five minutes; it may not be while a Run has no first answer,
// since a refusal could then belong to either.
const (
	Resting     State = iota // the front has not said Begin
	Greeting                 // the monitor has not said Ready
	Idle                     // nothing is asked
	Planning                 // a Plan waits for its answer
	Configuring              // configuration for the next Run is coming in
	Waiting                  // a Run waits for its first answer
	Running                  // a run lasts
	RunPlanning              // a run lasts and a Plan waits for its answer
)

// Sizes, in bytes.
const (
	MaxControl = 64 << 10 // one control frame; the largest honest request is under 60 KiB
	MaxChunk   = 64 << 10 // one data frame: a longer one would delay a cancel
	MaxConfig  = 1 << 20  // all configuration of one run; a real one is under 10 KiB
	MaxOutput  = 1 << 20  // one stream of one run, kept bytes (the contract, 5.4)
)

// Move is one permitted step of a message.
type Move struct{ In, To State }

// Message is one row of the protocol.
type Message struct {
	Kind  Kind
	Name  string
	From  Side
	Moves []Move // when it is permitted and what follows
	Max   int    // largest payload of one frame, bytes
	Total int    // largest sum of payloads in one run, 0 = not summed
}

// Table returns the whole protocol. A message whose moves all leave the state
// they start in is sent at most once there; the others as often as they like.
// Cancel is the exception: once after each Run, and still accepted when it
// crossed that run's Result.
func Table() []Message {
	run := []Move{{Running, Running}, {RunPlanning, RunPlanning}}
	return []Message{
		{KindBegin, "begin", Front, []Move{{Resting, Greeting}}, 0, 0},
		{KindReady, "ready", Monitor, []Move{{Greeting, Idle}}, MaxControl, 0},
		{KindPlan, "plan", Front, []Move{{Idle, Planning}, {Running, RunPlanning}}, MaxControl, 0},
		{KindPlanned, "planned", Monitor, []Move{{Planning, Idle}, {RunPlanning, Running}}, MaxControl, 0},
		{KindConfig, "config", Front, []Move{{Idle, Configuring}, {Configuring, Configuring}}, MaxChunk, MaxConfig},
		{KindRun, "run", Front, []Move{{Idle, Waiting}, {Configuring, Waiting}}, MaxControl, 0},
		{KindStarted, "started", Monitor, []Move{{Waiting, Running}}, MaxControl, 0},
		{KindStdout, "stdout", Monitor, run, MaxChunk, MaxOutput},
		{KindStderr, "stderr", Monitor, run, MaxChunk, MaxOutput},
		{KindProgress, "progress", Monitor, run, MaxControl, 0},
		{KindResult, "result", Monitor, []Move{{Waiting, Idle}, {Running, Idle}, {RunPlanning, Planning}}, MaxControl, 0},
		{KindRefused, "refused", Monitor, []Move{{Planning, Idle}, {Waiting, Idle}, {RunPlanning, Running}}, MaxControl, 0},
		{KindCancel, "cancel", Front, []Move{
			{Waiting, Waiting}, {Running, Running}, {RunPlanning, RunPlanning},
			{Idle, Idle}, {Planning, Planning}, // crossed the Result
		}, 0, 0},
	}
}

// Talk is one end's record of the conversation. The zero value is its start.
type Talk struct {
	state      State
	cancelable bool         // a Run was sent and no Cancel since
	sums       map[Kind]int // payload bytes of the run so far
}

// State returns how far the conversation has come.
func (t *Talk) State() State { return t.state }

// Step takes note of a frame of n payload bytes from one side, or says why it
// is not permitted. After an error the conversation is over.
func (t *Talk) Step(from Side, k Kind, n int) error {
	m, ok := find(k)
	if !ok {
		return fmt.Errorf("unknown message %q", rune(k))
	}
	if m.From != from {
		return fmt.Errorf("message %s from the wrong side", m.Name)
	}
	if n > m.Max {
		return fmt.Errorf("message %s of %d bytes, more than %d", m.Name, n, m.Max)
	}
	to, ok := m.next(t.state)
	if !ok || (k == KindCancel && !t.cancelable) {
		return fmt.Errorf("message %s out of order (state %d)", m.Name, t.state)
	}
	if err := t.sum(m, n); err != nil {
		return err
	}
	t.cancelable = k == KindRun || (t.cancelable && k != KindCancel)
	t.state = to
	return nil
}

// sum adds n to what the run has sent of message m; a new run begins at zero.
func (t *Talk) sum(m Message, n int) error {
	if m.Kind == KindRun || t.sums == nil {
		t.sums = map[Kind]int{}
	}
	if m.Total == 0 {
		return nil
	}
	if t.sums[m.Kind] += n; t.sums[m.Kind] > m.Total {
		return fmt.Errorf("message %s: more than %d bytes in one run", m.Name, m.Total)
	}
	return nil
}

// next gives the state after m in state s.
func (m Message) next(s State) (State, bool) {
	for _, mv := range m.Moves {
		if mv.In == s {
			return mv.To, true
		}
	}
	return s, false
}

// find returns the row of kind k.
func find(k Kind) (Message, bool) {
	for _, m := range Table() {
		if m.Kind == k {
			return m, true
		}
	}
	return Message{}, false
}
