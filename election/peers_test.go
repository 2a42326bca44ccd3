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

// noted are clocks of which b and c were measured now, so far ahead of ours.
func noted(now time.Time, ahead time.Duration) *PeerClocks {
	p := NewPeerClocks()
	for _, node := range []string{"c", "b"} {
		p.Note(Offset{Node: node, Ahead: ahead, At: now})
	}
	return p
}

func TestAVerdictIsNewsOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := NewPeerClocks()
	for i, step := range []struct {
		ahead       time.Duration // of both others
		doubt       bool          // our clock was set before
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
		if step.doubt {
			p.Doubt()
		}
		p.Note(Offset{Node: "b", Ahead: step.ahead, At: now})
		p.Note(Offset{Node: "c", Ahead: step.ahead, At: now})
		wrong, news := p.Judge(now, peerAge, peerTolerance)
		if (wrong != nil) != step.wrong || news != step.news {
			t.Errorf("step %d: got %v, news %v; want wrong %v, news %v", i, wrong, news, step.wrong, step.news)
		}
		if got := p.Trusted(); got != wrong {
			t.Errorf("step %d: trusted: got %v, want %v", i, got, wrong)
		}
	}
}

func TestOldMeasurementsAreForgotten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		after time.Duration // our clock, since the measurement
		known bool
	}{
		"at once":                       {0, true},
		"as old as may be":              {peerAge, true},
		"too old":                       {peerAge + 1, false},
		"of the future, by very little": {-futureSlack, true},
		"of the future":                 {-futureSlack - 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := noted(at, time.Minute)
			wrong, _ := p.Judge(at.Add(tt.after), peerAge, peerTolerance)
			if (wrong != nil) != tt.known {
				t.Errorf("got %v, want it judged by what was measured: %v", wrong, tt.known)
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

func TestADoubtForgetsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := noted(now, 0)
	p.Doubt()
	if err := p.Trusted(); !errors.Is(err, ErrClockSet) {
		t.Errorf("trusted: got %v, want %v", err, ErrClockSet)
	}
	if got := p.Offsets(); got != nil {
		t.Errorf("offsets: got %v, want none", got)
	}
}
