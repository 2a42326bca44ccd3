package mem

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// Faults decides the fate of operations. The server calls Before once for each
// operation that reaches it, in the goroutine of the call and without a lock.
// So Before may call the Server's methods. It must be safe for concurrent use.
type Faults interface {
	Before(op Op) Verdict
}

// FaultFunc is a function that implements Faults.
type FaultFunc func(op Op) Verdict

// Before calls f.
func (f FaultFunc) Before(op Op) Verdict { return f(op) }

// Op is an operation that is about to happen.
type Op struct {
	N       int64            // its number on this server, from 1
	Client  *clientv3.Client // the client that sent it
	Kind    Kind
	Request proto.Message // as the client would send it; must not be changed
}

// Kind is what an operation does.
type Kind int

// The kinds of operation.
const (
	Range Kind = iota
	Put
	Delete
	Txn
	Compact
	Grant
	Revoke
	KeepAlive // each single renewal
	TimeToLive
	Leases
	Watch       // the creation of a watch; Lose and Late refuse it
	Maintenance // status and alarms
)

func (k Kind) String() string {
	names := [...]string{"range", "put", "delete", "txn", "compact", "grant", "revoke", "keepalive", "timetolive", "leases", "watch", "maintenance"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Verdict is an operation's fate; the zero value lets it happen.
type Verdict struct {
	// Delay is how long the server waits first. If the call's context ends
	// meanwhile, nothing happens.
	Delay  time.Duration
	Action Action
	// Err is the answer to an operation that fails. nil means etcd's "request
	// timed out", which leaves the outcome unknown.
	Err error
	// Hang means that there is no answer: the call returns when its context
	// ends, with the context's error.
	Hang bool
	// Ops and Wait say when the server applies a Late operation: just before
	// the n-th next operation, where n is Ops, or after the time Wait. The
	// earlier of the two counts. If both are 0, Server.Release applies it.
	Ops  int64
	Wait time.Duration
}

// Action says whether the server applies an operation, and how it answers.
type Action int

// The actions.
const (
	Proceed Action = iota // apply and answer
	Refuse                // do not apply; answer with the error
	Lose                  // apply; answer with the error
	Late                  // answer with the error; apply later
)

// held is a Late operation that is not yet applied.
type held struct {
	due   int64 // number of the operation before which it is applied; 0: Ops was 0
	timer *time.Timer
	apply func()
}

// hold stores a Late operation. The server applies it later.
func (s *Server) hold(n int64, v Verdict, apply func()) {
	h := &held{apply: apply}
	if v.Ops > 0 {
		h.due = n + v.Ops
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, h)
	if v.Wait > 0 {
		h.timer = time.AfterFunc(v.Wait, func() {
			s.applyHeld(func(x *held) bool { return x == h })
		})
	}
}

// Release applies all operations that Late has delayed so far, in the order in
// which they were made. It returns their number.
func (s *Server) Release() int {
	return s.applyHeld(func(*held) bool { return true })
}

func (s *Server) applyHeld(due func(*held) bool) int {
	s.mu.Lock()
	var now, rest []*held
	for _, h := range s.held {
		if due(h) {
			now = append(now, h)
		} else {
			rest = append(rest, h)
		}
	}
	s.held = rest
	s.mu.Unlock()
	for _, h := range now {
		if h.timer != nil {
			h.timer.Stop()
		}
		h.apply()
	}
	return len(now)
}
