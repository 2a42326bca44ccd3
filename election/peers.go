package election

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrClockSet is why a clock is not trusted after Suspect.
var ErrClockSet = errors.New("our clock was set, and has not been compared with the others since")

// futureSlack is how far ahead of our clock the time of a measurement may be. If it is further ahead, our clock was set back after
// the measurement.
const futureSlack = time.Second

// PeerClocks holds the measured offsets of the other replicas' clocks. It decides from them whether our clock can be trusted. Make
// it with NewPeerClocks. Its methods are safe for concurrent use.
type PeerClocks struct {
	clock  Clock
	first  sync.Once
	judged chan struct{} // closed by the first Judge

	mu         sync.Mutex
	offsets    map[string]Offset // guarded by mu, by node
	wrong      error             // guarded by mu: why our clock is not trusted; nil: it is trusted
	judgedAt   Reading           // guarded by mu: our clock when the last round that judged it began; zero: it was never judged
	suspicions int               // guarded by mu: number of calls of Suspect
}

// NewPeerClocks returns clocks without a measurement. clock is our clock and must be the one of the Elector; nil means
// SystemClock.
func NewPeerClocks(clock Clock) *PeerClocks {
	if clock == nil {
		clock = SystemClock
	}
	return &PeerClocks{clock: clock, judged: make(chan struct{}), offsets: make(map[string]Offset)}
}

// Round is one measurement of the clocks of all other replicas. If Suspect is called after its start, our clock was set meanwhile,
// and the result of the round is ignored.
type Round struct {
	peers      *PeerClocks
	began      Reading // of our clock
	suspicions int     // at the start
}

// Round starts a round. Call it before the first request to another replica.
func (p *PeerClocks) Round() Round {
	began := p.clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Round{peers: p, began: began, suspicions: p.suspicions}
}

// Record takes a measurement. It replaces the earlier measurement of the same node.
func (r Round) Record(o Offset) {
	p := r.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.suspicions == p.suspicions {
		p.offsets[o.Node] = o
	}
}

// Judge ends the round. It discards measurements older than age, and compares our clock, which shows now, with the rest. It
// returns the result of outvoted with that tolerance, or ErrClockSet, and whether the trust in our clock may have changed.
func (r Round) Judge(now time.Time, age, tolerance time.Duration) (wrong error, news bool) {
	p := r.peers
	defer p.first.Do(func() { close(p.judged) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.suspicions != p.suspicions {
		return p.wrong, false
	}
	maps.DeleteFunc(p.offsets, func(_ string, o Offset) bool {
		return now.Sub(o.At) > age || o.At.After(now.Add(futureSlack))
	})
	before := p.wrong
	p.wrong, p.judgedAt = outvoted(p.sorted(), tolerance), r.began
	return p.wrong, (p.wrong == nil) != (before == nil) || errors.Is(before, ErrClockSet)
}

// Suspect discards all measurements because our clock was set. Our clock is trusted again after a round that starts later has
// judged it.
func (p *PeerClocks) Suspect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.offsets)
	p.wrong = ErrClockSet
	p.suspicions++
}

// Judged returns a channel that is closed when our clock has been judged for the first time.
func (p *PeerClocks) Judged() <-chan struct{} { return p.judged }

// Trusted returns nil if our clock is trusted, and otherwise the reason: ErrClockSet, or the error of outvoted. A clock is trusted
// before the first round has judged it.
func (p *PeerClocks) Trusted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong
}

// suspectIfSet calls Suspect and returns the reason if our clock was set after it was judged.
func (p *PeerClocks) suspectIfSet() error {
	now := p.clock()
	p.mu.Lock()
	judgedAt := p.judgedAt
	p.mu.Unlock()
	if judgedAt.Mono.IsZero() {
		return nil
	}
	err := now.jumpedSince(judgedAt)
	if err != nil {
		p.Suspect()
	}
	return err
}

// Offsets lists the measured offsets in the order of the nodes' names.
func (p *PeerClocks) Offsets() []Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sorted()
}

// sorted is Offsets for callers that have locked mu.
func (p *PeerClocks) sorted() []Offset {
	var list []Offset
	for _, node := range slices.Sorted(maps.Keys(p.offsets)) {
		list = append(list, p.offsets[node])
	}
	return list
}
