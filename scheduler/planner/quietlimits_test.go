package planner_test

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func (g *judge) limitsOf(l *life) []string { return g.store.job(l.Job).Spec.Limits }

// held returns how many runs held a limit at a time.
func (g *judge) held(limit string, at time.Time) (n int) {
	for _, l := range g.lives {
		if slices.Contains(g.limitsOf(l), limit) && within(at, l.holds) {
			n++
		}
	}
	return n
}

// limited returns when a limit of a run was full, or a run before it in the order of the queue waited for it. The run has been in the
// queue since it was due.
func (g *judge) limited(l *life, due time.Time) (list []stretch) {
	for _, name := range g.limitsOf(l) {
		var edges []time.Time
		for _, o := range g.lives {
			if o == l || !slices.Contains(g.limitsOf(o), name) {
				continue
			}
			for _, h := range o.holds {
				edges = append(edges, h.from, h.to)
			}
			inherits := g.ever(o.Job, job.OverlapReplace) // the place of the run that it replaces
			if (inherits || g.goesBefore(o, l, due) || o.wanted().Equal(l.wanted())) && len(g.limitsOf(o)) > 1 {
				until := o.end()
				if len(o.armed) > 0 {
					until = o.armed[0]
				}
				list = append(list, stretch{o.wanted(), until})
				for i, due := range o.due { // it waits again with each attempt
					until = o.end()
					if i+1 < len(o.started) {
						until = o.started[i+1]
					}
					list = append(list, stretch{due, until})
				}
			}
		}
		slices.SortFunc(edges, time.Time.Compare)
		for i := 1; i < len(edges); i++ {
			if n := quietLimits[name].Concurrent; n > 0 && g.held(name, edges[i-1]) >= n {
				list = append(list, stretch{edges[i-1], edges[i]})
			}
		}
	}
	return list
}

// precedes reports whether a goes before b where both wait for a limit: by priority, then by the time at which it was due.
func (g *judge) precedes(a, b *life) bool { return g.goesBefore(a, b, b.queued()) }

func (g *judge) goesBefore(a, b *life, due time.Time) bool {
	x, y := g.store.job(a.Job).Spec.Priority, g.store.job(b.Job).Spec.Priority
	return x > y || x == y && a.queued().Before(due)
}

func (l *life) queued() time.Time {
	if !l.approved.IsZero() {
		return l.approved
	}
	return l.wanted()
}

// limits judges that no limit was exceeded, and that no run overtook another one that waited for the same places.
func (g *judge) limits() {
	for name, limit := range quietLimits {
		g.paced(name, triesOf(g.holders(name)), limit.Rate)
	}
	for _, l := range g.lives {
		for _, name := range g.limitsOf(l) {
			for i, h := range l.holds {
				n, most := g.held(name, h.from), quietLimits[name].Concurrent
				if most > 0 && n > most {
					g.fail("%d runs held limit %s at %v", n, name, h.from)
				}
				if most > 0 && i == 0 && !g.ever(l.Job, job.OverlapReplace) { // such a run inherits its place
					g.overtook(l, name, h.from)
				}
			}
		}
	}
}

// overtook reports runs that waited for nothing else than a limit, and should have got it before l. A rate or a breaker of its job
// may have held a run back meanwhile, so such runs are left out.
func (g *judge) overtook(l *life, limit string, at time.Time) {
	for _, o := range g.lives {
		spec := g.store.job(o.Job).Spec
		waits := o.Job != l.Job && len(spec.Limits) == 1 && spec.Limits[0] == limit && o.queued().Before(at) && o.created.Before(at) &&
			o.end().After(at) && (len(o.armed) == 0 || o.armed[0].After(at)) && g.precedes(o, l) && o.asked.IsZero() == o.approved.IsZero() &&
			spec.Rate.IsZero() && spec.Breaker == nil
		if !waits || within(at, g.paused[""], g.paused[o.Job]) || o.stopped.Equal(at) {
			continue
		}
		free := !slices.ContainsFunc(g.of(o.Job), func(other *life) bool {
			return other != o && (within(at, other.holds) || other.wanted().Before(o.wanted()) && other.end().After(at) || other.end().Equal(at) ||
				!other.asked.IsZero() && stretch{other.asked, other.end()}.has(at))
		})
		if free {
			g.fail("run %s got limit %s at %v before %s, which waited for it", l.Name(), limit, at, o.Name())
		}
	}
}

// backfills judges that each backfill ran the slots that it was ordered for, and no more at a time than it was allowed.
func (g *judge) backfills() {
	for _, name := range []string{"a", "z"} {
		b := g.store.backfill(name)
		if b == nil {
			continue
		}
		if b.State == job.BackfillRunning {
			g.fail("the backfill of %s does not end: %s", name, b.Reason)
		}
		every := g.store.job(name).Spec.Every.Std()
		judged := b.State == job.BackfillDone && len(g.schedules(name)) == 1 // an earlier schedule may have run the slots of the day before
		for s := b.From.Truncate(every).Add(every); judged && !s.After(b.To); s = s.Add(every) {
			for _, of := range append([]string{name}, b.Steps...) {
				if l := g.lives[of+"/"+job.SlotID(s)]; l == nil || l.Kind != job.KindBackfill {
					g.fail("the backfill of %s left out slot %s of %s", name, job.SlotID(s), of)
				}
			}
		}
		if g.orders[name] > 1 {
			continue // the others may have allowed more
		}
		for _, l := range g.of(name) {
			active := map[string]bool{}
			for _, o := range g.lives {
				here := o.Job == name || slices.Contains(b.Steps, o.Job)
				if here && o.Kind == job.KindBackfill && l.Kind == job.KindBackfill && (stretch{o.created, o.end()}).has(l.created) {
					active[o.ID] = true
				}
			}
			if len(active) > b.Concurrency {
				g.fail("%d slots of the backfill of %s are active at %v", len(active), name, l.created)
			}
		}
	}
}
