package worker

import (
	"errors"
	"slices"
	"time"
)

// ErrNameTaken is what Run ends with when another process of the worker's name takes its presence again and again. Neither would
// get anything done: each theft ends what the other one executes.
var ErrNameTaken = errors.New("another process has this name, and takes its presence again and again")

// A worker ends when its presence is taken so many times within so long. What is taken once was that of a process that hung
// while another was started in its place. Of two that take turns, the other one has seen one theft less, and stays.
const (
	maxThefts    = 3
	theftsWithin = 5 * time.Minute
)

// thefts are the times at which the worker's presence was taken.
type thefts []time.Time

// add notes one, and says whether it is one too many.
func (t *thefts) add(now time.Time) bool {
	*t = slices.DeleteFunc(*t, func(at time.Time) bool { return now.Sub(at) > theftsWithin })
	*t = append(*t, now)
	return len(*t) >= maxThefts
}
