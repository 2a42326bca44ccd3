package planner_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// life is what happened to a run.
type life struct {
	*job.Run               // its latest record
	jitter   time.Duration // how much later than its slot it is due
	created  time.Time
	armed    []time.Time // when attempts were armed that were not taken back
	holds    []stretch   // when it was at a worker
	at       []string    // the sessions of these workers
	started  []time.Time // when attempts began
	over     []time.Time // when attempts ended
	results  []job.State // how they ended
	losses   []time.Time // when attempts lost their worker
	due      []time.Time // when the attempts after the first were due
	ready    time.Time   // when the parents ended for which its record waits
	asked    time.Time   // since when it waits for a person
	approved time.Time
	stopped  time.Time // when somebody asked to end it
	ended    time.Time // zero: it has not
}

// first returns when the run began; zero if it has not.
func (l *life) first() time.Time {
	if len(l.started) == 0 {
		return time.Time{}
	}
	return l.started[0]
}

// begin lets a worker begin to accept runs.
func (q *quiet) begin(worker string) {
	q.store.putWorker(job.Worker{Name: worker, Session: fmt.Sprintf("s%d", q.store.rev), Capacity: 1000})
}

// kill ends a worker, with all that it executes.
func (q *quiet) kill(worker string) {
	w := job.ValueOf[job.Worker](q.store.records[recordKey{job.RecordWorker, worker}])
	q.log("worker %s dies", worker)
	q.dead[w.Session] = true
	q.store.endWorker(worker)
}

// work lets the workers begin and end attempts.
func (q *quiet) work() (busy bool) {
	for r := range q.each {
		name := r.Name()
		switch {
		case r.State == job.Armed && r.Due.After(q.now), q.dead[r.Session]:
			continue
		case r.State == job.Armed && r.Due.After(r.Armed) && q.hasChanged(r):
			next, _ := r.Recall("the job was changed")
			_, _ = q.store.writeRun(next)
		case r.State == job.Armed:
			next, _ := r.Claim(r.Rev, q.now)
			_, _ = q.store.writeRun(next)
			q.ends[name] = q.now.Add(q.takes(r))
		case r.State == job.Running && !q.endOf(r).After(q.now):
			next, err := q.outcome(r)
			if err != nil {
				panic(err)
			}
			_, _ = q.store.writeRun(next)
		default:
			continue
		}
		busy = true
		q.scan()
	}
	return busy
}

// hasChanged reports whether the job of r was changed since r was armed, or all jobs are paused. Then its worker hands it back.
func (q *quiet) hasChanged(r *job.Run) bool {
	gate := q.store.records[recordKey{job.RecordGate, ""}]
	return q.store.job(r.Job).Rev > r.Rev || q.store.gate().Paused != nil && gate.Rev > r.Rev
}

// endOf returns when the present attempt ends, which may have been asked to.
func (q *quiet) endOf(r *job.Run) time.Time {
	at := q.ends[r.Name()]
	if r.Cancel == nil {
		return at
	}
	return job.Earlier(at, r.Cancel.At.Add(time.Duration(q.dice(r).Int64N(int64(3*time.Second)))))
}

// dice returns the random numbers of an attempt.
func (q *quiet) dice(r *job.Run) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", r.Name(), r.Attempt)
	return rand.New(rand.NewPCG(q.seed, h.Sum64()))
}

// takes returns how long an attempt takes: often less than a period of the jobs, sometimes several.
func (q *quiet) takes(r *job.Run) time.Duration {
	d := q.dice(r)
	share := []float64{0.02, 0.1, 0.4, 0.8, 1.3, 2.6, 5}[d.IntN(7)]
	if strings.HasPrefix(r.Job, "b") || strings.HasPrefix(r.Job, "c") {
		share /= 3
	}
	return time.Duration(share*float64(20*time.Second)) + time.Duration(d.Int64N(int64(2*time.Second)))
}

func (q *quiet) outcome(r *job.Run) (job.Run, error) {
	d := q.dice(r)
	o := job.Outcome{State: job.Succeeded, At: q.now}
	switch _ = d.IntN(7); {
	case r.Cancel != nil:
		o.State = job.Canceled
		return r.Finish(o)
	case d.Float64() < 0.3:
		o.State, o.Retry, o.Reason = job.Failed, true, "exit code 1"
		ended := policy.EndedAttempt{Spec: q.store.job(r.Job).Spec, Run: r, Outcome: o, Now: q.now, Random: d.Float64()}
		var again *policy.Retry
		if o, again = policy.DecideRetry(ended); again != nil {
			return r.Requeue(o, again.Due, again.Reason)
		}
	}
	return r.Finish(o)
}

// scan takes in the changes of runs since the last call.
func (q *quiet) scan() {
	for ; q.scanned < len(q.store.log); q.scanned++ {
		r := job.ValueOf[job.Run](q.store.log[q.scanned])
		if r == nil {
			continue
		}
		q.log("%s", describe(r))
		l := q.lives[r.Name()]
		if l == nil {
			l = &life{created: q.now, Run: &job.Run{}, jitter: q.jitter(r.Job)}
			q.lives[r.Name()] = l
		}
		l.note(r, q.now)
	}
}

// note takes in a new record of the run.
func (l *life) note(r *job.Run, now time.Time) {
	was := l.Run
	l.Run = r
	at := func(r *job.Run) bool { return r.State == job.Armed || r.State == job.Running }
	if n := len(l.holds); at(was) && (!at(r) || r.State == job.Armed) {
		l.holds[n-1].to = now
	}
	if at(r) && (!at(was) || r.State == job.Armed) {
		l.holds, l.at = append(l.holds, stretch{now, never}), append(l.at, r.Session)
	}
	switch {
	case r.State == job.Armed && was.State != job.Armed:
		l.armed = append(l.armed, now)
	case r.State == job.Running && was.State != job.Running:
		l.started = append(l.started, now)
	case was.State == job.Armed && r.State == job.Armed && was.Session != r.Session:
		l.armed[len(l.armed)-1] = now
	case was.State == job.Armed && r.State != job.Armed && r.State != job.Running: // taken back
		l.armed = l.armed[:len(l.armed)-1]
	}
	if n := len(r.Attempts); n > len(was.Attempts) && r.Attempts[n-1].State == job.Lost {
		l.losses = append(l.losses, now)
	}
	if was.State == job.Running && r.State != job.Running {
		l.results = append(l.results, r.Attempts[len(r.Attempts)-1].State)
		if l.over = append(l.over, now); !r.State.Terminal() {
			l.due = append(l.due, job.Later(r.Due, now)) // a lost attempt is repeated at once
		}
	}
	if was.AwaitsParents() && !r.AwaitsParents() {
		l.ready = now
	}
	if r.AwaitsApproval() && l.asked.IsZero() {
		l.asked = now
	}
	if a := r.Approval; a != nil && a.Approved && l.approved.IsZero() {
		l.approved = now
	}
	if r.Cancel != nil && l.stopped.IsZero() {
		l.stopped = now
	}
	if r.State.Terminal() {
		l.ended = now
	}
}
