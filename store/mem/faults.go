package mem

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// Faults decides the fate of operations. Before is called once for each that
// reaches the server, by the goroutine that makes the call and without any
// lock held, so it may call the Server's methods. It must be safe for
// concurrent use.
type Faults interface {
	Before(op Op) Verdict
}

// FaultFunc makes a function a Faults.
type FaultFunc func(op Op) Verdict

// Before calls f.
func (f FaultFunc) Before(op Op) Verdict { return f(op) }

// Op is an operation about to happen.
type Op struct {
	N       int64            // its number on this server, from 1
	Client  *clientv3.Client // who asks
	Kind    Kind
	Request proto.Message // as the client would send it; not to be changed
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
	// Delay passes before all else, unless the call's context ends first,
	// in which case nothing happens.
	Delay  time.Duration
	Action Action
	// Err answers an operation that is not let through; nil is etcd's own
	// "request timed out", which says nothing about what happened.
	Err error
	// Hang gives no answer: the call returns when its context ends, with
	// the context's error.
	Hang bool
	// Ops and Wait say when a Late operation is applied: just before the
	// n-th operation from here, or after a time, whichever comes first. If
	// both are 0, Server.Release applies it.
	Ops  int64
	Wait time.Duration
}

// Action is what becomes of an operation.
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
	due   int64 // the operation before which to apply; 0 waits for Release
	timer *time.Timer
	apply func()
}

// hold keeps an operation for later.
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

// Release applies all operations that Late has kept back so far, in the
// order in which they were made, and returns how many there were.
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
