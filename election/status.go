package election

import (
	"slices"
	"time"
)

// State is where an Elector stands. The machine is drawn in the package's documentation.
type State int

const (
	StateFollower   State = iota // no key of ours in the election
	StateCandidate               // our key waits in the queue
	StateConfirming              // first in the queue; not believed yet
	StateLeader                  // confirmed; lead runs
	StateResigning               // lead was told to stop, or returned; the key is being removed
)

// States lists every state, in the order of a full turn.
func States() []State {
	return []State{StateFollower, StateCandidate, StateConfirming, StateLeader, StateResigning}
}

// String returns the state's lower-case name.
func (s State) String() string {
	switch s {
	case StateFollower:
		return "follower"
	case StateCandidate:
		return "candidate"
	case StateConfirming:
		return "confirming"
	case StateLeader:
		return "leader"
	case StateResigning:
		return "resigning"
	default:
		return "unknown"
	}
}

// after is the transition table: the states that may follow s.
func (s State) after() []State {
	switch s {
	case StateFollower:
		return []State{StateCandidate}
	case StateCandidate:
		return []State{StateConfirming, StateResigning}
	case StateConfirming:
		return []State{StateLeader, StateResigning}
	case StateLeader:
		return []State{StateResigning}
	case StateResigning:
		return []State{StateFollower}
	default:
		return nil
	}
}

// Status is what an Elector tells people about itself. It is out of date when it is returned: show it, measure it, answer
// health checks with it, and decide nothing by it. What may be done only by the leader takes a Term.
type Status struct {
	State State
	// Term is set in the states leader and resigning.
	Term Term
	// LeaseDeadline is the local deadline of the lease held now, or zero without one.
	LeaseDeadline time.Time
	// Err is why the last candidacy ended, or why etcd cannot be asked; nil after a good one.
	Err error
}

// Status returns what the elector shows; it never waits for etcd. A healthy standby is in state candidate: its key was
// found in etcd when it last looked, at most RenewEvery ago while etcd answers.
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

// enter moves the state machine. Entering the present state again changes nothing and logs nothing.
func (e *Elector) enter(next State, t Term) {
	e.mu.Lock()
	prev := e.status.State
	e.status.State, e.status.Term = next, t
	e.mu.Unlock()
	switch {
	case prev == next:
	case !slices.Contains(prev.after(), next):
		e.log.Error("election state machine is broken", "from", prev.String(), "to", next.String(), "term", t.Rev)
	default:
		e.log.Info("election state changed", "from", prev.String(), "to", next.String(), "term", t.Rev)
	}
}
