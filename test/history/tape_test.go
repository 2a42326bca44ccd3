package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// began is the start of the histories.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tape writes a history as a cluster does.
type tape struct {
	t       *testing.T
	history History
	rev     int64
	create  map[string]int64
	now     time.Time
	term    int64
	decided time.Time // time of the next decision by the leader's clock; zero: now
	later   func()    // called after the decision; may be nil
}

func newTape(t *testing.T) *tape {
	return &tape{t: t, history: History{Prefix: "/rota"}, create: make(map[string]int64), now: began}
}

// commit writes records in one transaction and returns its revision. A nil record deletes its key.
func (p *tape) commit(records map[string]any) int64 {
	p.rev++
	for key, record := range records {
		key = "/rota/" + key
		if record == nil {
			delete(p.create, key)
			p.history.Versions = append(p.history.Versions, Version{Key: key, Rev: p.rev, Deleted: true, Seen: p.now})
			continue
		}
		if p.create[key] == 0 {
			p.create[key] = p.rev
		}
		value, err := json.Marshal(record)
		if err != nil {
			p.t.Fatal(err)
		}
		p.history.Versions = append(p.history.Versions, Version{Key: key, Value: value, Rev: p.rev, Create: p.create[key], Seen: p.now})
	}
	return p.rev
}

func (p *tape) lead(key string) {
	p.term = p.commit(map[string]any{"election/" + key: map[string]string{"node": "node-" + key}})
}

func (p *tape) define(name string, spec job.Spec) {
	spec = spec.WithDefaults()
	p.history.Jobs = append(p.history.Jobs, Job{Name: name, Spec: spec, Effects: true})
	p.commit(map[string]any{"jobs/" + name: job.Job{Name: name, Generation: 1, Since: p.now, Spec: &spec}})
}

// arm gives a slot's run to a worker.
func (p *tape) arm(name string, slot time.Time, worker string) job.Run {
	r := job.Run{Job: name, ID: job.SlotID(slot), Kind: job.KindScheduled, Slot: slot, Due: slot, State: job.Pending, Term: p.term}
	r, err := r.Assign(&job.Worker{Name: worker, Session: "s"})
	if err != nil {
		p.t.Fatal(err)
	}
	r.Rev = p.commit(map[string]any{
		"runs/" + r.Name(): r,
		"cursors/" + name:  job.Cursor{Job: name, After: slot, Next: slot.Add(time.Second), Term: p.term},
	})
	return r
}

func (p *tape) save(r job.Run, err error) job.Run {
	if err != nil {
		p.t.Fatal(err)
	}
	r.Rev = p.commit(map[string]any{"runs/" + r.Name(): r})
	return r
}

// execute claims a run and adds its effect.
func (p *tape) execute(r job.Run, ends bool) job.Run {
	r = p.save(r.Claim(r.Rev, p.now))
	e := Effect{Job: r.Job, Run: r.Name(), Attempt: r.Attempt, Token: r.Token, Key: r.IdempotencyKey(), Arrived: p.now.Add(10 * time.Millisecond)}
	if ends {
		e.Ended, e.Well = p.now.Add(50*time.Millisecond), true
	}
	p.history.Effects = append(p.history.Effects, e)
	return r
}

func (p *tape) succeed(r job.Run) {
	p.save(r.Finish(job.Outcome{State: job.Succeeded, At: p.now.Add(60 * time.Millisecond)}))
}

// good returns a history of ten seconds with two jobs. The runs of one may overlap. At the fifth second the leader, which is
// also a worker, is killed in the middle of a run of each job. Another replica leads and retries both.
func good(t *testing.T) History {
	p := newTape(t)
	p.lead("a")
	p.commit(map[string]any{"election/b": map[string]string{}})
	second := p.rev
	every := job.Duration(time.Second)
	p.define("charge", job.Spec{Every: every, Missed: job.MissedAll})
	p.define("ping", job.Spec{Every: every, Missed: job.MissedAll, Overlap: job.OverlapAllow})
	for i := 1; i <= 10; i++ {
		p.now = began.Add(time.Duration(i) * time.Second)
		switch i {
		case 5:
			charge := p.execute(p.arm("charge", p.now, "q1"), false)
			ping := p.execute(p.arm("ping", p.now, "q1"), false)
			p.history.Faults = append(p.history.Faults, Fault{Kind: Kill, Node: "q1", At: p.now.Add(100 * time.Millisecond)})
			p.commit(map[string]any{"election/a": nil})
			p.now = began.Add(5800 * time.Millisecond)
			p.term = second
			for _, r := range []job.Run{charge, ping} {
				r, err := r.Requeue(job.Outcome{State: job.Lost, At: p.now}, p.now, "tried again")
				if err != nil {
					t.Fatal(err)
				}
				r.Term = p.term
				p.succeed(p.execute(p.save(r.Assign(&job.Worker{Name: "q2", Session: "t"})), true))
				p.now = p.now.Add(100 * time.Millisecond)
			}
		case 8: // the target was slow once
			slow := p.execute(p.arm("charge", p.now, "q2"), false)
			e := &p.history.Effects[len(p.history.Effects)-1]
			e.Ended, e.Well = p.now.Add(1500*time.Millisecond), true
			p.succeed(p.execute(p.arm("ping", p.now, "q3"), true))
			next := job.Run{
				Job: "charge", ID: job.SlotID(p.now.Add(time.Second)), Kind: job.KindScheduled, State: job.Skipped, Term: p.term,
				Slot: p.now.Add(time.Second), Due: p.now.Add(time.Second), Reason: "overlap: run " + slow.ID + " is still active",
			}
			p.commit(map[string]any{"runs/" + next.Name(): next, "cursors/charge": job.Cursor{Job: "charge", After: next.Slot, Term: p.term}})
			p.now = p.now.Add(1500 * time.Millisecond)
			p.succeed(slow)
		case 9:
			p.succeed(p.execute(p.arm("ping", p.now, "q3"), true))
		default:
			p.succeed(p.execute(p.arm("charge", p.now, "q2"), true))
			p.now = p.now.Add(100 * time.Millisecond)
			p.succeed(p.execute(p.arm("ping", began.Add(time.Duration(i)*time.Second), "q3"), true))
		}
	}
	return p.history
}

func lines(found []Violation) string {
	var b strings.Builder
	for _, v := range found {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

func slotAt(i int) string { return job.SlotID(began.Add(time.Duration(i) * time.Second)) }

// version returns the index of the nth version of a key, counted from 0.
func version(t *testing.T, h *History, key string, n int) int {
	t.Helper()
	for i, v := range h.Versions {
		if v.Key == "/rota/"+key {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("no such version of %s", key)
	return 0
}

// edit changes one version of a record.
func edit[T any](t *testing.T, h *History, key string, n int, change func(*T)) {
	t.Helper()
	i := version(t, h, key, n)
	var record T
	if err := json.Unmarshal(h.Versions[i].Value, &record); err != nil {
		t.Fatal(err)
	}
	change(&record)
	value, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	h.Versions[i].Value = value
}

// effect returns the index of the first effect of a run.
func effect(t *testing.T, h *History, run string) int {
	t.Helper()
	i := slices.IndexFunc(h.Effects, func(e Effect) bool { return e.Run == run })
	if i < 0 {
		t.Fatalf("no effect of %s", run)
	}
	return i
}

// more appends a version of a key, one revision after all others.
func more(h *History, v Version) {
	v.Rev = h.Versions[len(h.Versions)-1].Rev + 1
	h.Versions = append(h.Versions, v)
}

// removeJob removes charge between its sixth and its seventh run, and defines it again at once if back.
func removeJob(t *testing.T, h *History, back bool) {
	t.Helper()
	h.Jobs[0].Edited = true
	i := version(t, h, "runs/charge/"+slotAt(7), 0)
	i = min(i, version(t, h, "cursors/charge", 6-1)) // the order of the two is not fixed
	rev := h.Versions[i].Rev
	removed := []Version{{Key: "/rota/jobs/charge", Rev: rev - 1, Deleted: true}}
	if back {
		value, err := json.Marshal(job.Job{Name: "charge", Generation: 1, Since: began.Add(6 * time.Second), Spec: &h.Jobs[0].Spec})
		if err != nil {
			t.Fatal(err)
		}
		removed = append(removed, Version{Key: "/rota/jobs/charge", Rev: rev - 1, Create: rev - 1, Value: value})
	}
	h.Versions = slices.Insert(h.Versions, i, removed...)
}
