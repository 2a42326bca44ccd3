package worker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// attempt is a claimed run that executes, or waits for its start.
type attempt struct {
	run      job.Run   // the record after the claim
	name     string    // of the run
	startAt  time.Time // the attempt starts at this time at the earliest
	received time.Time // when the order of the run was received
	spec     *job.Spec // shared with other runs: read only
	shift    *shift    // the shift in which the run was claimed
	ctx      context.Context
	end      context.CancelCauseFunc // ends ctx; see cancel
	timer    entry                   // starts the attempt
	prepared executor.Prepared       // what is done before the start; nil: nothing
	hurry    chan struct{}           // closed by hurryUp; nil if nothing can kill the attempt, since it has no process
	hurried  sync.Once               // closes hurry
	killed   bool                    // guarded by Worker.mu: counted in shift.killed
	over     chan struct{}           // guarded by Worker.mu: closed by remove; nil: no attempt waits for it
	earlier  []<-chan struct{}       // closed when earlier attempts of the run, which a leader gave up, have ended here

	// Set by perform.
	outcome      job.Outcome
	notBegun     bool // the work never began
	began, ended time.Time
}

// cancel ends the attempt, with a cause of package executor. If it waits for its start, the wait ends.
func (a *attempt) cancel(cause error) {
	a.end(cause)
	a.shift.w.table.hasten(&a.timer)
}

// fence is cancel because another worker may execute the run.
func (a *attempt) fence() {
	a.hurryUp()
	a.cancel(executor.ErrFenced)
}

// hurryUp makes the attempt end within executor.HurryGrace after it was canceled. Another worker may execute the run, or the
// worker is over.
func (a *attempt) hurryUp() {
	if a.hurry != nil {
		a.hurried.Do(func() { close(a.hurry) })
	}
}

// outlivesSession reports whether the attempt continues after its session. It may do so if no worker repeats it and no other
// run waits for its end. After a lost attempt, the leader begins the steps behind the run and the next run of a backfill, and gives
// the limits to other runs.
func (a *attempt) outlivesSession() bool {
	awaited := len(a.run.Limits) > 0 || a.run.Followed || a.run.Kind == job.KindBackfill
	return a.spec.Delivery == job.AtMostOnce && a.spec.Overlap == job.OverlapAllow && !awaited
}

// kept returns the names of the runs whose attempts outlived their sessions, for the presence of a new session. Some of them may
// have ended, and their outcomes are not delivered yet.
func (w *Worker) kept() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := slices.Collect(maps.Keys(w.ending))
	for a := range w.attempts {
		if !a.killed && a.outlivesSession() {
			names = append(names, a.name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), job.MaxKeeps)]
}

// newAttempt returns the attempt of r, whose claim has succeeded. backs is shift.backs from before the claim. The attempt takes
// over the caller's place among the executing attempts.
func (r *armedRun) newAttempt(claimed job.Run, backs int64) *attempt {
	s, w := r.shift, r.shift.w
	a := &attempt{run: claimed, name: r.name, startAt: r.startAt, received: r.received, spec: r.spec, shift: s}
	if !a.spec.InWorker() {
		a.hurry = make(chan struct{})
	}
	// s.life is not the parent, because it would keep a list of all attempts. When it ends, hurryUp cancels them.
	a.ctx, a.end = context.WithCancelCause(s.endless)

	w.mu.Lock()
	w.awaitEarlier(a)
	w.attempts[a] = struct{}{}
	if w.stopping {
		a.cancel(executor.ErrStopping)
	}
	if s.life.Err() != nil { // the end of Run may have canceled the other attempts already
		a.hurryUp()
		a.cancel(executor.ErrStopping)
	}
	if s.ctx.Err() != nil { // the session ended before this attempt was registered, so the attempt must not start
		a.kill()
	}
	stopped := r.stopRev > claimed.Token || s.backs.Load() != backs // a leader may have given it up before confirmAll could see it
	w.mu.Unlock()

	if stopped {
		w.wg.Go(func() { w.confirmStop(a) })
	}
	return a
}

// maxClockJump is the largest difference between the growth of the wall clock and that of the monotonic clock that does not
// count as a suspension of the machine.
const maxClockJump = time.Second

// prepareLead is how long before its start an attempt is prepared at the earliest. A target that serves one connection at a time
// waits for as long.
const prepareLead = 100 * time.Millisecond

// scheduleAttempt performs an attempt at its start. It does not begin an attempt that is canceled before its start. If the
// machine was suspended before the start, it does not begin the attempt either, because nothing watched the session during the
// suspension.
func (w *Worker) scheduleAttempt(a *attempt) {
	before := w.now()
	wait := a.startAt.Sub(before)
	if wait <= 0 {
		w.perform(a)
		return
	}
	a.prepare(wait)
	w.table.put(&a.timer, wait, func() {
		if after := w.now(); after.Round(0).Sub(before.Round(0))-after.Sub(before) > maxClockJump {
			a.fence()
		}
		w.perform(a)
	})
}

// prepare has the attempt prepared, shortly before its start. wait is how long that start is away.
func (a *attempt) prepare(wait time.Duration) {
	w := a.shift.w
	if p, ok := w.exec.(executor.Preparer); ok {
		a.prepared = p.Prepare(a.spec)
	}
	if a.prepared != nil {
		w.table.add(wait-prepareLead, func() { a.prepared.Do(a.ctx) })
	}
}

// perform executes an attempt and reports its end.
func (w *Worker) perform(a *attempt) {
	var begun bool
	for _, over := range a.earlier {
		wait(a.ctx, over, executor.HurryGrace+w.cfg.stopTimeout)
	}
	a.began = w.now()
	a.outcome, begun = w.execute(a)
	if a.prepared != nil {
		a.prepared.Close()
	}
	a.ended, a.notBegun = w.now(), !begun
	w.count(&w.unsent, 1) // before remove: a drain waits for attempts and unsent outcomes, and must always see one of them
	w.remove(a)
	w.ends.submit(func() { w.conclude(a) })
}

// execute executes the attempt. begun is false if the work never began. Then the attempt was canceled first, its session ended
// first, or the machine could not start it.
func (w *Worker) execute(a *attempt) (o job.Outcome, begun bool) {
	timeout := a.spec.Timeout
	if timeout <= 0 {
		timeout = job.DefaultTimeout
	}
	if a.shift.over() {
		a.fence()
	}
	ctx, cancel := context.WithTimeoutCause(a.ctx, timeout.Std(), executor.ErrTimeout)
	defer cancel()
	req := executor.Request{
		Run:         a.run,
		Spec:        *a.spec,
		Deadline:    job.Later(a.run.Started, a.began).Add(timeout.Std()), // a full store may have delayed the claim
		Prepared:    a.prepared,
		Hurry:       a.hurry,
		TraceParent: a.run.TraceParent(true),
	}
	if !a.spec.InWorker() {
		req.Mark = w.mark()
	}
	if a.spec.Heartbeat > 0 {
		beating, beat, stop := executor.WithHeartbeat(ctx, a.spec.Heartbeat.Std())
		defer stop()
		ctx, req.Beat = beating, beat
	}
	if o, ended := executor.Interrupted(ctx, &req, w.now()); ended {
		o.Reason += " " + job.NotBegun
		return o, false
	}
	inputs, mistake, err := w.inputs(ctx, &a.run)
	switch {
	case err != nil:
		if o, ended := executor.Interrupted(ctx, &req, w.now()); ended {
			o.Reason += " " + job.NotBegun
			return o, false
		}
		return executor.NotBegun(err), false
	case mistake != "":
		return job.Outcome{State: job.Failed, At: w.now(), Reason: mistake}, true
	}
	req.Inputs = inputs
	w.cfg.Observer.Began(&a.run, w.now().Sub(a.startAt))
	out := output.New(w.outputs, a.name, a.run.Attempt, job.OutputTail, output.MaxFile)
	req.Output = out
	o = w.exec.Execute(ctx, req)
	if o.State == job.TimedOut && a.lostWithin(ctx, timeout.Std()) {
		o.State, o.Retry, o.Reason = job.Lost, true, executor.ErrFenced.Error()+"; "+o.Reason
	}
	if err := out.Close(); err != nil {
		w.log.Warn("output is incomplete", "run", a.name, "attempt", a.run.Attempt, "err", err)
	}
	w.countOutput(out.Kept())
	if out.Kept() > 0 {
		w.cfg.Uploads.Add(a.name, a.run.Attempt)
	}
	o.Output = out.Tail()
	switch {
	case o.KindAway:
		w.kindFailed(a.shift.life, a.spec.Kind(), strings.TrimSuffix(o.Reason, ", "+job.NotBegun))
		return o, false
	case o.NotBegun:
		if o.After <= 0 { // otherwise only this run has to wait
			w.startFailed(errors.New(o.Reason))
		}
		return o, false
	}
	// A reason may repeat the text of another program. All that read the record take these words for an attempt without work.
	o.Reason = strings.ReplaceAll(o.Reason, job.NotBegun, "before it started")
	return o, true
}

// remove removes an attempt that has ended, and frees its place.
func (w *Worker) remove(a *attempt) {
	a.end(nil)
	w.releaseRoom() // before killed is counted down, which lets the end of the shift continue
	w.mu.Lock()
	delete(w.attempts, a)
	if a.over != nil {
		close(a.over)
	}
	if a.killed {
		a.shift.killed.add(-1)
	} else if a.outlivesSession() {
		w.ending[a.name] = struct{}{}
	}
	w.mu.Unlock()
}

// conclude makes the report of an attempt that has ended, puts it into the journal and sends it.
func (w *Worker) conclude(a *attempt) {
	now := a.leaderTime(a.ended)
	a.outcome = checked(a.outcome, now)
	o, took := &a.outcome, a.ended.Sub(a.began)
	w.cfg.Observer.Ended(&a.run, o, took)
	if w.cfg.Tracer != nil {
		w.cfg.Tracer.Ended(&a.run, o, took)
	}
	if o.State != job.Succeeded {
		// In the background: a log that blocks, such as a terminal after Ctrl-S, must not delay the outcome.
		w.wg.Go(func() {
			w.log.Info("attempt ended", "run", a.name, "attempt", a.run.Attempt, "state", o.State, "reason", o.Reason)
		})
	}
	r := newReport(a.run, a.spec, *o, a.notBegun, now, w.random())
	r.ended, r.outlives = a.ended, a.outlivesSession()
	if w.journal != nil {
		// If the process dies before this, the attempt counts as lost. If it dies after, the next process sends the outcome.
		err := w.journal.add(r)
		if r.journaled = err == nil; !r.journaled {
			w.suspectDisk()
			w.wg.Go(func() {
				w.log.Error("outcome is kept in memory only", "run", a.name, "attempt", a.run.Attempt, "err", err)
			})
		}
	}
	w.send(a.shift.life, r)
}

// mark returns the unique mark of the next attempt's processes.
func (w *Worker) mark() string { return w.life + "." + strconv.FormatInt(w.marks.Add(1), 10) }
