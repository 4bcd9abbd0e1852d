package confirm

import (
	"testing"
	"time"
	"unsafe"
)

// set moves the wall clock of a reading and leaves its monotonic part, as a
// person who sets the clock does.
func set(t time.Time, seconds int64) time.Time {
	const nanosecondBits = 30 // of time.Time's first word; the seconds are above them
	*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds) << nanosecondBits
	return t
}

// TestClockJumpsKeepApprovalsHonest sets the clock back after a used approval
// was forgotten because it had expired, and forward before its time.
func TestClockJumpsKeepApprovalsHonest(t *testing.T) {
	if now := time.Now(); set(now, 90).UnixMilli()-now.UnixMilli() != 90_000 || set(now, 90).Sub(now) != 0 {
		t.Fatal("this Go keeps times in another way: the test does not set the clock")
	}
	var jump int64
	g, err := New(Config{
		Key: make([]byte, 32), Settings: Settings{Mode: AskUser, Prompts: true, TTL: time.Minute, Wait: time.Second},
		Now: func() time.Time { return set(time.Now(), jump) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	used, unused := token(t, g, call("used")), token(t, g, call("unused"))
	a, err := g.CheckToken(used, call("used"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Spend(a); err != nil {
		t.Fatal(err)
	}
	jump = 120
	_, err = g.CheckToken(unused, call("unused"))
	want(t, err, TokenExpired)
	jump = 0
	_, err = g.CheckToken(used, call("used"))
	if err == nil {
		t.Fatal("a used approval is good again after the clock was set back")
	}
	fresh := token(t, g, call("fresh"))
	jump = -3600
	if _, err := g.CheckToken(fresh, call("fresh")); err != nil {
		t.Fatal("an hour back, a fresh approval:", err)
	}
}
