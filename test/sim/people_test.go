package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/history"
)

// Counters of what people decide and start.
const (
	approvedRun     = "runs approved"
	rejectedRun     = "runs rejected"
	expiredRun      = "runs that nobody approved in time"
	workflowStarted = "workflows started by hand"
	workflowResumed = "workflows resumed"
	backfillOrdered = "backfills ordered"
	backfillEnded   = "backfills done"
	slotBackfilled  = "slots backfilled"
)

var decisions = []string{
	approvedRun, rejectedRun, expiredRun, workflowStarted, workflowResumed, backfillOrdered, backfillEnded, slotBackfilled,
}

// Jobs about which people decide, and whose past they backfill.
const (
	gated = "gated"
	past  = "past"
)

// people plans jobs whose runs wait for a person, and jobs with slots from before their definition.
func (p *plan) people() {
	d := throw(p.seed, "people")
	if !d.chance(0.5) {
		return
	}
	rule := func() *job.Approve {
		return &job.Approve{Within: job.Duration(d.between(3*time.Second, 20*time.Second).Truncate(time.Second))}
	}
	quick := work{least: time.Millisecond, most: time.Second}
	add := func(name string, spec job.Spec, how work) {
		may := how.failing > 0 || spec.Overlap == job.OverlapReplace
		p.add(d, name, history.Job{Spec: spec, MayFail: may}, how)
	}
	every := job.Duration(oneOf(d, 5*time.Second, 10*time.Second))
	add(gated, job.Spec{Every: every, Overlap: oneOf(d, job.OverlapPolicies()...), Approve: rule()}, quick)
	add(gated+"-step", job.Spec{After: after(gated), Overlap: job.OverlapQueue, Approve: rule()}, quick)

	start := p.began.Add(-d.between(time.Minute, 4*time.Minute)).Truncate(time.Second)
	add(past, job.Spec{Every: every, Start: &start, Overlap: oneOf(d, job.OverlapPolicies()...)},
		work{least: time.Millisecond, most: time.Second, failing: oneOf(d, 0, 0.2)})
	step := job.Spec{After: after(past), Overlap: job.OverlapQueue}
	if d.chance(0.5) {
		step.Approve = rule()
	}
	add(past+"-step", step, quick)
}

// decide sends the requests of people from now until end.
func (c *caller) decide(end time.Time) {
	if _, planned := c.specOf(gated); !planned {
		return
	}
	var next func()
	next = func() {
		if !time.Now().Before(end) {
			return
		}
		d := throw(c.world.plan.seed, "decision", time.Now().UnixNano())
		do := oneOf(d, c.approve, c.approve, c.approve, c.start, c.resume, c.backfill)
		c.world.at(time.Now().Add(d.upTo(4*time.Second)), next)
		c.call(func(ctx context.Context) error { return do(ctx, d) })
	}
	c.world.at(time.Now(), next)
}

// approve approves or rejects a run that waits for it, or that will.
func (c *caller) approve(ctx context.Context, d dice) error {
	ruleOf := func(r *job.Run) *job.Approve {
		spec, _ := c.specOf(r.Job)
		return spec.Approve
	}
	waiting := slices.DeleteFunc(c.world.recorder.live(), func(r job.Run) bool { return !r.Decidable(ruleOf(&r)) })
	if len(waiting) == 0 {
		return nil
	}
	of, accept := oneOf(d, waiting...), d.chance(0.7)
	made := false
	_, err := store.Edit(ctx,
		func(ctx context.Context) (job.Run, error) { return c.store.Run(ctx, of.Job, of.ID) },
		func(r job.Run) (job.Run, bool, error) {
			now := time.Now().UTC()
			if a := r.Approval; !r.Decidable(ruleOf(&r)) || a != nil && !a.Until.IsZero() && !now.Before(a.Until) {
				return r, false, nil // as the API refuses it
			}
			next, err := r.Decide(ruleOf(&r), job.Verdict{Approved: accept, At: now, Who: "ann"})
			made = err == nil
			return next, made, err
		}, c.store.Write)
	switch {
	case err != nil || !made:
		return err
	case accept:
		c.world.tally.add(approvedRun)
	default:
		c.world.tally.add(rejectedRun)
	}
	return nil
}

// graph returns the workflows of the plan.
func (c *caller) graph() (workflow.Graph, func(name string) int64) {
	specs := make(map[string]*job.Spec)
	for i := range c.world.plan.jobs {
		specs[c.world.plan.jobs[i].Name] = &c.world.plan.jobs[i].Spec
	}
	return workflow.Of(specs), func(string) int64 { return 1 }
}

// start starts a job with all steps behind it.
func (c *caller) start(ctx context.Context, d dice) error {
	now := time.Now().UTC()
	r := job.Run{
		Job: oneOf(d, gated, past), ID: fmt.Sprintf("start-%d", now.UnixNano()), Kind: job.KindManual, Slot: now, Due: now,
		State: job.Pending, By: "ann", Created: now, Generation: 1,
	}
	graph, generation := c.graph()
	return c.submitAll(ctx, r, graph.Runs(&r, generation), workflowStarted)
}

// submitAll submits the first run of a workflow, and the runs behind it.
func (c *caller) submitAll(ctx context.Context, r job.Run, behind []job.Run, what string) error {
	if _, err := c.store.Submit(ctx, r, behind...); err != nil {
		return err
	}
	c.world.tally.add(what)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted = append(c.accepted, r.Name())
	for _, step := range behind {
		c.accepted = append(c.accepted, step.Name())
	}
	return nil
}

// resume repeats a failed run together with the steps behind it that did not run.
func (c *caller) resume(ctx context.Context, d dice) error {
	var failed []job.Run
	ends := c.world.endings()
	for _, r := range ends {
		if r.Job == past && r.State == job.Failed {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	slices.SortFunc(failed, func(a, b job.Run) int { return strings.Compare(a.ID, b.ID) })
	old, now := oneOf(d, failed...), time.Now().UTC()
	r := job.Run{
		Job: old.Job, ID: fmt.Sprintf("resume-%d", now.UnixNano()), Kind: job.KindRetry, Slot: old.Slot, Due: now, State: job.Pending,
		RetryOf: old.Name(), By: "ann", Created: now, Generation: 1, After: workflow.Follow(&old),
	}
	graph, generation := c.graph()
	records := workflow.Records{
		Run: func(name string) *job.Run {
			if step, ended := ends[name]; ended {
				return &step
			}
			return nil
		},
		Repeats: func(name string) (of []*job.Run) {
			for _, step := range ends {
				if step.RetryOf == name {
					of = append(of, &step)
				}
			}
			return of
		},
	}
	return c.submitAll(ctx, r, graph.Resume(&old, &r, records, func(string) bool { return false }, generation), workflowResumed)
}

// backfill orders a backfill, or sometimes stops one.
func (c *caller) backfill(ctx context.Context, d dice) error {
	j, err := c.store.Job(ctx, past)
	if err != nil {
		return err
	}
	previous, err := c.store.Backfill(ctx, past)
	now := time.Now().UTC()
	switch {
	case errors.Is(err, job.ErrNotFound):
	case err != nil:
		return err
	case previous.State == job.BackfillRunning:
		if d.chance(0.9) {
			return nil
		}
		_, err = c.store.PutBackfill(ctx, previous.Stop("stopped by ann", now))
		return err
	}
	when, err := policy.When(past, j.Spec)
	if err != nil {
		return err
	}
	events, err := c.store.Events(ctx, past, 1000)
	if err != nil {
		return err
	}
	var skipped []job.SlotRange
	for _, e := range events {
		if e.Kind == job.EventSkipped {
			skipped = append(skipped, job.SlotRange{From: e.From, To: e.To})
		}
	}
	decided := policy.SlotsAfter(&j, when)
	if known, ok := c.world.recorder.cursor(past); ok {
		decided = job.Later(decided, known.After)
	}
	o := job.Backfill{
		Job: past, From: *j.Spec.Start, To: now, Order: oneOf(d, job.OldestFirst, job.NewestFirst), Concurrency: 1 + d.IntN(4),
		Steps: []string{past + "-step"}, State: job.BackfillRunning, By: "ann", Created: now, JobCreated: j.Created,
		SinceGeneration: j.SinceGeneration, Rev: previous.Rev, Past: previous.Decided(),
	}
	step, err := c.store.Job(ctx, past+"-step")
	if err != nil {
		return err
	}
	o.Ranges = policy.StepsBackfillable(policy.Backfillable(&j, when, &previous, skipped, o.From, o.To, decided), &j, []*job.Job{&step})
	o.Total, _ = policy.CountSlots(when, job.MaxBackfillSlots, o.Ranges...)
	if _, err := c.store.PutBackfill(ctx, o); err != nil {
		return err
	}
	c.world.tally.add(backfillOrdered)
	return nil
}
