package web

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/timeline"
)

func TestTerms(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	entries := []timeline.Entry{
		{Kind: timeline.KindLeader, Node: "q1", At: ago(400)},
		{Kind: timeline.KindLostMember, Node: "q1", At: ago(84)},
		{Kind: timeline.KindLeader, Node: "q2", At: ago(84), From: ago(85)},
		{Kind: timeline.KindLeader, Node: "q3", At: ago(42)},
	}
	got := termsOf(entries, now, true)
	if got.Takeovers != 2 || len(got.Bars) != 3 || len(got.List) != 3 || got.List[0].Node != "q3" {
		t.Fatalf("got %+v", got)
	}
	if b := got.Bars[1]; b.X != 500 || b.Width < 248 || b.Width > 251 {
		t.Errorf("the term of q2: got %+v, want a quarter behind the middle", b)
	}
	if q1 := got.List[2]; !q1.Until.Equal(ago(85)) || got.List[1].Gap != time.Hour {
		t.Errorf("the end of q1: got %v, and a gap of %v", q1.Until, got.List[1].Gap)
	}
	if last := got.List[0]; !last.Until.IsZero() {
		t.Errorf("q3 leads, and ends at %v", last.Until)
	}
	if empty := termsOf(nil, now, false); len(empty.Bars) != 0 {
		t.Errorf("without entries: got %+v", empty)
	}
}
