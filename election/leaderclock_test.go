package election

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLeaderClockIsALowerBound(t *testing.T) {
	var l LeaderClock
	if _, known := l.Now(7); known {
		t.Error("known before the first answer")
	}
	// The leader's clock is 45 s ahead of ours. After the leader read its clock, the answers took different times to
	// arrive.
	received := time.Now()
	leader := func(at time.Time) time.Time { return at.Add(45 * time.Second) }
	check := func(what string, wantBehind, atMost time.Duration) {
		t.Helper()
		before := time.Now()
		got, known := l.Now(7)
		behind := leader(before).Sub(got)
		if !known || got.After(leader(time.Now())) || behind < wantBehind-time.Millisecond || behind > atMost {
			t.Errorf("%s: %v behind the true clock, want %v to %v", what, behind, wantBehind, atMost)
		}
	}
	l.Record(7, leader(received.Add(-20*time.Millisecond)), 30*time.Millisecond, received, Reading{})
	check("an answer that took 20 ms", 20*time.Millisecond, 21*time.Millisecond)
	l.Record(7, leader(received.Add(-2*time.Millisecond)), 5*time.Millisecond, received, Reading{})
	check("a more exact answer", 2*time.Millisecond, 3*time.Millisecond)
	l.Record(7, leader(received.Add(-40*time.Millisecond)), 50*time.Millisecond, received, Reading{})
	check("a less exact answer", 2*time.Millisecond, 3*time.Millisecond)
	if _, known := l.Now(8); known {
		t.Error("the clock of the leader of another term is known")
	}
	l.Record(0, time.Now(), 0, received, Reading{}) // from a replica that does not lead
	check("another replica's answer", 2*time.Millisecond, 3*time.Millisecond)

	leader = func(at time.Time) time.Time { return at.Add(44 * time.Second) } // the clock was set back
	l.Record(7, leader(received.Add(-10*time.Millisecond)), 15*time.Millisecond, received, Reading{})
	check("after it was set back", 10*time.Millisecond, 11*time.Millisecond)

	leader = func(at time.Time) time.Time { return at.Add(90 * time.Second) } // the clock was set ahead, which ends the term
	l.Record(7, leader(received.Add(-10*time.Millisecond)), 15*time.Millisecond, received, Reading{})
	leader = func(at time.Time) time.Time { return at.Add(44 * time.Second) }
	check("after it was set ahead", 10*time.Millisecond, 11*time.Millisecond)

	leader = func(at time.Time) time.Time { return at.Add(-time.Second) } // another replica leads, by its own clock
	l.Record(9, leader(received), time.Millisecond, received, Reading{})
	if got, known := l.Now(9); !known || got.After(leader(time.Now())) {
		t.Errorf("the next leader: got %v, %v", got, known)
	}
}

// The leader's clock is set back by less than a step that ends the term, and the leader does not answer any more. Runs do not start by
// its earlier answer for long.
func TestAnOldAnswerOfTheLeaderStartsNoRun(t *testing.T) {
	for age, want := range map[time.Duration]bool{9 * time.Second: true, 11 * time.Second: false} {
		var l LeaderClock
		received := time.Now().Add(-age)
		l.Record(7, received.Add(500*time.Millisecond), time.Millisecond, received, Reading{})
		if _, known := l.Now(7); known != want {
			t.Errorf("after %v: known is %t, want %t", age, known, want)
		}
		if _, known := l.Offset(time.Now()); !known {
			t.Errorf("after %v: the offset is not known", age)
		}
	}
}

// This machine is suspended, and its monotonic clock stops. The leader leads on, so its clock seems to be set ahead.
func TestTheLeadersClockIsKnownAgainAfterASuspension(t *testing.T) {
	began, asleep := time.Now(), time.Duration(0)
	l := LeaderClock{Clock: func() Reading {
		now := time.Now()
		return Reading{Mono: now, Wall: now.Add(asleep), Boot: now.Sub(began) + time.Hour + asleep}
	}}
	leader := time.Now()
	l.Record(7, leader, time.Millisecond, time.Now(), l.Clock())
	if _, known := l.Now(7); !known {
		t.Error("the first answer is not used")
	}
	asleep += time.Hour
	if at, known := l.Now(7); known {
		t.Errorf("after the suspension, the clock shows %v", at)
	}
	if o, known := l.Offset(time.Now().Add(time.Hour)); known {
		t.Errorf("after the suspension, the offset is %v", o.Ahead)
	}
	leader = leader.Add(time.Hour)
	l.Record(7, leader, time.Millisecond, time.Now(), l.Clock())
	if at, known := l.Now(7); !known || at.Before(leader) {
		t.Errorf("after the next answer: %v, %t; want at least %v", at, known, leader)
	}
	sent := l.Clock()
	asleep += time.Hour // while the request is under way
	l.Record(7, leader, time.Millisecond, time.Now(), sent)
	if at, known := l.Now(7); known {
		t.Errorf("after a suspension during a request, the clock shows %v", at)
	}
}

func TestAnyAnswerReplacesAnOldOne(t *testing.T) {
	var l LeaderClock
	received := time.Now()
	l.Record(7, received, time.Millisecond, received.Add(-leaderClockAge-time.Second), Reading{})
	ahead := received.Add(time.Minute)
	l.Record(7, ahead, time.Millisecond, received, Reading{})
	if at, known := l.Now(7); !known || at.Before(ahead) {
		t.Errorf("got %v, %t; want at least %v", at, known, ahead)
	}
}

func TestOwnClockIgnoresALaterStepAhead(t *testing.T) {
	var o OwnClock
	start := time.Now()
	o.Start(start)
	for by, want := range map[time.Duration]time.Duration{45 * time.Second: 0, 0: 0, -45 * time.Second: -45 * time.Second} {
		if got := o.Now(time.Now().Add(by)); got.Before(start.Add(want)) || got.After(time.Now().Add(want)) {
			t.Errorf("set by %v: shows %v more than before, want %v", by, got.Sub(start), want)
		}
	}
}

func TestAnOffsetWithinTheToleranceIsNotBeyond(t *testing.T) {
	const tolerance = 500 * time.Millisecond
	for _, tt := range []struct {
		ahead, took time.Duration
		want        bool
	}{
		{300 * time.Millisecond, 5 * time.Millisecond, false},
		{-300 * time.Millisecond, 5 * time.Millisecond, false},
		{500 * time.Millisecond, 900 * time.Millisecond, false}, // the delay of the answer may explain the offset
		{500 * time.Millisecond, 5 * time.Millisecond, true},
		{-45 * time.Second, time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l LeaderClock
			now := time.Now()
			l.Record(7, now.Add(tt.ahead-tt.took/2), tt.took, now, Reading{})
			o, known := l.Offset(now)
			if !known || o.Ahead != tt.ahead || o.Beyond(tolerance) != tt.want {
				t.Errorf("%v ahead by an answer that took %v: got %+v, %t; want beyond the tolerance: %t", tt.ahead, tt.took, o, known, tt.want)
			}
		})
	}
}
