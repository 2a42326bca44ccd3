package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// recorded returns a history of twelve seconds with all kinds of events. All slots of one job run, and the other job does not
// make up for missed slots. A leader is killed, and one of two submissions is canceled.
func recorded(t *testing.T) History {
	p := newTape(t)
	p.lead("a")
	p.commit(map[string]any{"election/b": map[string]string{}})
	second := p.rev
	const s = job.Duration(time.Second)
	p.define("charge", job.Spec{Every: s, Missed: job.MissedAll})
	p.define("report", job.Spec{Every: 2 * s, Missed: job.MissedNone})
	p.define("order", job.Spec{})
	for i := 1; i <= 12; i++ {
		p.now = sec(float64(i))
		switch i {
		case 5:
			r := p.execute(p.arm("charge", p.now, "q1"), false)
			p.history.Faults = append(p.history.Faults, Fault{Kind: Kill, Node: "q1", At: sec(5.1)})
			p.now = sec(6.1)
			p.commit(map[string]any{"election/a": nil})
			p.term = second
			r, err := r.Requeue(job.Outcome{State: job.Lost, At: p.now}, p.now, "tried again")
			if err != nil {
				t.Fatal(err)
			}
			r.Term = p.term
			p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q2", Session: "t"})), true))
			p.commit(map[string]any{
				"events/report/x": job.Event{Kind: job.EventSkipped, Job: "report", From: sec(6), To: sec(6), Count: 1,
					Reason: "missed: nobody could dispatch at its time, and the job's policy is none"},
				"cursors/report": job.Cursor{Job: "report", After: sec(6), Next: sec(8), Term: p.term},
			})
		case 6:
			p.now = sec(6.3)
			p.succeed(p.execute(p.arm("charge", sec(6), "q2"), true))
		default:
			p.succeed(p.execute(p.arm("charge", p.now, "q2"), true))
			if i%2 == 0 {
				p.now = p.now.Add(100 * time.Millisecond)
				p.succeed(p.execute(p.arm("report", sec(float64(i)), "q3"), true))
			}
		}
		switch i {
		case 3:
			p.order("kept", false)
		case 9:
			p.order("canceled", true)
		}
	}
	for i := range p.history.Jobs {
		p.history.Jobs[i].Tolerance, p.history.Jobs[i].From = 300*time.Millisecond, began
	}
	p.history.Recovery, p.history.Slack, p.history.Over = 2*time.Second, time.Second, sec(12.9)
	return p.history
}

// order submits a run, reads it, lets it run or cancels it, and reads it again.
func (p *tape) order(key string, cancel bool) {
	wait := func() time.Time { p.now = p.now.Add(10 * time.Millisecond); return p.now }
	call := func(c Call, r job.Run) {
		c.Job, c.Run, c.Answer, c.State, c.Rev, c.Cancel = r.Job, r.Name(), Done, r.State, r.Rev, r.Cancel != nil
		c.Asked, c.Answered = p.now, wait()
		p.history.Calls = append(p.history.Calls, c)
		wait()
	}
	r := job.Run{Job: "order", ID: "key-" + key, Kind: job.KindManual, Slot: wait(), Due: p.now, State: job.Pending, Key: key}
	r = p.save(r, nil)
	call(Call{Kind: CallSubmit, Key: key, Created: true}, r)
	call(Call{Kind: CallRun, Client: 1}, r)
	if cancel {
		r = p.save(r.Stop(job.Cancel{At: wait(), By: "alice"}))
		call(Call{Kind: CallCancel, Client: 1}, r)
	} else {
		r, err := r.Assign(&job.Worker{Name: "q3", Session: "s"})
		r.Term = p.term
		p.succeed(p.execute(p.save(r, err), true))
	}
	v := p.history.Versions[len(p.history.Versions)-1]
	var ended job.Run
	if err := json.Unmarshal(v.Value, &ended); err != nil {
		p.t.Fatal(err)
	}
	ended.Rev = v.Rev
	call(Call{Kind: CallRun}, ended)
	call(Call{Kind: CallSubmit, Key: key}, ended)
}

func TestARecordedHistoryPasses(t *testing.T) {
	v := Judge(recorded(t))
	if len(v.Violations) > 0 {
		t.Errorf("violations:\n%s", lines(v.Violations))
	}
	if v.Grades[OK] < 15 || v.Grades[Again] != 1 || v.Grades[Skipped] != 1 || v.Grades[LateInFault] != 1 || v.Grades.Bad() != 0 {
		t.Errorf("grades: %v", v)
	}
}

// class returns the kind of event of a version.
func class(v Version) string {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(v.Key, "/rota/"), "/")
	switch {
	case kind == "election" && v.Deleted:
		return "end of a term"
	case kind == "election":
		return "candidate"
	case kind == "jobs" && rest == "order":
		return "no slots"
	case kind != "runs":
		return map[string]string{"cursors": "cursor", "jobs": "definition", "events": "reason"}[kind]
	case v.Create == v.Rev:
		return "birth"
	case strings.Contains(string(v.Value), `"state":"running"`):
		return "claim"
	case strings.Contains(string(v.Value), `"state":"armed"`):
		return "assignment"
	}
	return "end"
}

// harmless are the mutations that break no promise, with the reason.
var harmless = map[string]string{
	"drop effect without an end":  "or else it was never begun: its worker was killed",
	"shift effect of no slot":     "it may run whenever it likes",
	"bring second effect forward": "it has no time but after the first",
	"double last cursor":          "it says the same again",
	"double candidate":            "it is the same candidate",
	"drop no slots":               "it has no slots",
	"double no slots":             "it has no slots",
	"double end of a term":        "the candidate does not exist any more",
	"double definition":           "it says the same again",
	"double fault":                "it explains the same",
	"drop call run":               "to look changes nothing",
	"double call run":             "to look changes nothing",
	"drop call submit again":      "it changed nothing",
	"double call submit again":    "it changed nothing",
}

// TestMutations drops, doubles and shifts each single event of a good history. The verdict must change.
func TestMutations(t *testing.T) {
	good := recorded(t)
	tried := make(map[string]int)
	try := func(what, which string, h History) {
		t.Helper()
		tried[what]++
		found := Check(h)
		if why, none := harmless[what]; none != (len(found) == 0) {
			t.Errorf("%s (%s): %d violations, harmless: %t %s\n%s", what, which, len(found), none, why, lines(found))
		}
	}
	for i, e := range good.Effects {
		which := fmt.Sprintf("%s attempt %d", e.Run, e.Attempt)
		h := good
		h.Effects = slices.Delete(slices.Clone(good.Effects), i, i+1)
		if e.Ended.IsZero() {
			try("drop effect without an end", which, h)
		} else {
			try("drop effect", which, h)
		}
		again := e
		again.Arrived, again.Ended = e.Arrived.Add(20*time.Millisecond), e.Arrived.Add(60*time.Millisecond)
		h.Effects = slices.Insert(slices.Clone(good.Effects), i+1, again)
		try("double effect", which, h)
		for _, by := range []time.Duration{-time.Second, 5 * time.Second} {
			what := "shift effect"
			if _, slot := slotOf(e); !slot {
				what = "shift effect of no slot"
			} else if e.Attempt > 1 && by < 0 {
				what, by = "bring second effect forward", -100*time.Millisecond
			}
			h.Effects = slices.Clone(good.Effects)
			h.Effects[i].Arrived = e.Arrived.Add(by)
			if !e.Ended.IsZero() {
				h.Effects[i].Ended = e.Ended.Add(by)
			}
			try(what, fmt.Sprint(which, " by ", by), h)
		}
	}
	for i, v := range good.Versions {
		which, what := fmt.Sprintf("%s at %d", v.Key, v.Rev), class(v)
		h := good
		h.Versions = slices.Delete(slices.Clone(good.Versions), i, i+1)
		try("drop "+what, which, h)
		if h.Versions = slices.Clone(good.Versions); what == "candidate" { // while the candidate exists
			h.Versions = slices.Insert(h.Versions, i, v)
		} else {
			more(&h, v)
		}
		if what == "cursor" && v.Rev == lastCursor(good, v.Key).Rev {
			try("double last cursor", which, h)
		} else {
			try("double "+what, which, h)
		}
		if h.Versions = slices.Clone(good.Versions); shift(t, &h, i, what) {
			try("shift "+what, which, h)
		}
	}
	for i, f := range good.Faults {
		h := good
		h.Faults = slices.Delete(slices.Clone(good.Faults), i, i+1)
		try("drop fault", f.String(), h)
		h.Faults = append(slices.Clone(good.Faults), f)
		try("double fault", f.String(), h)
		f.At = f.At.Add(-time.Hour)
		h.Faults = []Fault{f}
		try("shift fault", f.String(), h)
	}
	for i, c := range good.Calls {
		what := "call " + string(c.Kind)
		if c.Kind == CallSubmit && !c.Created {
			what += " again"
		}
		h := good
		h.Calls = slices.Delete(slices.Clone(good.Calls), i, i+1)
		try("drop "+what, c.String(), h)
		h.Calls = slices.Insert(slices.Clone(good.Calls), i, c)
		try("double "+what, c.String(), h)
		by := -10 * time.Second
		if c.Created || c.Kind == CallCancel {
			by = 10 * time.Second
		}
		h.Calls = slices.Clone(good.Calls)
		h.Calls[i].Asked, h.Calls[i].Answered = c.Asked.Add(by), c.Answered.Add(by)
		try("shift "+what, c.String(), h)
	}
	for class := range strings.SplitSeq("effect,birth,assignment,claim,end,cursor,reason,definition,candidate,end of a term,fault,call run,call submit,call cancel", ",") {
		for _, way := range []string{"drop", "double", "shift"} {
			if tried[way+" "+class] == 0 {
				t.Errorf("%s %s: never tried", way, class)
			}
		}
	}
	t.Logf("%d mutations of %d kinds", sum(tried), len(tried))
}

func sum(counts map[string]int) (n int) {
	for _, c := range slices.Collect(maps.Values(counts)) {
		n += c
	}
	return n
}

// lastCursor returns the last version of a key. Writing it again changes nothing.
func lastCursor(h History, key string) (last Version) {
	for _, v := range h.Versions {
		if v.Key == key {
			last = v
		}
	}
	return last
}

// shift moves a version to another time or changes its content. Two versions of a record change places, or a term begins or ends
// later, or a definition or a reason comes from another time.
func shift(t *testing.T, h *History, i int, what string) bool {
	t.Helper()
	v := h.Versions[i]
	switch what {
	case "reason":
		edit(t, h, strings.TrimPrefix(v.Key, "/rota/"), 0, func(e *job.Event) { e.From, e.To = e.From.Add(2*time.Second), e.To.Add(2*time.Second) })
		return true
	case "no slots":
		return false
	case "definition":
		edit(t, h, strings.TrimPrefix(v.Key, "/rota/"), 0, func(j *job.Job) { j.Since = j.Since.Add(3 * time.Second) })
		return true
	case "candidate", "end of a term":
		h.Versions = slices.Delete(h.Versions, i, i+1)
		if !v.Deleted {
			v.Create = h.Versions[len(h.Versions)-1].Rev + 1
		}
		more(h, v)
		return true
	}
	for _, k := range []int{1, -1} { // with the next version of the record, or the one before
		for n := i + k; n >= 0 && n < len(h.Versions); n += k {
			if o := &h.Versions[n]; o.Key == v.Key {
				h.Versions[i].Value, o.Value = o.Value, v.Value
				return true
			}
		}
	}
	return false
}
