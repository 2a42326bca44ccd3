package planner_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// defineJobs defines several jobs. operate leaves the job all alone.
func (w *sim) defineJobs() {
	w.defineLimits()
	// Its runs are short, and every slot has to run.
	w.define("all", job.Spec{Every: job.Duration(10 * time.Second), Missed: job.MissedAll, MissedLimit: 1000})
	for i := range 1 + w.n(6) {
		spec := job.Spec{
			Missed:   job.MissedPolicies()[w.n(3)],
			Overlap:  job.OverlapPolicies()[w.n(4)],
			Delivery: job.Deliveries()[w.n(2)],
			Priority: w.n(3),
			Retry:    &job.Retry{Max: w.n(4), MaxDelay: job.Duration(20 * time.Second)},
		}
		if w.chance(0.3) {
			spec.Jitter = job.Duration(w.upTo(30 * time.Second).Truncate(time.Millisecond))
		}
		if w.chance(0.3) {
			spec.MissedLimit = 1 + w.n(5)
		}
		if w.chance(0.3) {
			spec.MissedWindow = job.Duration(w.upTo(time.Minute))
		}
		if w.chance(0.3) {
			spec.Description = "slow"
		}
		if w.chance(0.25) {
			spec.Approve = &job.Approve{Within: job.Duration(time.Second + w.upTo(time.Minute))}
		}
		if w.chance(0.2) {
			spec.StartWithin = job.Duration(2*time.Second + w.upTo(time.Minute))
		}
		if w.chance(0.3) {
			spec.FinishBy = w.finishBy()
		}
		w.bound(&spec)
		w.demand(&spec)
		name := fmt.Sprintf("j%d", i)
		for ok := false; !ok; ok = usable(name, spec) {
			w.reschedule(&spec)
		}
		w.jobs = append(w.jobs, name)
		w.define(name, spec)
	}
}

func (w *sim) define(name string, spec job.Spec) {
	spec.Command = []string{"true"}
	now := w.apiClock()
	w.store.putJob(job.Job{
		Name: name, Generation: 1, Created: w.now, Since: now, SinceReason: job.SinceCreated, SinceGeneration: 1, Scheduled: now, Spec: new(spec.WithDefaults()),
	})
}

// apiClock returns the time of a random replica, which answers a client.
func (w *sim) apiClock() time.Time { return w.replicas[w.n(len(w.replicas))].clock().UTC() }

// operate performs a random operation of a client.
func (w *sim) operate() {
	name := w.jobs[w.n(len(w.jobs))]
	j := w.store.job(name)
	if _, broken := w.broken[name]; broken {
		w.repair()
		return
	}
	if j == nil {
		w.log("create %s", name)
		w.define(name, w.check.specs[name])
		return
	}
	next := *j
	next.Spec = new(*j.Spec)
	switch w.n(16) {
	case 13, 14, 15:
		w.approve()
	case 0:
		w.log("pause %s", name)
		now := w.apiClock()
		next, _ = next.SetPause(&job.Pause{At: now}, now)
		w.store.putJob(next)
	case 1, 2, 3:
		if j.Paused != nil {
			w.log("resume %s", name)
			w.resume(j)
		}
	case 4:
		spec := *j.Spec
		switch w.n(3) {
		case 0:
			spec.Start, spec.End = nil, new(w.now.Add(w.upTo(2*time.Minute)))
		case 1:
			spec.Start, spec.End = new(w.now.Add(w.upTo(time.Minute)-30*time.Second)), nil
		default:
			spec.Start, spec.End = nil, nil
			w.reschedule(&spec)
		}
		w.redefine(j, spec)
	case 5:
		w.redefine(j, w.edited(*j.Spec))
	case 6:
		if w.chance(0.5) {
			w.log("delete %s", name)
			w.check.specs[name] = *j.Spec
			w.store.deleteJob(name)
		}
	case 7:
		if w.garbled.gate {
			w.repairGate()
		} else if w.store.gate().Paused == nil && w.chance(0.3) {
			w.log("pause all")
			now := w.apiClock()
			g, _ := w.store.gate().SetPause(&job.Pause{At: now}, now)
			w.store.put(job.Change{Kind: job.RecordGate, Value: &g})
		} else {
			w.resumeGate()
		}
	case 8, 9:
		w.submit(name)
	case 10:
		w.orderBackfill(j)
	default:
		if runs := w.store.runs(); len(runs) > 0 {
			if r := runs[w.n(len(runs))]; r.Job != "all" {
				if next, err := r.Stop(job.Cancel{At: w.now}); err == nil {
					_ = w.store.stopRun(next)
				}
			}
		}
	}
}

// orderBackfill orders or stops a backfill of some slots before the job. A job that was created again is left out, because the
// checker knows it as the same job.
func (w *sim) orderBackfill(j *job.Job) {
	if _, again := w.check.specs[j.Name]; again || w.garbled.backfills[j.Name] {
		return
	}
	if old := w.store.backfill(j.Name); old != nil && old.State == job.BackfillRunning {
		if w.chance(0.3) {
			b := old.Stop("by a client", w.now)
			w.store.put(job.Change{Kind: job.RecordBackfill, Name: j.Name, Value: &b})
		}
		return
	}
	from := j.Created.Add(-w.upTo(2 * time.Minute))
	b := job.Backfill{
		From: from, To: from.Add(w.upTo(3 * time.Minute)), Created: w.now, Concurrency: 1 + w.n(4),
		Order: []job.BackfillOrder{job.OldestFirst, job.NewestFirst}[w.n(2)],
	}
	w.log("backfill %s from %v to %v", j.Name, b.From, b.To)
	w.store.orderBackfill(j, b)
}

// redefine replaces the job's definition as a client does.
func (w *sim) redefine(j *job.Job, spec job.Spec) {
	if !usable(j.Name, spec) {
		return
	}
	next, changed := job.Define(j, j.Name, spec, j.Origin, w.apiClock())
	if !changed {
		return
	}
	w.log("edit %s: every %v, schedule %q, jitter %v, overlap %s, missed %s, delivery %s, limits %v, rate %v", j.Name, spec.Every,
		spec.Schedule, spec.Jitter, spec.Overlap, spec.Missed, spec.Delivery, spec.Limits, spec.Rate)
	w.store.putJob(next)
}

// edited returns spec with another policy.
func (w *sim) edited(spec job.Spec) job.Spec {
	switch w.n(9) {
	case 8:
		spec.Workers, spec.Resources, spec.Params = nil, nil, nil
		w.demand(&spec)
	case 7:
		if spec.Approve = nil; w.chance(0.5) && !spec.OnEveryWorker() {
			spec.Approve = &job.Approve{Within: job.Duration(time.Second + w.upTo(time.Minute))}
		}
	case 0:
		spec.Priority = w.n(3)
	case 1:
		if spec.Overlap = job.OverlapPolicies()[w.n(4)]; spec.Overlap == job.OverlapAllow {
			spec.Limits, spec.Rate, spec.Breaker = nil, job.Rate{}, nil // see bound
		}
	case 2:
		spec.Missed = job.MissedPolicies()[w.n(3)]
	case 3:
		spec.Delivery = job.Deliveries()[w.n(2)]
	case 4:
		spec.Jitter = job.Duration(w.upTo(40 * time.Second).Truncate(time.Millisecond))
	case 5:
		spec.Retry = &job.Retry{Max: w.n(4), MaxDelay: job.Duration(20 * time.Second)}
	default:
		spec.Limits, spec.Rate, spec.Breaker = nil, job.Rate{}, nil
		w.bound(&spec)
	}
	return spec
}

func (w *sim) submit(name string) {
	w.ids++
	at := w.apiClock()
	r := job.Run{
		Job: name, ID: fmt.Sprintf("m%d", w.ids), Kind: job.KindManual, Slot: at, Due: at, State: job.Pending, Created: at,
	}
	if w.chance(0.3) {
		r.Kind, r.Reason, r.Due = job.KindDelayed, job.ReasonNotYet, at.Add(w.upTo(time.Minute))
		if soon := at.Add(time.Minute); w.chance(0.5) && soon.Before(w.end) { // far in the future, and due before the simulation ends
			r.Due = soon.Add(w.upTo(w.end.Sub(soon)))
		}
	}
	if w.chance(0.2) {
		r.Job, r.Spec = job.AdHoc, &job.Spec{Command: []string{"true"}}
	}
	_, _ = w.store.writeRun(r)
}

func (w *sim) resume(j *job.Job) {
	next, _ := j.SetPause(nil, w.apiClock())
	w.store.putJob(next)
}

func (w *sim) resumeGate() {
	if w.store.gate().Paused != nil {
		w.log("resume all")
		g, _ := w.store.gate().SetPause(nil, w.apiClock())
		w.store.put(job.Change{Kind: job.RecordGate, Value: &g})
	}
}

func (w *sim) resumeAll() {
	w.resumeGate()
	names := w.jobs
	if w.flow != nil {
		names = append(slices.Concat(names, w.flow.jobs), other)
	}
	for _, name := range names {
		if j := w.store.job(name); j != nil && j.Paused != nil {
			w.resume(j)
		}
	}
}

// tamper changes records by hand.
func (w *sim) tamper() {
	name := w.jobs[w.n(len(w.jobs))]
	if w.store.job(name) == nil {
		return
	}
	switch w.n(5) {
	case 4:
		for _, c := range w.store.log {
			cursor := job.ValueOf[job.Cursor](c)
			if cursor != nil && c.Name == name && cursor.After.After(w.store.job(name).Since) && w.chance(0.3) {
				w.log("cursor of %s is put back to %v", name, cursor.After)
				w.tampered[name] = true
				w.store.put(c)
				break
			}
		}
	case 0:
		w.log("cursor of %s is removed", name)
		w.tampered[name] = true
		w.store.remove(job.RecordCursor, name)
	case 1:
		w.log("cursor of %s is garbage", name)
		w.tampered[name] = true
		w.store.putGarbage(job.RecordCursor, name)
	case 2:
		w.log("%s is garbage", name)
		w.broken[name] = *w.store.job(name)
		w.store.putGarbage(job.RecordJob, name)
	case 3:
		slot := w.now.Add(w.upTo(20 * time.Second)).Truncate(time.Second)
		if id := name + "/" + job.SlotID(slot); w.store.records[recordKey{job.RecordRun, id}].Rev == 0 {
			w.log("%s is garbage", id)
			w.store.putGarbage(job.RecordRun, id)
			w.check.garbage[id] = true
		}
	}
}

// repair restores the definitions that were overwritten.
func (w *sim) repair() {
	for name, j := range w.broken {
		w.log("%s is repaired", name)
		w.store.putJob(j)
	}
	clear(w.broken)
}
