package election

import (
	"strings"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return base.Add(d) }
	for name, tt := range map[string]struct {
		received, answered time.Time
		took               time.Duration
		ahead, uncertainty time.Duration
	}{
		"equal clocks":    {at(10 * time.Millisecond), at(10 * time.Millisecond), 20 * time.Millisecond, 0, 10 * time.Millisecond},
		"ahead by 45 s":   {at(45010 * time.Millisecond), at(45010 * time.Millisecond), 20 * time.Millisecond, 45 * time.Second, 10 * time.Millisecond},
		"behind by 45 s":  {at(-44990 * time.Millisecond), at(-44990 * time.Millisecond), 20 * time.Millisecond, -45 * time.Second, 10 * time.Millisecond},
		"a slow answer":   {at(10 * time.Millisecond), at(510 * time.Millisecond), 520 * time.Millisecond, 0, 10 * time.Millisecond},
		"a slow way back": {at(0), at(0), 100 * time.Millisecond, -50 * time.Millisecond, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			got := Measure("b", base, tt.received, tt.answered, tt.took)
			if got.Ahead != tt.ahead || got.Uncertainty != tt.uncertainty {
				t.Errorf("got %v ± %v, want %v ± %v", got.Ahead, got.Uncertainty, tt.ahead, tt.uncertainty)
			}
		})
	}
}

func TestSkewed(t *testing.T) {
	t.Parallel()
	const off, on = 45 * time.Second, 100 * time.Millisecond
	for name, tt := range map[string]struct {
		ahead  []time.Duration
		skewed bool
	}{
		"alone":                       {nil, false},
		"all agree":                   {[]time.Duration{on, -on}, false},
		"both others differ":          {[]time.Duration{off, off}, true},
		"both others differ, behind":  {[]time.Duration{-off, -off}, true},
		"one of two others differs":   {[]time.Duration{off, on}, false},
		"the only other differs":      {[]time.Duration{off}, false},
		"two of four others differ":   {[]time.Duration{off, -off, on, on}, false},
		"three of four others differ": {[]time.Duration{off, off, off, on}, true},
		"more than 80 % of tolerance": {[]time.Duration{401 * time.Millisecond, 401 * time.Millisecond}, true},
		"exactly 80 % of tolerance":   {[]time.Duration{400 * time.Millisecond, 400 * time.Millisecond}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var offsets []Offset
			for _, d := range tt.ahead {
				offsets = append(offsets, Offset{Node: "n", Ahead: d})
			}
			if got := outvoted(offsets, 500*time.Millisecond); (got != nil) != tt.skewed {
				t.Errorf("got %v, want skewed %v", got, tt.skewed)
			}
		})
	}
	err := outvoted([]Offset{{Node: "q2", Ahead: -off}, {Node: "q3", Ahead: off}}, time.Second)
	if err == nil || !strings.Contains(err.Error(), "q2 is 45s behind, q3 is 45s ahead") {
		t.Errorf("got %v", err)
	}
	unsure := []Offset{{Ahead: time.Second, Uncertainty: time.Second}, {Ahead: time.Second, Uncertainty: time.Second}}
	if err := outvoted(unsure, 500*time.Millisecond); err != nil {
		t.Errorf("an offset within its uncertainty: got %v, want none", err)
	}
}
