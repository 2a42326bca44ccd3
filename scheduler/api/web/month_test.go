package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestMonthArrangesDays(t *testing.T) {
	v := &api.MonthView{Job: "backup", Month: "2026-03", Zone: "Europe/Berlin", Notes: []string{"2026-03-29: the clock goes forward"}}
	for i := range 31 {
		v.Days = append(v.Days, api.DayView{
			Date: fmt.Sprintf("2026-03-%02d", i+1), Slots: 1, First: []time.Time{time.Date(2026, 3, i+1, 1, 30, 0, 0, time.UTC)},
		})
	}
	v.Days[1].Counts = map[job.State]int{job.Failed: 1}
	v.Days[2].Slots = 1440
	v.Days[3].Slots, v.Days[3].First, v.Days[3].Off = 0, nil, "2026-03-04 is not on work; its slots are skipped"
	v.Days[28].Hours = 23
	m := monthOf(v, time.Date(2026, 3, 9, 23, 30, 0, 0, time.UTC)) // the 10th in Berlin
	if m.Title != "March 2026" || len(m.Weeks) != 6 || m.Total != 1469 {
		t.Fatalf("got %s with %d weeks and %d slots", m.Title, len(m.Weeks), m.Total)
	}
	if first := m.Weeks[0]; first[5].Number != 0 || first[6].Number != 1 || first[6].Slots != "02:30" {
		t.Errorf("March 2026 begins on a Sunday: got %+v", first)
	}
	if d := m.Weeks[1][0]; d.Number != 2 || len(d.Ends) != 1 || d.Ends[0].Text != "1 failed" || d.Ends[0].Sign == "" {
		t.Errorf("the 2nd: got %+v", d)
	}
	if d := m.Weeks[1][1]; d.Slots != "1440 slots" {
		t.Errorf("the 3rd: got %+v", d)
	}
	if d := m.Weeks[1][2]; d.Slots != "" || d.Off == "" || !m.Closed {
		t.Errorf("the 4th: got %+v", d)
	}
	if !m.Weeks[2][1].Today || m.Weeks[2][0].Today {
		t.Errorf("today is the 10th in the zone of the job: got %+v", m.Weeks[2])
	}
	if d := m.Weeks[4][6]; d.Number != 29 || d.Hours != 23 || d.Slots != "03:30" {
		t.Errorf("the day of the change: got %+v", d)
	}
	if m.Earlier != "?month=2026-02#month" || m.Later != "?month=2026-04#month" {
		t.Errorf("links: got %s and %s", m.Earlier, m.Later)
	}
}

func TestLineSpanFollowsTheSlots(t *testing.T) {
	for distance, want := range map[time.Duration]string{
		time.Second: "15m", 2 * time.Minute: "1h", 15 * time.Minute: "6h", time.Hour: "1d", 24 * time.Hour: "7d",
	} {
		if got := lineSpan([]time.Time{noon, noon.Add(distance), noon.Add(2 * distance)}); got.name != want {
			t.Errorf("every %v: got %s, want %s", distance, got.name, want)
		}
	}
	if got := lineSpan(nil); got.name != "1d" {
		t.Errorf("without slots: got %s, want 1d", got.name)
	}
}
