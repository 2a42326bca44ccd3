package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

var epoch = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return epoch.Add(time.Duration(n) * time.Minute) }

// history builds the log of a store. Its methods make only changes that a sound cluster makes, except forge.
type history struct {
	rev     int64
	log     [][]job.Change
	records map[string]job.Change // by kind and name
	cursor  job.Cursor
	term    int64
}

func newHistory() *history {
	h := &history{records: map[string]job.Change{}, term: 2, rev: 2}
	h.write(h.def(nil))
	return h
}

// def returns the definition of the only job, which runs every minute. change may modify it.
func (h *history) def(change func(*job.Job)) job.Change {
	j := &job.Job{
		Name: "tick", Generation: 1, Created: epoch, Updated: epoch, Since: epoch, SinceReason: job.SinceCreated,
		Spec: new(job.Spec{Every: job.Duration(time.Minute), Command: []string{"true"}}.WithDefaults()),
	}
	if change != nil {
		change(j)
	}
	return job.Change{Kind: job.RecordJob, Name: j.Name, Value: j}
}

// write writes changes in one transaction.
func (h *history) write(changes ...job.Change) int64 {
	h.rev++
	for i := range changes {
		c := &changes[i]
		c.Rev = h.rev
		key := string(c.Kind) + "/" + c.Name
		switch v := c.Value.(type) {
		case *job.Job:
			v.Rev = h.rev
		case *job.Run:
			r := *v
			r.Rev = h.rev
			c.Value = &r
		case *job.Cursor:
			cur := *v
			cur.Rev = h.rev
			c.Value = &cur
			h.cursor = cur
		}
		if c.Deleted() {
			delete(h.records, key)
			continue
		}
		c.Key, c.Create = "/rota/"+key, h.rev
		if before, ok := h.records[key]; ok {
			c.Create = before.Create
		}
		h.records[key] = *c
	}
	h.log = append(h.log, changes)
	return h.rev
}

func of(r job.Run) job.Change { return job.Change{Kind: job.RecordRun, Name: r.Name(), Value: &r} }

func (h *history) move(n int) job.Change {
	return job.Change{Kind: job.RecordCursor, Name: "tick", Value: &job.Cursor{Job: "tick", After: minute(n), Next: minute(n + 1), Generation: 1, Term: h.term}}
}

func (h *history) skip(from, to int) job.Change {
	e := &job.Event{ID: fmt.Sprint("e", from), Kind: job.EventSkipped, Job: "tick", At: minute(to), Reason: "missed", From: minute(from), To: minute(to), Count: to - from + 1, Term: h.term}
	return job.Change{Kind: job.RecordEvent, Name: "tick/" + e.ID, Value: e}
}

func (h *history) slot(n int) job.Run {
	return job.Run{Job: "tick", ID: job.SlotID(minute(n)), Kind: job.KindScheduled, Slot: minute(n), Due: minute(n), State: job.Pending,
		Reason: "no worker has room", Created: minute(n), Generation: 1, Term: h.term}
}

var w1 = &job.Worker{Name: "w1", Session: "s1"}

func must(r job.Run, err error) job.Run {
	if err != nil {
		panic(err)
	}
	return r
}

// arm assigns a run to the worker w1.
func (h *history) arm(r job.Run, more ...job.Change) job.Run {
	r = must(r.Assign(w1))
	r.Term = h.term
	r.Rev = h.write(append([]job.Change{of(r)}, more...)...)
	return r
}

func (h *history) claim(r job.Run) job.Run {
	r = must(r.Claim(r.Rev, r.Due))
	r.Rev = h.write(of(r))
	return r
}

func (h *history) finish(r job.Run, s job.State, n int) job.Run {
	r = must(r.Finish(job.Outcome{State: s, At: minute(n).Add(10 * time.Second)}))
	r.Rev = h.write(of(r))
	return r
}

// lose ends the first attempt of a slot's run because its worker was lost. The run then waits for its next attempt.
func (h *history) lose(n int, reason ...string) job.Run {
	r := h.slot(n)
	if def := job.ValueOf[job.Job](h.records["jobs/tick"]); def != nil {
		r.Generation = def.Generation
	}
	r = h.claim(h.arm(r, h.move(n)))
	r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(n), Reason: strings.Join(reason, "")}, minute(n), "tried again"))
	r.Rev = h.write(of(r))
	return r
}

// fire makes the usual transitions of a slot's run: it is armed, claimed and succeeds.
func (h *history) fire(n int) job.Run {
	return h.finish(h.claim(h.arm(h.slot(n), h.move(n))), job.Succeeded, n)
}

// spread makes the usual transitions of a slot's run on every worker: its only copy is armed on w1, claimed and succeeds.
func (h *history) spread(n int) (r, c job.Run) {
	r = h.slot(n).SpreadOver([]string{w1.Name}, minute(n))
	r.Rev = h.write(of(r), h.move(n))
	c = r.Copy(w1.Name, minute(n))
	c.Term = h.term
	c = h.finish(h.claim(h.arm(c)), job.Succeeded, n)
	r.Copied = true
	r.Rev = h.write(of(r))
	r = must(r.Gather(nil, minute(n).Add(20*time.Second)))
	r.Rev = h.write(of(r))
	return r, c
}

func (h *history) input() verify.Input {
	in := verify.Input{Log: h.log, Now: minute(1000)}
	for _, c := range h.records {
		in.Records = append(in.Records, c)
	}
	return in
}

// usual returns a history with every usual kind of change.
func usual() *history {
	h := newHistory()
	for n := 1; n <= 3; n++ {
		h.fire(n)
	}
	// Slot 4 fails and is tried again, slot 5 loses its worker, slots 6 to 8 are missed, 9 is skipped for overlap.
	r := h.claim(h.arm(h.slot(4), h.move(4)))
	r = must(r.Requeue(job.Outcome{State: job.Failed, At: minute(4)}, minute(4), "retry 1 of 3"))
	r.Rev = h.write(of(r))
	h.finish(h.claim(h.arm(r)), job.Succeeded, 5)
	r = h.claim(h.arm(h.slot(5), h.move(5)))
	h.rev++
	h.term = h.rev // another leader, which moves the run to another attempt in one write
	r = must(r.Requeue(job.Outcome{State: job.Lost, At: minute(5)}, minute(5), "its worker was lost"))
	h.finish(h.claim(h.arm(r)), job.Failed, 8)
	h.write(h.skip(6, 8), h.move(8))
	r = h.slot(9)
	r.State, r.Finished = job.Skipped, minute(9)
	h.write(of(r), h.move(9))
	h.write(h.def(func(j *job.Job) { j.Paused = &job.Pause{At: minute(9)} }))
	h.write(h.def(func(j *job.Job) { j.Since, j.SinceReason = minute(11), job.SinceResumed }))
	h.write(h.skip(10, 11), h.move(11))
	for n := 12; n <= 20; n++ {
		h.fire(n)
	}
	manual := job.Run{Job: "tick", ID: "01abc", Kind: job.KindManual, Slot: minute(20), Due: minute(20), State: job.Pending, Created: minute(20)}
	manual.Rev = h.write(of(manual))
	h.finish(h.claim(h.arm(manual)), job.Canceled, 20)
	return h
}

func (h *history) slotName(n int) string { return "tick/" + job.SlotID(minute(n)) }

// forge replaces the token of an ended run, and empties the log, so that only the record shows the wrong token.
func (h *history) forge(n int, token int64) {
	r := h.fire(n)
	change := h.records["runs/"+r.Name()]
	r.Attempts = slices.Clone(r.Attempts)
	r.Token, r.Attempts[0].Token = token, token
	change.Value = &r
	h.records["runs/"+r.Name()], h.log = change, nil
}

// prune removes the good run that ended first, but never the last one. It reports whether it removed a run.
func (h *history) prune() bool {
	var first *job.Run
	n := 0
	for _, c := range h.records {
		if r := job.ValueOf[job.Run](c); r != nil && (r.State == job.Succeeded || r.State == job.Skipped) {
			if n++; first == nil || r.Finished.Before(first.Finished) {
				first = r
			}
		}
	}
	if n < 2 {
		return false
	}
	h.write(job.Change{Kind: job.RecordRun, Name: first.Name()})
	return true
}
