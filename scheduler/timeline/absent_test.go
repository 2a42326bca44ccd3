package timeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// at returns an instant in the minute 10:49, given in seconds.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 24, 10, 49, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

// out is an outage from one second to another; to 0 means that it has not ended.
func out(node string, from, to float64) job.Outage {
	o := job.Outage{Node: node, From: at(from)}
	if to != 0 {
		o.Until = at(to)
	}
	return o
}

// saw is a report of a replica that started long before.
func saw(outages ...job.Outage) timeline.Report {
	return timeline.Report{Started: at(-3600), Outages: outages}
}

func TestAbsences(t *testing.T) {
	for name, tc := range map[string]struct {
		reports map[string]timeline.Report
		want    string
	}{
		"a replica that both others miss": {
			map[string]timeline.Report{"q1": saw(out("q3", 5, 0)), "q2": saw(out("q3", 5.4, 0))}, "q3 5.4-",
		},
		"it ended when the first one heard it again": {
			map[string]timeline.Report{"q1": saw(out("q3", 5, 20)), "q2": saw(out("q3", 5.4, 20.5)), "q3": saw()}, "q3 5.4-20",
		},
		"a cut between two replicas, which the third one reaches": {
			map[string]timeline.Report{"q1": saw(out("q2", 5, 20)), "q2": saw(out("q1", 5, 20)), "q3": saw()}, "",
		},
		"a replica that was cut off is absent, and not the majority": {
			map[string]timeline.Report{
				"q1": saw(out("q2", 5, 20), out("q3", 5, 20)), "q2": saw(out("q1", 5.2, 20)), "q3": saw(out("q1", 5.1, 20)),
			}, "q1 5.2-20",
		},
		"the majority was stopped, and only one replica saw it": {
			map[string]timeline.Report{"q1": saw(out("q2", 50, 71), out("q3", 50.2, 71)), "q2": saw(), "q3": saw()},
			"q2 50-71, q3 50.2-71",
		},
		"a replica that was restarted during the outage is no witness": {
			map[string]timeline.Report{"q1": saw(out("q3", 5, 20)), "q2": {Started: at(12)}, "q3": saw()}, "q3 5-20",
		},
		"a replica that answered once between two deaths": {
			map[string]timeline.Report{"q1": saw(out("q3", 5, 20), out("q3", 20, 30)), "q2": saw(out("q3", 5.4, 20.5))},
			"q3 5.4-20, q3 20-30",
		},
		"nobody led": {map[string]timeline.Report{"q1": saw(out("", 5, 20))}, ""},
	} {
		var got []string
		for _, o := range timeline.Absences(tc.reports) {
			text := fmt.Sprintf("%s %g-", o.Node, o.From.Sub(at(0)).Seconds())
			if !o.Until.IsZero() {
				text += fmt.Sprint(o.Until.Sub(at(0)).Seconds())
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s: got %q, want %q", name, text, tc.want)
		}
	}
}

// write applies the events of a Ledger to the stored ones.
func write(stored []*job.Event, changed []job.Event) []*job.Event {
next:
	for _, e := range changed {
		for i := range stored {
			if stored[i].ID == e.ID {
				stored[i] = &e
				continue next
			}
		}
		stored = append(stored, &e)
	}
	return stored
}

func TestALedgerWritesOnlyChanges(t *testing.T) {
	term := timeline.Term{Node: "q2", Rev: 20, Since: at(5.1), Led: at(4.8)}
	stored := []*job.Event{{ID: "1", Kind: job.EventLeader, At: at(-100), Node: "q3", Term: 10}}
	dead := out("q3", 5.058, 0)
	dead.Cause = job.OutageDead
	reports := map[string]timeline.Report{"q1": saw(dead), "q2": saw(out("q3", 4.9, 0))}
	changed := timeline.Ledger(term, stored, reports, map[string]bool{"q1": true, "q2": true}, at(5.5))
	stored = write(stored, changed)
	stored = write(stored, timeline.Ledger(term, stored, reports, map[string]bool{"q1": true, "q2": true}, at(5.6)))
	if again := timeline.Ledger(term, stored, reports, map[string]bool{"q1": true, "q2": true}, at(6)); len(again) != 0 {
		t.Errorf("without news, it writes %+v", again)
	}
	var lead, lost *job.Event
	for _, e := range stored {
		switch {
		case e.Kind == job.EventOutage:
			lost = e
		case e.Term == 20:
			lead = e
		}
	}
	if lead == nil || lead.Previous != "q3" || !lead.From.Equal(at(5.058)) || !lead.At.Equal(at(5.1)) {
		t.Errorf("the term: got %+v", lead)
	}
	if lost == nil || lost.Node != "q3" || lost.Cause != job.OutageDead || !lost.To.IsZero() {
		t.Errorf("the outage: got %+v", lost)
	}

	t.Run("an outage that no replica reports any more has ended", func(t *testing.T) {
		changed := timeline.Ledger(term, stored, map[string]timeline.Report{"q2": saw()}, map[string]bool{"q3": true}, at(60))
		if len(changed) != 1 || changed[0].ID != lost.ID || !changed[0].To.Equal(at(60)) {
			t.Errorf("got %+v", changed)
		}
	})
}

func TestAReplicaThatDiesAgainHasTwoOutages(t *testing.T) {
	reports := map[string]timeline.Report{"q1": saw(out("q2", 20, 21)), "q2": saw()}
	stored := write(nil, timeline.Ledger(timeline.Term{Node: "q1", Rev: 1, Since: at(0)}, nil, reports, nil, at(21.5)))
	observed := timeline.WithObserved(stored, []job.Outage{out("q2", 20, 21), out("q2", 21.7, 0)})
	if n := len(observed) - len(stored); n != 1 {
		t.Errorf("%d outages are added, want the second one", n)
	}
}

func TestALeaderLearnsFromOthersSinceWhenNobodyLed(t *testing.T) {
	term := timeline.Term{Node: "q2", Rev: 20, Since: at(71)}
	stored := write(nil, timeline.Ledger(term, nil, map[string]timeline.Report{"q2": saw()}, nil, at(71)))
	reports := map[string]timeline.Report{"q1": saw(out("", 50, 71.2)), "q2": saw()}
	changed := timeline.Ledger(term, stored, reports, nil, at(72))
	if len(changed) != 1 || !changed[0].From.Equal(at(50)) {
		t.Errorf("got %+v", changed)
	}
	if late := timeline.Ledger(term, stored, reports, nil, at(100)); len(late) != 0 {
		t.Errorf("long after the win it still writes %+v", late)
	}
}

// TestALeaderThatWasSilentMayHaveLed looks at the start of a term after an outage of the leader before it.
func TestALeaderThatWasSilentMayHaveLed(t *testing.T) {
	for name, tc := range map[string]struct {
		outage job.Event
		want   time.Time // since when nobody led
	}{
		"it answered again long before":   {job.Event{From: at(0), To: at(33)}, time.Time{}},
		"it died, and a new process came": {job.Event{From: at(0), To: at(33), Cause: job.OutageDead}, at(0)},
		"it answered again just before":   {job.Event{From: at(0), To: at(168)}, at(0)},
		"it is silent":                    {job.Event{From: at(0)}, at(0)},
		"the outage was over when it won": {job.Event{From: at(-200), To: at(168), Cause: job.OutageDead}, time.Time{}},
	} {
		tc.outage.ID, tc.outage.Kind, tc.outage.Node = "2", job.EventOutage, "q3"
		stored := []*job.Event{{ID: "1", Kind: job.EventLeader, At: at(-100), Node: "q3", Term: 10}, &tc.outage}
		term := timeline.Term{Node: "q2", Rev: 20, Since: at(170)}
		changed := timeline.Ledger(term, stored, map[string]timeline.Report{"q2": saw()}, nil, at(170))
		if len(changed) != 1 || !changed[0].From.Equal(tc.want) {
			t.Errorf("%s: got %+v, want a term since when nobody led: %v", name, changed, tc.want)
		}
	}
}
