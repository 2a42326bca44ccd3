package sim

import (
	"context"
	"errors"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// limits are the limits that jobs name.
var limits = map[string]job.LimitSpec{
	"single": {Concurrent: 1},
	"paced":  {Concurrent: 2, Rate: job.Rate{Count: 1, Per: time.Second}},
}

// Counters of the effects of limits, rates and breakers.
const (
	heldAtLimit   = "runs that held a limit"
	waitedAtLimit = "runs that waited for a limit"
	waitedAtRate  = "runs that waited for a rate"
	waitedBreaker = "runs that waited for a breaker"
)

var guarded = []string{heldAtLimit, waitedAtLimit, waitedAtRate, waitedBreaker, "limits deleted and defined again"}

// guards returns a function that gives some jobs limits, rates and breakers. Jobs with long work get none, or all would wait
// for them.
func (p *plan) guards() func(name string, s *job.Spec) {
	d := throw(p.seed, "guards")
	return func(name string, s *job.Spec) {
		switch name {
		case "all", "latest", "none", "window", "once", "jitter", "failing":
		default:
			return
		}
		if d.chance(0.4) {
			s.Limits = oneOf(d, []string{"single"}, []string{"paced"}, []string{"paced", "single"})
		}
		if d.chance(0.15) {
			s.Rate = job.Rate{Count: oneOf(d, 10, 20), Per: time.Minute}
		}
		if name == "failing" && d.chance(0.5) {
			s.Breaker = &job.Breaker{Window: 10, FailureRatio: 0.3, OpenFor: job.Duration(d.between(time.Second, 20*time.Second))}
		}
	}
}

// limit defines a limit, and retries until it is written.
func (c *caller) limit(ctx context.Context, name string) error {
	for {
		var known *job.Limit
		switch l, err := c.store.Limit(ctx, name); {
		case err == nil:
			known = &l
		case !errors.Is(err, job.ErrNotFound):
			if ctx.Err() != nil {
				return err
			}
			continue
		}
		next, changed := job.DefineLimit(known, name, c.world.plan.limits[name], job.Origin{Kind: job.OriginAPI}, time.Now().UTC())
		if !changed {
			return nil
		}
		if _, err := c.store.PutLimit(ctx, next); !errors.Is(err, job.ErrConflict) {
			return err
		}
	}
}

// unlimit deletes a limit and defines it again.
func (c *caller) unlimit(ctx context.Context, d dice) error {
	name := oneOf(d, "paced", "single")
	l, err := c.store.Limit(ctx, name)
	if err == nil {
		err = c.store.DeleteLimit(ctx, name, l.Rev)
		sleep(ctx, d.upTo(5*time.Second))
		c.world.tally.add("limits deleted and defined again")
	}
	return errors.Join(err, c.insist(func(ctx context.Context) error { return c.limit(ctx, name) }))
}
