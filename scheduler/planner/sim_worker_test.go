package planner_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// simWorker is one worker: its session, its orders, and its attempts.
type simWorker struct {
	sim        *sim
	name       string
	offset     time.Duration // the error of its clock
	wrong      time.Duration // the error of the times that it writes; due times are by the leader's clock
	session    string        // "": its process is dead
	renewed    time.Time     // when its lease was last renewed
	gone       bool          // its record was deleted, since its lease expired
	evicted    job.Worker    // the record that etcd removed too early
	back       time.Time     // when it puts that back; zero: there is none
	draining   bool          // it accepts no new runs
	away       bool          // it cannot start commands
	suits      job.Worker    // its labels, and what it can limit
	pausedTill time.Time     // cut off from the store, or stopped
	inbox      []order       // the orders of the present session
	read       int           // how many orders of the store are read
	attempts   []*simAttempt
	journal    []*simAttempt // ended attempts that are not reported yet
}

// simAttempt is an attempt on a worker.
type simAttempt struct {
	run     job.Run
	ends    time.Time
	outcome job.Outcome
	claimed *execution
}

func (x *simWorker) clock() time.Time { return x.sim.now.Add(x.offset).UTC() }

// revive starts the process, or a new session.
func (x *simWorker) revive() {
	w := x.sim
	x.pausedTill, x.draining, x.away = time.Time{}, false, false
	if x.session == "" {
		w.ids++
		x.session, x.renewed, x.gone, x.back, x.inbox = fmt.Sprintf("s%d", w.ids), w.now, false, time.Time{}, nil
		x.read = len(w.store.orders)
	}
	w.store.putWorker(x.presence())
	w.log("%s starts, session %s", x.name, x.session)
}

func (w *sim) capacity() int {
	if w.roomy || w.healed {
		return 1000
	}
	return 1 + w.n(10)
}

// die kills the process and its attempts. The journal stays.
func (x *simWorker) die() {
	x.sim.log("%s dies", x.name)
	x.killAll()
	x.session = ""
}

func (x *simWorker) killAll() {
	for _, a := range x.attempts {
		a.claimed.end = x.sim.now
	}
	x.attempts = nil
}

// evict removes the record of a living worker although its lease was renewed, as etcd does by mistake. A worker that is cut off could
// neither put it back nor end its attempts in time.
func (x *simWorker) evict() {
	if w := x.sim; x.session != "" && !x.gone && x.back.IsZero() && !w.now.Before(x.pausedTill) {
		w.log("%s is evicted", x.name)
		x.evicted = *job.ValueOf[job.Worker](w.store.records[recordKey{job.RecordWorker, x.name}])
		w.store.remove(job.RecordWorker, x.name)
		x.back = w.now.Add(w.upTo(700 * time.Millisecond))
	}
}

// putBack puts the record of an evicted worker back, and then ends the attempts that a leader gave up before.
func (x *simWorker) putBack() {
	if w := x.sim; x.session != "" && !x.gone && !x.back.IsZero() && !w.now.Before(x.back) {
		x.evicted.Draining = x.draining
		w.store.putWorker(x.evicted)
		x.back, x.renewed = time.Time{}, w.now
		x.attempts = slices.DeleteFunc(x.attempts, func(a *simAttempt) bool {
			r := w.store.run(a.run.Name())
			given := r == nil || r.State != job.Running || r.Token != a.run.Token
			if given {
				a.claimed.end = w.now
			}
			return given
		})
	}
}

func (x *simWorker) step() {
	w := x.sim
	cut := w.now.Before(x.pausedTill)
	x.putBack()
	if x.session != "" && !cut && !x.gone && x.back.IsZero() {
		if w.now.Sub(x.renewed) < simLease {
			x.renewed = w.now
		}
	}
	if !x.gone && w.now.Sub(x.renewed) >= simLease-500*time.Millisecond && x.session != "" {
		w.log("%s fences itself", x.name)
		x.killAll()
		x.session = "" // the worker returns in a new session
	}
	if !x.gone && w.now.Sub(x.renewed) >= simLease {
		x.gone = true
		if c := w.store.records[recordKey{job.RecordWorker, x.name}]; c.Value != nil {
			w.store.remove(job.RecordWorker, x.name)
		}
	}
	if cut {
		return
	}
	x.report()
	if x.session == "" && w.healed {
		x.revive()
	}
	if x.session == "" {
		return
	}
	x.receive()
	x.begin()
	x.end()
	x.report()
}

func (x *simWorker) receive() {
	for ; x.read < len(x.sim.store.orders); x.read++ {
		if o := x.sim.store.orders[x.read]; o.worker == x.name && o.session == x.session {
			o.received = x.sim.now
			x.inbox = append(x.inbox, o)
		}
	}
}

// begin claims, hands back or loses assigned runs.
func (x *simWorker) begin() {
	w := x.sim
	var later []order
	for _, o := range x.inbox {
		switch {
		case !w.healed && w.chance(0.3):
			later = append(later, o)
		case o.stop:
			x.stop(o.run.Name())
		case x.draining || x.away:
			if r, err := o.run.Recall("worker has no memory"); err == nil {
				_, _ = w.store.writeRun(r)
			}
		case w.now.Sub(o.received) < o.run.Due.Sub(o.run.Armed) && (w.healed || w.chance(0.99)):
			later = append(later, o) // not due yet
		case !w.healed && w.chance(0.002): // the worker loses it
		case !w.healed && w.chance(0.02) || w.now.Sub(o.received) < o.run.Due.Sub(o.run.Armed):
			if r, err := o.run.Recall("worker has no room"); err == nil {
				_, _ = w.store.writeRun(r)
			}
		default:
			x.claim(o.run)
		}
	}
	x.inbox = later
}

func (x *simWorker) claim(r job.Run) {
	w := x.sim
	next, err := r.Claim(r.Rev, x.clock().Add(x.wrong))
	if err != nil {
		w.check.fail("%v", err)
		return
	}
	claimed, err := w.store.writeRun(next)
	if err != nil {
		return
	}
	took := 50*time.Millisecond + w.upTo(2*time.Second)
	if spec := w.spec(r.Job); spec != nil && spec.Description == "slow" && !w.healed {
		took = w.upTo(90 * time.Second)
	}
	o := job.Outcome{State: job.Succeeded}
	if !w.healed && w.chance(0.1) && r.Job != "all" {
		o = job.Outcome{State: job.Failed, Retry: w.chance(0.7), Reason: "bad luck"}
	}
	a := &simAttempt{run: claimed, ends: w.now.Add(took), outcome: o}
	a.claimed = w.check.executes(&claimed, w.now)
	x.attempts = append(x.attempts, a)
}

// stop cancels the attempt of a run if its record says so.
func (x *simWorker) stop(name string) {
	for _, a := range x.attempts {
		if r := x.sim.store.run(name); a.run.Name() == name && r != nil && r.Token == a.run.Token && r.Cancel != nil {
			a.outcome, a.ends = job.Outcome{State: job.Canceled}, x.sim.now.Add(x.sim.upTo(3*time.Second))
		}
	}
}

func (x *simWorker) end() {
	x.attempts = slices.DeleteFunc(x.attempts, func(a *simAttempt) bool {
		if a.ends.After(x.sim.now) {
			return false
		}
		a.outcome.At = x.clock().Add(x.wrong)
		a.claimed.end = x.sim.now
		x.journal = append(x.journal, a)
		return true
	})
}

// report writes the outcomes of ended attempts to records that still have the attempt's token.
func (x *simWorker) report() {
	w := x.sim
	x.journal = slices.DeleteFunc(x.journal, func(a *simAttempt) bool {
		if !w.healed && w.chance(0.2) {
			return false // it is reported later
		}
		current := w.store.run(a.run.Name())
		if current == nil || current.State != job.Running || current.Token != a.run.Token {
			return true // fenced
		}
		next, err := x.outcome(current, a.outcome)
		if err == nil {
			_, err = w.store.writeRun(next)
		}
		if err != nil {
			w.check.fail("report: %v", err)
		}
		return true
	})
}

func (x *simWorker) outcome(r *job.Run, o job.Outcome) (job.Run, error) {
	if r.Cancel == nil && o.State == job.Failed {
		if spec := x.sim.spec(r.Job); spec != nil {
			ended := policy.EndedAttempt{Spec: spec, Run: r, Outcome: o, Now: x.clock(), Random: x.sim.Float64()}
			if _, retry := policy.DecideRetry(ended); retry != nil {
				return r.Requeue(o, retry.Due, retry.Reason)
			}
		}
	}
	return r.Finish(o)
}

func (w *sim) spec(name string) *job.Spec {
	if j := w.store.job(name); j != nil {
		return j.Spec
	}
	return nil
}

// executes records that an attempt starts.
func (c *checker) executes(r *job.Run, now time.Time) *execution {
	e := &execution{run: r.Name(), begin: now, backfill: r.Kind == job.KindBackfill}
	if now.Before(r.Due.Add(-simOffset)) {
		c.fail("run %s starts at %v, before its time %v", r.Name(), now, r.Due)
	}
	spec := c.sim.spec(r.Job)
	for _, o := range c.execs[r.Job] {
		if !o.end.IsZero() && !o.end.After(now) {
			continue
		}
		if a, b := c.runs[o.run], c.runs[e.run]; a != nil && b != nil && a != b && job.Siblings(a, b) {
			continue
		}
		if o.run == e.run {
			c.fail("run %s executes twice at %v", e.run, now)
		} else if r.Kind != job.KindBackfill && !o.backfill && spec != nil && spec.Overlap != job.OverlapAllow && r.Generation == c.sim.store.job(r.Job).Generation {
			c.fail("runs %s and %s of a job that must not overlap execute at %v", o.run, e.run, now)
		}
	}
	c.execs[r.Job] = append(c.execs[r.Job], e)
	return e
}
