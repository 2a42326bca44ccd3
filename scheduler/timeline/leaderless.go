package timeline

import (
	"slices"
	"time"
)

// tellLeaderless says when no replica led.
func (t *teller) tellLeaderless() {
	for _, e := range t.takeovers() {
		if !e.From.IsZero() && e.At.Sub(e.From) >= time.Second {
			t.say("No leader from ", t.clock(e.From), " to ", t.clock(e.At))
		}
	}
	if !t.Leaderless.IsZero() && t.within(t.Leaderless, 0) {
		t.say("No leader has answered since ", t.clock(t.Leaderless))
	}
}

// tellMajority says when fewer than the majority of the members answered. The majority of etcd may have been there meanwhile, as
// after the end of the certificates of the API.
func (t *teller) tellMajority() {
	if t.members.Expected < 3 {
		return
	}
	type step struct {
		at   time.Time
		lost int
	}
	var steps []step
	for _, o := range t.outages() {
		steps = append(steps, step{o.From, 1})
		if !o.To.IsZero() {
			steps = append(steps, step{o.To, -1})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	lost, since := 0, time.Time{}
	quorum := t.members.Expected/2 + 1
	for _, s := range steps {
		lost += s.lost
		switch left := t.members.Expected - lost; {
		case left < quorum && since.IsZero():
			since = s.at
		case left >= quorum && !since.IsZero():
			t.say("Fewer than the majority answered from ", t.clock(since), " to ", t.clock(s.at))
			since = time.Time{}
		}
	}
	if !since.IsZero() {
		t.say("Fewer than the majority have answered since ", t.clock(since))
	}
}
