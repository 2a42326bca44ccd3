package notify

import (
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Notice is one thing that is to be told about a job.
type Notice struct {
	Job       string
	Rev       int64          // at which it came about
	Occasions []job.Occasion // what it is: each notifier is told by the first that it wants
	Run       *job.Run       // nil for a range of slots
	Event     *job.Event     // a range of slots that were passed over; nil otherwise
	Attempt   int            // the last of Run's attempts that was given up since something was told of it; 0: none
	After     string         // of a recovery: the run that failed
	To        []Target

	page    *page
	left    int    // of To, those that are not settled
	failing string // Told.Failing once it is told
}

// Target is a notifier that is to be told.
type Target struct {
	Name     string
	URL      string
	Occasion job.Occasion
}

// address sets whom n concerns, and says whether that is anybody.
func (n *Notice) address(to job.Notify) bool {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if o, ok := to[name].Wants(n.Occasions); ok {
			n.To = append(n.To, Target{Name: name, URL: to[name].URL, Occasion: o})
		}
	}
	n.left = len(n.To)
	return n.left > 0
}

// givenUp is the attempt that n tells of, nil if it tells of none.
func (n *Notice) givenUp() *job.Attempt {
	if n.Run == nil || n.Attempt == 0 {
		return nil
	}
	for i := range n.Run.Attempts {
		if a := &n.Run.Attempts[i]; a.Number == n.Attempt {
			return a
		}
	}
	return nil
}
