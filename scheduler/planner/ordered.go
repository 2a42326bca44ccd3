package planner

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// ordered is a list of runs by their ends. Runs nearly always come in this order. When a replica starts they come in any
// order; then the list is sorted once, when it is first read.
type ordered struct {
	runs     []*job.Run
	unsorted bool
}

// maxMoved bounds how many runs are moved to insert one. If more would have to move, the list is sorted later.
const maxMoved = 4096

func compareEnds(r *job.Run, at time.Time) int { return r.Ended().Compare(at) }

func byEnd(a, b *job.Run) int { return a.Ended().Compare(b.Ended()) }

func (o *ordered) add(r *job.Run) {
	at := len(o.runs)
	if !o.unsorted && at > 0 && r.Ended().Before(o.runs[at-1].Ended()) {
		if at, _ = slices.BinarySearchFunc(o.runs, r.Ended(), compareEnds); len(o.runs)-at > maxMoved {
			at, o.unsorted = len(o.runs), true
		}
	}
	o.runs = slices.Insert(o.runs, at, r)
}

// remove removes r and reports whether it was there.
func (o *ordered) remove(r *job.Run) bool {
	o.sort()
	i, _ := slices.BinarySearchFunc(o.runs, r.Ended(), compareEnds)
	for i < len(o.runs) && o.runs[i] != r {
		if o.runs[i].Ended().After(r.Ended()) {
			return false
		}
		i++
	}
	switch {
	case i == len(o.runs):
		return false
	case i == 0 && len(o.runs) > fewRuns: // history usually removes the oldest run
		o.runs[0] = nil
		o.runs = o.runs[1:]
	default: // keeps the room of a short list
		o.runs = slices.Delete(o.runs, i, i+1)
	}
	return true
}

func (o *ordered) sort() {
	if o.unsorted {
		slices.SortFunc(o.runs, byEnd)
		o.unsorted = false
	}
}

// first returns the run that ended first, nil if there is none.
func (o *ordered) first() *job.Run {
	o.sort()
	if len(o.runs) == 0 {
		return nil
	}
	return o.runs[0]
}

// beyond lists the runs to remove: those in excess of many, and those older than age. It lists at most as many as one decision
// removes. Zero means no bound. A run that started and ended at spared or later is removed only for its age. A zero spared has
// no effect.
func (o *ordered) beyond(many int, age time.Duration, spared, now time.Time) (drops []*job.Run) {
	o.sort()
	for i, r := range o.runs {
		over := many > 0 && len(o.runs)-i > many
		aged := age > 0 && now.Sub(r.Ended()) > age
		if len(drops) == job.MaxDeletions || !over && !aged {
			break
		}
		if aged || spared.IsZero() || len(r.Attempts) == 0 || r.Ended().Before(spared) {
			drops = append(drops, r)
		}
	}
	return drops
}
