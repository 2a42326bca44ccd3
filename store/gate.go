package store

import "time"

// allGate is the name of the gate for all jobs. It is no name of a job.
const allGate = "_all"

// intakeGate is the record of a closed gate.
type intakeGate struct {
	Op string `json:"op"` // id of the write that closed the gate, or of the latest submission
}

// openShare is how many processes may use an open gate at a time. It exceeds the number of replicas in the mirror, because that
// may be old.
const openShare = 5

// doubt is how long an unanswered submission counts as missing in the mirror.
const doubt = time.Minute

// gate is what one process knows about a gate besides its mirror.
type gate struct {
	turn     chan struct{} // holds a token while a submission passes the closed gate
	users    int           // guarded by Intake.mu: submissions under way
	inFlight int           // guarded by Intake.mu: submissions through the open gate without an answer
	unseen   []unseen      // guarded by Intake.mu: submissions through the open gate that the mirror may not show
	unused   bool          // guarded by Intake.mu: it is in Intake.unused
}

// unseen is a submission that the mirror may not show.
type unseen struct {
	rev   int64     // it was written at this revision
	until time.Time // when an unanswered submission stops counting; zero: it was answered
}

// prune removes the submissions that the mirror shows at rev. in.mu is held.
func (g *gate) prune(rev int64) {
	kept := g.unseen[:0]
	for _, u := range g.unseen {
		if u.rev > rev && (u.until.IsZero() || time.Now().Before(u.until)) {
			kept = append(kept, u)
		}
	}
	g.unseen = kept
}

// passage is one submission at one gate.
type passage struct {
	name  string
	max   int
	gate  *gate
	turn  bool // it holds the token of gate.turn
	open  bool // it uses the open gate
	found gateView
}

// gateView is what a mirror shows about a gate.
type gateView struct {
	waiting int   // runs that await their start
	rev     int64 // revision of the gate's key; 0: the gate is open
}

func (p *passage) jobName() string {
	if p.name == allGate {
		return ""
	}
	return p.name
}
