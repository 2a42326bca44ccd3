package backend

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/rota-scheduler/rota/store"
)

// Timeline returns the entries that q selects.
func (b *Backend) Timeline(_ context.Context, q timeline.Query) ([]timeline.Entry, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	switch q.Part {
	case timeline.OnlyRanges:
		return timeline.Ranges(b.log.JobEvents(), q), nil
	case timeline.OnlyMembers:
		return timeline.Entries(timeline.Facts{Cluster: b.log.Events(), Now: b.present()}, q), nil
	case timeline.All:
	}
	waiting := b.submitted(q)
	f := b.facts()
	waits := make(map[[2]string]bool, len(waiting))
	for _, r := range waiting {
		waits[[2]string{r.Job, r.ID}] = true
	}
	for _, r := range f.Runs { // some may have begun meanwhile
		delete(waits, [2]string{r.Job, r.ID})
	}
	for _, r := range waiting {
		if waits[[2]string{r.Job, r.ID}] {
			f.Runs = append(f.Runs, r)
		}
	}
	return timeline.Entries(f, q), nil
}

// Incident summarizes the incident at an instant, or the last one before it.
func (b *Backend) Incident(ctx context.Context, at time.Time) (timeline.Incident, error) {
	if err := b.up(); err != nil {
		return timeline.Incident{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	quorate := b.leader(ctx) != nil
	list := b.members(b.present())
	store := b.storeView(0)
	m := timeline.Members{Expected: len(list), Tolerated: *b.tolerated(list, &store, quorate)}
	for _, member := range list {
		if member.State == memberPresent {
			m.Present++
		}
	}
	v, ok := timeline.Describe(b.facts(), m, at)
	if !ok {
		return v, job.ErrNotFound
	}
	return v, nil
}

// tells reports whether the timeline names a run, apart from those that submitted returns.
func tells(r *job.Run) bool { return !onlySubmitted(r) && timeline.Tells(r) }

// onlySubmitted reports whether the timeline can only say of a run that it was submitted.
func onlySubmitted(r *job.Run) bool {
	return r.State == job.Pending && len(r.Attempts) == 0 && r.Approval == nil && r.Cancel == nil
}

// submitted returns the runs that q selects, and that were submitted and have not begun. A million may wait, so submitted returns
// only as many as q wants: the latest.
func (b *Backend) submitted(q timeline.Query) []*job.Run {
	latest := func(x, y *job.Run) int { return y.Created.Compare(x.Created) }
	return b.mirror.FirstRuns("", q.Most, store.Always, latest, func(r *job.Run) bool {
		return onlySubmitted(r) && !r.Created.Before(q.Since) && timeline.Tells(r) && (q.Wants == nil || q.Wants(r.Job))
	})
}

// facts returns the records from which the timeline is made, without those of submitted. Without an answer of the store, the
// outages that this replica observes take the place of events that no leader could record yet.
func (b *Backend) facts() timeline.Facts {
	paused := b.mirror.JobsThat(func(j *job.Job) bool { return j.Paused != nil }) // other jobs have no entry
	slices.SortFunc(paused, func(x, y *job.Job) int { return strings.Compare(x.Name, y.Name) })
	f := timeline.Facts{
		Cluster: b.log.Events(), Events: b.log.JobEvents(), Runs: b.mirror.RunsDue(time.Time{}, tells), Jobs: paused,
		Changes: b.log.Changes(), Gate: b.mirror.Gate(), Files: b.mirror.Files(), Now: b.present(),
	}
	f.Cluster = timeline.WithObserved(f.Cluster, b.calls.Outages())
	for _, o := range b.calls.Outages() {
		if o.Node == "" && o.Until.IsZero() {
			f.Leaderless = o.From
		}
	}
	return f
}
