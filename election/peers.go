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

// futureSlack is how far ahead of our clock a measurement may seem to be: one further ahead was made before our clock was
// set back.
const futureSlack = time.Second

// PeerClocks is what one replica knows of the others' clocks, and whether its own may be led by. Make it with
// NewPeerClocks; all methods may be called at any time from anywhere.
type PeerClocks struct {
	clock  Clock
	first  sync.Once
	judged chan struct{} // closed by the first Judge

	mu      sync.Mutex
	offsets map[string]Offset // guarded by mu, by node
	wrong   error             // guarded by mu: why our clock is not to be trusted
	stood   Reading           // guarded by mu: our clock, when the round began that judged it last; zero: none has
	doubts  int               // guarded by mu: how often it was in doubt
}

// NewPeerClocks returns clocks of which none has been measured. Ours is read by clock, the one that the Elector has: nil means
// SystemClock.
func NewPeerClocks(clock Clock) *PeerClocks {
	if clock == nil {
		clock = SystemClock
	}
	return &PeerClocks{clock: clock, judged: make(chan struct{}), offsets: make(map[string]Offset)}
}

// Round is one turn of asking all others for their clocks. If ours was brought in doubt since it began, what was measured is
// of another clock, and changes nothing.
type Round struct {
	peers  *PeerClocks
	began  Reading // of our clock
	doubts int     // at its beginning
}

// Round begins one, before anybody is asked.
func (p *PeerClocks) Round() Round {
	began := p.clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Round{peers: p, began: began, doubts: p.doubts}
}

// Record takes over a measurement, in the place of the last one of the same node.
func (r Round) Record(o Offset) {
	p := r.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.doubts == p.doubts {
		p.offsets[o.Node] = o
	}
}

// Judge ends the round: it compares our clock, which says now, with those that were measured no longer than age ago, and
// forgets the others. It returns what Skewed says of them with that tolerance, or else ErrClockSet, and whether that is news.
func (r Round) Judge(now time.Time, age, tolerance time.Duration) (wrong error, news bool) {
	p := r.peers
	defer p.first.Do(func() { close(p.judged) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.doubts != p.doubts {
		return p.wrong, false
	}
	maps.DeleteFunc(p.offsets, func(_ string, o Offset) bool {
		return now.Sub(o.At) > age || o.At.After(now.Add(futureSlack))
	})
	before := p.wrong
	p.wrong, p.stood = Skewed(p.sorted(), tolerance), r.began
	return p.wrong, (p.wrong == nil) != (before == nil) || errors.Is(before, ErrClockSet)
}

// Suspect forgets what was measured, since our clock was set: it is not trusted until a round that begins from now on has
// judged it.
func (p *PeerClocks) Suspect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.offsets)
	p.wrong = ErrClockSet
	p.doubts++
}

// Judged is closed when our clock has been judged for the first time.
func (p *PeerClocks) Judged() <-chan struct{} { return p.judged }

// Trusted returns nil if our clock may be led by, and otherwise why not: ErrClockSet, or what Skewed said. A clock that was
// never judged is trusted.
func (p *PeerClocks) Trusted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong
}

// doubtIfSet brings our clock in doubt if it was set since it was judged, and says so.
func (p *PeerClocks) doubtIfSet() error {
	now := p.clock()
	p.mu.Lock()
	stood := p.stood
	p.mu.Unlock()
	if stood.Mono.IsZero() {
		return nil
	}
	err := now.jumpedSince(stood)
	if err != nil {
		p.Suspect()
	}
	return err
}

// Offsets lists what is known of the others, by their names.
func (p *PeerClocks) Offsets() []Offset {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sorted()
}

// sorted is Offsets for those who hold mu.
func (p *PeerClocks) sorted() []Offset {
	var list []Offset
	for _, node := range slices.Sorted(maps.Keys(p.offsets)) {
		list = append(list, p.offsets[node])
	}
	return list
}
