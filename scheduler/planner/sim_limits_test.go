package planner_test

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// simLimits are the limits of every simulation, until a client changes them. Their rates are slow, so that different clocks cannot hide a mistake.
var simLimits = map[string]job.LimitSpec{
	"few":  {Concurrent: 2},
	"one":  {Concurrent: 1},
	"slow": {Concurrent: 3, Rate: job.Rate{Count: 30, Per: time.Minute}},
}

func (w *sim) defineLimits() {
	for name, spec := range simLimits {
		w.putLimit(name, spec)
	}
}

// bound gives a job limits, a rate or a breaker at random.
func (w *sim) bound(spec *job.Spec) {
	if spec.Overlap == job.OverlapAllow {
		return // the runs of such a job would pile up for ever
	}
	for _, name := range []string{"few", "one", "slow"} {
		if w.chance(0.2) {
			spec.Limits = append(spec.Limits, name)
		}
	}
	if w.chance(0.2) {
		spec.Rate = job.Rate{Count: 20, Per: time.Minute}
	}
	if w.chance(0.2) {
		spec.Breaker = &job.Breaker{Window: 3, FailureRatio: 0.3, OpenFor: job.Duration(5 * time.Second)}
	}
}

// limitChecker checks that limits and rates hold under every leader.
type limitChecker struct {
	specs  map[string]job.LimitSpec    // of the limits that exist
	tokens map[string]int64            // the last armed revision of each limit
	begins map[string]map[string]begin // when attempts start, by rate and run
}

// begin is the start of an attempt. interval is that of its rate then.
type begin struct {
	at       time.Time
	interval time.Duration
}

// define takes in a change of a limit, in the order of the log.
func (l *limitChecker) define(ch job.Change) {
	if ch.Kind != job.RecordLimit || ch.Bad != nil { // while it is unreadable, its last definition applies
		return
	}
	if l.specs == nil {
		l.specs = make(map[string]job.LimitSpec)
	}
	if delete(l.specs, ch.Name); !ch.Deleted() {
		l.specs[ch.Name] = job.ValueOf[job.Limit](ch).Spec
	}
}

func (l *limitChecker) change(c *checker, old, r *job.Run) {
	if l.tokens == nil {
		l.tokens, l.begins = make(map[string]int64), make(map[string]map[string]begin)
	}
	paces := make(map[string]job.Rate)
	if spec := c.sim.spec(r.Job); spec != nil && r.Spec == nil {
		paces["job "+r.Job] = spec.Rate
	}
	if old != nil && old.State == job.Armed && (r.State == job.Pending || r.State == job.Canceled) {
		for pace := range l.begins {
			delete(l.begins[pace], r.Name())
		}
	}
	if r.State != job.Armed {
		return
	}
	if spec := c.sim.spec(r.Job); spec != nil && r.Spec == nil && !slices.Equal(spec.Limits, r.Limits) {
		c.fail("run %s holds the limits %v, but its job names %v", r.Name(), r.Limits, spec.Limits)
	}
	for _, name := range r.Limits {
		if last := l.tokens[name]; r.Rev <= last {
			c.fail("run %s: token %d after %d of limit %s", r.Name(), r.Rev, last, name)
		}
		l.tokens[name] = r.Rev
		held := 0
		for _, o := range c.runs {
			if (o.State == job.Armed || o.State == job.Running) && slices.Contains(o.Limits, name) {
				held++
			}
		}
		limit, exists := l.specs[name]
		if !exists {
			c.fail("run %s is armed, but limit %s does not exist", r.Name(), name)
		}
		if most := limit.Concurrent; held > most {
			c.fail("limit %s is held by %d runs, at most %d may, with run %s", name, held, most, r.Name())
		}
		paces["limit "+name] = limit.Rate
	}
	for pace, rate := range paces {
		if !rate.IsZero() {
			l.starts(c, pace, rate, r)
		}
	}
}

// starts checks that an attempt starts at least one interval from the others of its rate. If an attempt ended before a leader
// saw it, the leader knows only its worker's clock. A slower rate says nothing about the starts before it.
func (l *limitChecker) starts(c *checker, pace string, rate job.Rate, r *job.Run) {
	const slack = 3 * simOffset
	at := job.Later(r.Due, r.Armed)
	for run, other := range l.begins[pace] {
		interval := min(rate.Interval(), other.interval)
		if apart := at.Sub(other.at).Abs(); run != r.Name() && apart < interval-slack {
			c.fail("%s: runs %s and %s start within %v at %v", pace, run, r.Name(), apart, at)
		}
	}
	if l.begins[pace] == nil {
		l.begins[pace] = make(map[string]begin)
	}
	l.begins[pace][r.Name()] = begin{at, rate.Interval()}
}
