package election

import (
	"slices"
	"time"
)

// State is a state of an Elector. The documentation of the package has the diagram.
type State int

// The states of an Elector.
const (
	StateFollower   State = iota // our key is not in the election
	StateCandidate               // our key waits in the queue
	StateConfirming              // our key is the first in the queue; the win is not proved yet
	StateLeader                  // the win is confirmed; lead runs
	StateResigning               // lead's context has ended, or lead has returned; the key is being removed
)

// states is the transition table: the name of each state, and the states that may follow it.
var states = [...]struct {
	name  string
	after []State
}{
	StateFollower:   {"follower", []State{StateCandidate}},
	StateCandidate:  {"candidate", []State{StateConfirming, StateResigning}},
	StateConfirming: {"confirming", []State{StateLeader, StateResigning}},
	StateLeader:     {"leader", []State{StateResigning}},
	StateResigning:  {"resigning", []State{StateFollower}},
}

// String returns the state's lower-case name.
func (s State) String() string { return states[s].name }

// Status describes an Elector for display, metrics and health checks. It is out of date when it is returned, so no decision may
// depend on it. Code that only the leader may run takes a Term.
type Status struct {
	State State
	// Term is set in the states leader and resigning.
	Term Term
	// LeaseDeadline is the local deadline of the present lease; zero without a lease.
	LeaseDeadline time.Time
	// Err is why the last candidacy ended, or why etcd does not answer; nil after a good one.
	Err error
}

// Status returns the present status without waiting for etcd. A healthy standby is in state candidate: its key was in the queue
// when it last read the queue. While etcd answers, that read is at most RenewEvery old.
func (e *Elector) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.status
	if e.lease != nil {
		s.LeaseDeadline = e.lease.Deadline()
	}
	return s
}

func (e *Elector) setLease(l *Lease) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lease = l
}

func (e *Elector) setErr(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Err = err
}

// enter moves the state machine and logs the change. If the elector is in that state already, only the term is set.
func (e *Elector) enter(next State, t Term) {
	e.mu.Lock()
	prev := e.status.State
	e.status.State, e.status.Term = next, t
	e.mu.Unlock()
	switch {
	case prev == next:
	case !slices.Contains(states[prev].after, next):
		e.log.Error("election state machine is broken", "from", prev.String(), "to", next.String(), "term", t.Rev)
	default:
		e.log.Info("election state changed", "from", prev.String(), "to", next.String(), "term", t.Rev)
	}
}
