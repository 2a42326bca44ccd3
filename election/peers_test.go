package election

import (
	"errors"
	"slices"
	"testing"
	"time"
)

const (
	peerAge       = 30 * time.Second
	peerTolerance = 500 * time.Millisecond
)

// round returns a round that has measured b and c at a time, both ahead of our clock by ahead. It has not ended.
func (p *PeerClocks) round(at time.Time, ahead time.Duration) Round {
	r := p.Round()
	for _, node := range []string{"c", "b"} {
		r.Record(Offset{Node: node, Ahead: ahead, At: at})
	}
	return r
}

func TestAJudgementIsNewsOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := NewPeerClocks(nil)
	for i, step := range []struct {
		ahead       time.Duration // of both others
		suspect     bool          // our clock was set before
		wrong, news bool
	}{
		{0, false, false, false},
		{time.Minute, false, true, true},
		{time.Hour, false, true, false},
		{0, false, false, true},
		{0, false, false, false},
		{time.Minute, true, true, true},
		{time.Minute, true, true, true},
		{0, true, false, true},
	} {
		if step.suspect {
			p.Suspect()
		}
		wrong, news := p.round(now, step.ahead).Judge(now, peerAge, peerTolerance)
		if (wrong != nil) != step.wrong || news != step.news {
			t.Errorf("step %d: got %v, news %v; want wrong %v, news %v", i, wrong, news, step.wrong, step.news)
		}
		if got := p.Trusted(); !errors.Is(got, wrong) {
			t.Errorf("step %d: trusted: got %v, want %v", i, got, wrong)
		}
	}
}

func TestOldMeasurementsAreDiscarded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		after time.Duration // by our clock, after the measurement
		known bool
	}{
		"at once":                   {0, true},
		"exactly as old as allowed": {peerAge, true},
		"too old":                   {peerAge + 1, false},
		"slightly in the future":    {-futureSlack, true},
		"in the future":             {-futureSlack - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPeerClocks(nil)
			wrong, _ := p.round(at, time.Minute).Judge(at.Add(tt.after), peerAge, peerTolerance)
			if (wrong != nil) != tt.known {
				t.Errorf("got %v, want an error by the measurements: %v", wrong, tt.known)
			}
			var names []string
			for _, o := range p.Offsets() {
				names = append(names, o.Node)
			}
			if want := []string{"b", "c"}; tt.known && !slices.Equal(names, want) || !tt.known && names != nil {
				t.Errorf("offsets of %v, want those of %v: %v", names, want, tt.known)
			}
		})
	}
}

func TestASuspicionEndsWithTheNextRound(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := NewPeerClocks(nil)
	underway := p.round(now, 0)
	p.Suspect()
	underway.Record(Offset{Node: "d", At: now}) // requested before Suspect, answered after it
	if err, news := underway.Judge(now, peerAge, peerTolerance); !errors.Is(err, ErrClockSet) || news {
		t.Errorf("the round before Suspect: got %v, news %v; want %v", err, news, ErrClockSet)
	}
	if err, got := p.Trusted(), p.Offsets(); !errors.Is(err, ErrClockSet) || got != nil {
		t.Errorf("after it: got %v, offsets %v; want %v and none", err, got, ErrClockSet)
	}
	if err, news := p.Round().Judge(now, peerAge, peerTolerance); err != nil || !news {
		t.Errorf("the next round: got %v, news %v; want a clock that is trusted again", err, news)
	}
}
