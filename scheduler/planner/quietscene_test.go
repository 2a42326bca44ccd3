package planner_test

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// scene defines the jobs of a quiet cluster, disturbs it until a time, and lets it become idle.
func (q *quiet) scene(until time.Time) error {
	names := []string{"a", "z", "b", "c", "d"}
	every := job.Duration(10+5*q.IntN(5)) * job.Duration(time.Second)
	for _, name := range names[:2] {
		spec := job.Spec{Every: every, End: &until, Missed: job.MissedPolicies()[q.IntN(3)], Overlap: job.OverlapPolicies()[q.IntN(4)]}
		if q.chance(0.2) {
			spec.MissedWindow = job.Duration(q.upTo(time.Minute))
		}
		if q.chance(0.2) {
			spec.MissedLimit = 1 + q.IntN(4)
		}
		if q.chance(0.3) {
			spec.Jitter = job.Duration(1+q.IntN(40)) * job.Duration(time.Second)
		}
		q.define(name, q.sometimes(spec))
	}
	if q.chance(0.5) {
		for name, spec := range quietLimits {
			l := job.Limit{Name: name, Generation: 1, Updated: q.now, Spec: spec}
			q.store.put(job.Change{Kind: job.RecordLimit, Name: name, Value: &l})
		}
		for _, name := range []string{"l", "m", "n"} {
			spec := job.Spec{
				Every: 20 * job.Duration(time.Second), End: &until, Missed: job.MissedPolicies()[q.IntN(3)],
				Overlap: []job.Overlap{job.OverlapQueue, job.OverlapSkip, job.OverlapReplace}[q.IntN(3)], Priority: q.IntN(2),
				Limits: [][]string{{"one"}, {"few"}, {"one", "few"}, {"slow"}, {"one", "slow"}}[q.IntN(5)],
			}
			q.define(name, q.sometimes(spec))
			names = append(names, name)
		}
	}
	q.names = names
	when := func() job.When { return job.Whens()[q.IntN(3)] }
	q.define("b", q.sometimes(job.Spec{After: []job.After{{Job: "a", When: when()}}, Overlap: q.stepOverlap()}))
	after := [][]job.After{{{Job: "a", When: when()}}, {{Job: "a", When: when()}, {Job: "b", When: when()}}, {{Job: "a", When: when()}, {Job: "z", When: when()}}}[q.IntN(3)]
	q.define("c", q.sometimes(job.Spec{After: after, Overlap: q.stepOverlap()}))
	q.define("d", q.sometimes(job.Spec{After: []job.After{{Job: "b", When: when()}, {Job: "c", When: when()}}, Overlap: q.stepOverlap()}))
	q.begin("w")
	q.begin("v")
	q.lead()
	q.outages(until)
	q.deaths(until)
	q.people(names, until)
	q.at(until, func() {
		q.lead()
		q.pause("", false)
		for _, name := range names {
			q.pause(name, false)
		}
	})
	for at := until; at.Before(until.Add(2 * time.Hour)); at = at.Add(time.Minute) {
		q.at(at, func() { q.approveOne(true) })
	}
	return q.run(until.Add(3 * time.Hour))
}

func (q *quiet) stepOverlap() job.Overlap {
	return []job.Overlap{job.OverlapQueue, job.OverlapAllow}[q.IntN(2)]
}

// sometimes adds keys to spec.
func (q *quiet) sometimes(spec job.Spec) job.Spec {
	if q.chance(0.4) {
		spec.Retry = &job.Retry{
			Max: 1 + q.IntN(3), Backoff: job.BackoffConstant, Jitter: job.JitterNone, Min: job.Duration(q.upTo(15 * time.Second)),
			MaxDelay: job.Duration(time.Minute),
		}
	}
	if q.chance(0.15) {
		spec.Approve = &job.Approve{}
		if q.chance(0.7) {
			spec.Approve.Within = job.Duration(time.Second + q.upTo(40*time.Second))
		}
	}
	if q.chance(0.3) {
		spec.Delivery = job.AtMostOnce
	}
	if q.chance(0.2) {
		spec.StartWithin = job.Duration(time.Second + q.upTo(50*time.Second))
	}
	return q.finishBy(q.throttled(spec))
}

var quietLimits = map[string]job.LimitSpec{"one": {Concurrent: 1}, "few": {Concurrent: 2}, "slow": {Rate: job.Rate{Count: 8, Per: time.Minute}}}

// outages plans when no replica leads.
func (q *quiet) outages(until time.Time) {
	if q.chance(0.3) {
		return
	}
	for at := q.now.Add(q.upTo(3 * time.Minute)); at.Before(until); at = at.Add(q.upTo(4 * time.Minute)) {
		q.at(at, q.crash)
		at = at.Add(q.upTo([]time.Duration{time.Second, 20 * time.Second, 2 * time.Minute}[q.IntN(3)]))
		q.at(at, q.lead)
	}
}

// deaths plans when one of the workers dies.
func (q *quiet) deaths(until time.Time) {
	if q.chance(0.6) {
		return
	}
	for at := q.now.Add(q.upTo(2 * time.Minute)); at.Before(until); at = at.Add(q.upTo(3 * time.Minute)) {
		q.at(at, func() { q.kill("v") })
		at = at.Add(q.upTo(time.Minute))
		q.at(at, func() { q.begin("v") })
	}
}

// people plans what clients do.
func (q *quiet) people(names []string, until time.Time) {
	often := []float64{0, 0.3, 1}[q.IntN(3)]
	for at := q.now.Add(time.Second); at.Before(until); at = at.Add(q.upTo(20 * time.Second)) {
		name := names[q.IntN(len(names))]
		if q.chance(0.1) {
			name = ""
		}
		if q.chance(0.4) {
			q.at(at, func() { q.approveOne(q.chance(0.8)) })
			continue
		}
		if !q.chance(often) {
			continue
		}
		switch q.IntN(7) {
		case 0:
			q.at(at, func() { q.pause(name, true) })
			q.at(at.Add(q.upTo(time.Minute)), func() { q.pause(name, false) })
		case 1:
			if name != "" {
				q.at(at, func() { q.submit(name) })
			}
		case 2:
			q.at(at, func() { q.cancelOne(names) })
		case 3:
			if name != "" {
				q.at(at, func() { q.start(name) })
			}
		case 4:
			q.at(at, q.resume)
		case 5:
			q.at(at, func() { q.backfill("z") })
			q.at(at, func() { q.backfill("a") })
		case 6:
			q.at(at, func() { q.edit(name) })
		}
	}
}
