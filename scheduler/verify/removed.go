package verify

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// ended holds the terminal runs of one job's slots in the order of their ends. good has the succeeded and skipped ones,
// bad all others.
type ended struct{ good, bad []*job.Run }

// of returns the list that r belongs to.
func (e *ended) of(r *job.Run) *[]*job.Run {
	if good(r) {
		return &e.good
	}
	return &e.bad
}

func good(r *job.Run) bool { return r.State == job.Succeeded || r.State == job.Skipped }

func compareEnds(r *job.Run, at time.Time) int { return r.Ended().Compare(at) }

// prunable reports whether only number and age decide how long history keeps r, which may be nil. Runs that a client
// requested are kept for some time in any case.
func prunable(r *job.Run) bool {
	return r != nil && r.State.Terminal() && r.Kind == job.KindScheduled && r.Key == ""
}

// add adds r to the remaining history if it is prunable.
func (l *replay) add(r *job.Run) {
	if !prunable(r) {
		return
	}
	if l.ended[r.Job] == nil {
		l.ended[r.Job] = &ended{}
	}
	list := l.ended[r.Job].of(r)
	i, _ := slices.BinarySearchFunc(*list, r.Ended(), compareEnds)
	*list = slices.Insert(*list, i, r)
}

// remove removes r from the remaining history, and reports whether it was there.
func (l *replay) remove(r *job.Run) bool {
	if !prunable(r) || l.ended[r.Job] == nil {
		return false
	}
	list := l.ended[r.Job].of(r)
	i := slices.Index(*list, r)
	if i < 0 {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// checkRemoved checks that a transaction removed runs in the order of their ends.
//
// Leaders remove good and bad runs separately, in the order of their ends, and keep the latest attempts for a breaker.
// So if a run with an attempt is removed, no prunable run that ended before it may remain. A leader can keep this order
// only for the runs that it knows. For a run that its worker ended, the watch has delivered all earlier writes as well,
// so only those runs are checked.
func (l *replay) checkRemoved(batch []job.Change) {
	var removed []*job.Run
	for _, ch := range batch {
		if ch.Kind != job.RecordRun {
			continue
		}
		if r := l.runs[ch.Name]; l.remove(r) && ch.Deleted() && endedByWorker(r) {
			removed = append(removed, r)
		}
		l.add(job.ValueOf[job.Run](ch))
	}
	for _, r := range removed {
		list := *l.ended[r.Job].of(r)
		before, _ := slices.BinarySearchFunc(list, r.Ended(), compareEnds)
		if i := slices.IndexFunc(list[:before], func(o *job.Run) bool { return o.Rev < r.Rev }); i >= 0 {
			l.broken(5, r.Name(), batch[0].Rev,
				"it was removed from history, but run %s, which had ended before it, was not", list[i].Name())
		}
	}
}

// endedByWorker reports whether r ended with an attempt that its worker ended.
func endedByWorker(r *job.Run) bool {
	n := len(r.Attempts)
	return n > 0 && r.Attempts[n-1].Finished.Equal(r.Finished) && !r.Attempts[n-1].GivenUp
}
