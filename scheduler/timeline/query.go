package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Query selects entries of the timeline.
type Query struct {
	Since time.Time // the earliest
	Part  Part
	Most  int                       // the latest so many; 0: all, but no submitted run that waits
	Wants func(jobName string) bool // "" stands for entries that belong to no job; nil: all
}

// Part selects entries of the timeline by their kind.
type Part int

// The parts of the timeline.
const (
	All         Part = iota
	OnlyRanges       // ranges of slots without runs
	OnlyMembers      // takeovers, and outages of replicas
)

// Latest returns the entries that q selects, oldest first. It ignores the part.
func (q Query) Latest(list []Entry) []Entry {
	l := latest{Query: q}
	l.add(list...)
	return l.sorted()
}

// wants reports whether q selects entries of a job.
func (q Query) wants(jobName string) bool { return q.Wants == nil || q.Wants(jobName) }

// latest collects the entries that a Query selects. A million runs may have an entry each, so it keeps at most twice as many as
// wanted.
type latest struct {
	Query

	list []Entry // in no order
}

func (l *latest) add(list ...Entry) {
	for i := range list {
		if e := &list[i]; !e.At.Before(l.Since) && l.wants(e.Job) {
			l.list = append(l.list, *e)
		}
	}
	if l.Most > 0 && len(l.list) >= 2*l.Most {
		l.list = l.sorted()
		l.Since = l.list[0].At
	}
}

// clockSlack is how much later than its end, by the clock of a worker, a run may have an entry.
const clockSlack = time.Minute

// may reports whether a run may have an entry that is wanted. To make the entries of all runs would take most of the time.
func (l *latest) may(r *job.Run) bool {
	if !l.wants(r.Job) {
		return false
	}
	last := job.Later(r.Ended(), r.Created)
	if r.Cancel != nil {
		last = job.Later(last, r.Cancel.At)
	}
	if r.Approval != nil {
		last = job.Later(last, r.Approval.At)
	}
	return !r.State.Terminal() || !last.Add(clockSlack).Before(l.Since)
}

// sorted returns the collected entries, oldest first.
func (l *latest) sorted() []Entry {
	slices.SortStableFunc(l.list, func(a, b Entry) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Kind+a.Run+a.Node, b.Kind+b.Run+b.Node)
	})
	if l.Most > 0 {
		l.list = slices.Delete(l.list, 0, max(0, len(l.list)-l.Most))
	}
	return l.list
}
