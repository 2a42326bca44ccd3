package verify

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// ended is the runs of one job's slots that have ended, in the order of their ends: those that went well, and all others.
type ended struct{ good, bad []*job.Run }

// of is the list that r belongs to.
func (e *ended) of(r *job.Run) *[]*job.Run {
	if good(r) {
		return &e.good
	}
	return &e.bad
}

func good(r *job.Run) bool { return r.State == job.Succeeded || r.State == job.Skipped }

func compareEnds(r *job.Run, at time.Time) int { return r.Ended().Compare(at) }

// prunable says whether history keeps r, which may be nil, for nothing but its number and its age: what was asked for is kept
// for some time in any case.
func prunable(r *job.Run) bool {
	return r != nil && r.State.Terminal() && r.Kind == job.KindScheduled && r.Key == ""
}

// keep notes that r is in the store from now on, if it is prunable.
func (l *replay) keep(r *job.Run) {
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

// drop notes that r is not in the store any more as it was, and says whether it was known to be.
func (l *replay) drop(r *job.Run) bool {
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

// checkRemoved looks whether history can have removed what a transaction removed. It goes by the order of ends, those that went
// well apart from the others, and a breaker has it keep the latest attempts: so where a run is gone that began, no prunable one
// is left that ended before it. That holds for what the leader knew. A run that its worker ended it knows from the watch, which
// has told it of all that was written before, too; one that it ended itself it knows earlier.
func (l *replay) checkRemoved(batch []job.Change) {
	var removed []*job.Run
	for _, ch := range batch {
		if ch.Kind != job.RecordRun {
			continue
		}
		if r := l.runs[ch.Name]; l.drop(r) && ch.Deleted() && endedByWorker(r) {
			removed = append(removed, r)
		}
		l.keep(job.ValueOf[job.Run](ch))
	}
	for _, r := range removed {
		list := *l.ended[r.Job].of(r)
		before, _ := slices.BinarySearchFunc(list, r.Ended(), compareEnds)
		if i := slices.IndexFunc(list[:before], func(o *job.Run) bool { return o.Rev < r.Rev }); i >= 0 {
			l.broken(5, r.Name(), batch[0].Rev, "it was removed from history, and run %s, which had ended before it, was not", list[i].Name())
		}
	}
}

// endedByWorker says whether r ended as an attempt did that its worker has ended.
func endedByWorker(r *job.Run) bool {
	n := len(r.Attempts)
	return n > 0 && r.Attempts[n-1].Finished.Equal(r.Finished) && !r.Attempts[n-1].GivenUp
}
