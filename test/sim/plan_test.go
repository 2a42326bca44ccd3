package sim

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
	"github.com/rota-scheduler/rota/test/history"
)

// plan has all choices that a seed makes before the start.
type plan struct {
	seed      uint64
	machines  []machineSpec
	retention planner.Retention
	ahead     time.Duration // dispatch.arm_ahead
	jobs      []history.Job
	limits    map[string]job.LimitSpec
	work      map[string]work // work of each job
	began     time.Time       // when the machines are switched on
	windows   []window        // when the machines are on; the last window ends with the schedules
	gap       time.Duration   // average time between two faults
	liars     bool            // the clocks of workers are clearly wrong
	clocksSet bool            // the clocks of replicas are set wrong, and right again
}

// window is a time in which the machines are on.
type window struct{ from, to time.Time }

// usualOffset is the largest tolerated offset of a replica's clock.
const usualOffset = 150 * time.Millisecond

type machineSpec struct {
	replica  bool
	capacity int
	offset   time.Duration // offset of its clock
	lies     time.Duration // offset of its worker's clock
}

func (p *plan) end() time.Time { return p.windows[len(p.windows)-1].to }

// newPlan returns the plan of a seed: usually a storm of some minutes, and every fifth a schedule of months.
func newPlan(seed uint64) plan {
	d := throw(seed, "plan")
	p := plan{seed: seed, work: make(map[string]work), limits: limits, liars: d.chance(0.2), clocksSet: d.chance(0.3)}
	p.gap = d.between(1500*time.Millisecond, 15*time.Second)
	// At most the slack of the judge: without a leader, a pause does not withdraw armed runs.
	p.ahead = oneOf(throw(seed, "ahead"), 0, 500*time.Millisecond, history.DefaultSlack)
	p.addMachines(d)
	if d.chance(0.25) {
		p.retention = planner.Retention{Success: 5, Failed: 5, MaxAge: 3 * time.Minute}
	}
	if seed%5 == 4 {
		p.months(d)
	} else {
		p.minutes(d)
	}
	return p
}

func (p *plan) addMachines(d dice) {
	for i := range 3 + 1 + d.IntN(3) {
		m := machineSpec{replica: i < 3, offset: d.either(usualOffset), capacity: oneOf(d, 1, 3, 64, 64)}
		if m.replica && d.chance(0.3) {
			m.capacity = 0
		}
		if p.liars {
			m.lies = d.either(45 * time.Second)
		}
		p.machines = append(p.machines, m)
	}
}

// minutes plans a storm of some minutes over short intervals.
func (p *plan) minutes(d dice) {
	p.began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(d.upTo(365 * 24 * time.Hour)).Truncate(time.Second)
	from := p.began.Add(time.Second)
	p.windows = []window{{from, from.Add(d.between(80*time.Second, 3*time.Minute)).Truncate(time.Second)}}

	second := time.Second
	quick := work{least: time.Millisecond, most: 300 * time.Millisecond}
	long := work{least: 100 * time.Millisecond, most: 3 * time.Second, slow: 25 * time.Second, slowShare: 0.1}
	all := []struct {
		name string
		job  history.Job
		work work
	}{
		{"all", history.Job{Spec: job.Spec{Missed: job.MissedAll}}, quick},
		{"latest", history.Job{Spec: job.Spec{Missed: job.MissedLatest}}, quick},
		{"none", history.Job{Spec: job.Spec{Missed: job.MissedNone}}, quick},
		{"window", history.Job{Spec: job.Spec{Missed: job.MissedAll, MissedWindow: job.Duration(20 * second), MissedLimit: 5}}, quick},
		{"allow", history.Job{Spec: job.Spec{Missed: job.MissedAll, Overlap: job.OverlapAllow}}, long},
		{"queue", history.Job{Spec: job.Spec{Missed: job.MissedAll, Overlap: job.OverlapQueue}}, long},
		{"skip", history.Job{Spec: job.Spec{Missed: job.MissedAll}}, long},
		{"replace", history.Job{Spec: job.Spec{Overlap: job.OverlapReplace}, MayFail: true}, long},
		{"once", history.Job{Spec: job.Spec{Missed: job.MissedAll, Delivery: job.AtMostOnce}}, quick},
		{"once-allow", history.Job{Spec: job.Spec{Delivery: job.AtMostOnce, Overlap: job.OverlapAllow}}, long},
		{"failing", history.Job{Spec: job.Spec{
			Missed: job.MissedAll, Retry: &job.Retry{Max: 4, Min: job.Duration(200 * time.Millisecond), MaxDelay: job.Duration(5 * second)},
		}, MayFail: true}, work{least: time.Millisecond, most: second, failing: 0.4}},
		{"timeout", history.Job{Spec: job.Spec{
			Timeout: job.Duration(2 * second), KillGrace: job.Duration(second), Retry: &job.Retry{Max: 1},
		}, MayFail: true}, work{least: time.Millisecond, most: 4 * second}},
		{"jitter", history.Job{Spec: job.Spec{Jitter: job.Duration(4 * second), Overlap: job.OverlapQueue}}, quick},
	}
	d.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	guard := p.guards()
	for _, a := range all[:4+d.IntN(4)] {
		guard(a.name, &a.job.Spec)
		every := oneOf(d, 2*second, 5*second, 10*second, 30*second)
		a.job.Spec.Every = job.Duration(every)
		if d.chance(0.15) {
			a.job.Spec.Every, a.job.Spec.Schedule = 0, []string{"* * * * *"}
		}
		p.add(d, a.name, a.job, a.work)
	}
	p.add(d, asked, history.Job{Spec: job.Spec{Overlap: oneOf(d, job.OverlapPolicies()...)}, MayFail: true}, quick)
	if own := throw(p.seed, everywhere); own.chance(0.5) { // dice of its own: the other jobs of a seed stay the same
		spec := job.Spec{Every: job.Duration(oneOf(own, 3*second, 5*second, 10*second)), Missed: oneOf(own, job.MissedPolicies()...),
			Overlap: oneOf(own, job.OverlapPolicies()...), Workers: map[string]string{job.EveryWorker: "true"}}
		p.add(own, everywhere, history.Job{Spec: spec, MayFail: true}, work{least: time.Millisecond, most: 2 * second, failing: 0.05})
	}
	p.add(d, edited, history.Job{Spec: job.Spec{Every: job.Duration(5 * second)}, Edited: true, MayFail: true}, quick)
	p.workflows()
	p.people()
}

// Jobs that callers change.
const (
	asked  = "asked"  // for submissions
	edited = "edited" // changed, paused, deleted and created again

	everywhere = "everywhere" // runs on every worker; its runs and their copies are canceled
)

// months plans daily and hourly schedules over months. The cluster is on for some minutes now and then: around changes of
// clocks, and at other times.
func (p *plan) months(d dice) {
	hour, day := time.Hour, 24*time.Hour
	p.began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(d.upTo(300 * day)).Truncate(time.Hour)
	changes := []time.Time{
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), // Berlin
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), // New York
		time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC), // Lord Howe
	}
	at := p.began
	for range 3 + d.IntN(4) {
		at = at.Add(d.upTo(oneOf(d, 2*hour, day, 20*day)))
		if change := oneOf(d, changes...); change.After(at) && d.chance(0.4) {
			at = change.Add(-d.upTo(time.Minute))
		}
		from := at
		at = from.Add(d.between(time.Minute, 3*time.Minute)).Truncate(time.Second)
		p.windows = append(p.windows, window{from, at})
	}
	dense := p.windows[len(p.windows)-1].from.Add(-d.upTo(6 * hour)) // start of the slots by the minute
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}
	quick := work{least: time.Millisecond, most: 2 * time.Second}
	for i, s := range []job.Spec{
		{Schedule: []string{"0 * * * *"}, Missed: job.MissedLatest},
		{Schedule: []string{"*/30 * * * *"}, Missed: job.MissedAll, MissedLimit: 10},
		{Schedule: []string{"30 2 * * *"}, Missed: job.MissedAll, DST: &job.DST{Gap: "run", Fold: "both"}},
		{Schedule: []string{"15 1 * * *", "45 2 * * *"}, Missed: job.MissedLatest, DST: &job.DST{Gap: "skip", Fold: "last"}},
		{Schedule: []string{"0 3 1 * *"}, Missed: job.MissedAll},
		{Every: job.Duration(hour), Missed: job.MissedAll, MissedWindow: job.Duration(6 * hour)},
		{Every: job.Duration(20 * time.Second), Missed: job.MissedAll, MissedLimit: 20, Start: &dense},
		{Every: job.Duration(7 * day), Missed: job.MissedNone},
	} {
		s.Timezone, s.Overlap = oneOf(d, zones...), oneOf(d, job.OverlapSkip, job.OverlapAllow, job.OverlapQueue)
		if d.chance(0.3) {
			s.Jitter = job.Duration(30 * time.Second)
		}
		if d.chance(0.7) {
			p.add(d, fmt.Sprintf("calendar-%d", i), history.Job{Spec: s}, quick)
		}
	}
	p.add(d, "minutely", history.Job{Spec: job.Spec{Every: job.Duration(10 * time.Second), Start: &dense}}, quick)
}

// add adds a job. Its schedule ends with the last window.
func (p *plan) add(d dice, name string, j history.Job, how work) {
	end := p.end()
	j.Name, j.Effects = name, true
	if j.Spec.Scheduled() {
		j.Spec.End = &end
	}
	if j.Spec.Timeout == 0 {
		j.Spec.Timeout = job.Duration(time.Minute)
	}
	if j.Spec.KillGrace == 0 {
		j.Spec.KillGrace = job.Duration(d.upTo(3*time.Second).Round(time.Millisecond) + time.Millisecond)
	}
	j.Spec.Command = []string{"true"}
	j.Spec = j.Spec.WithDefaults()
	// A run that has lost too many workers is abandoned. With a wrong clock, the judge cannot see the fault in which an
	// at-most-once run was lost.
	j.MayFail = j.MayFail || how.slow > 0 || p.liars && j.Spec.Delivery == job.AtMostOnce
	p.jobs = append(p.jobs, j)
	p.work[name] = how
}
