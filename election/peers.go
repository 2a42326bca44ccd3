package election

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrClockSet is why a clock is not trusted after Doubt.
var ErrClockSet = errors.New("our clock was set, and has not been compared with the others since")

// futureSlack is how far ahead of our clock a measurement may seem to be: one further ahead was made before our clock was
// set back.
const futureSlack = time.Second

// PeerClocks is what one replica knows of the others' clocks, and whether its own may be led by. Make it with
// NewPeerClocks; all methods may be called at any time from anywhere.
type PeerClocks struct {
	first  sync.Once
	judged chan struct{} // closed by the first Judge

	mu      sync.Mutex
	offsets map[string]Offset // guarded by mu, by node
	wrong   error             // guarded by mu: why our clock is not to be trusted
}

// NewPeerClocks returns clocks of which none has been measured.
func NewPeerClocks() *PeerClocks {
	return &PeerClocks{judged: make(chan struct{}), offsets: make(map[string]Offset)}
}

// Note takes over a measurement, in the place of the last one of the same node.
func (p *PeerClocks) Note(o Offset) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offsets[o.Node] = o
}

// Judge compares our clock, which says now, with those that were measured no longer than age ago, and forgets the others.
// It returns what Skewed says of them with that tolerance, and whether that is news.
func (p *PeerClocks) Judge(now time.Time, age, tolerance time.Duration) (wrong error, news bool) {
	defer p.first.Do(func() { close(p.judged) })
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.offsets, func(_ string, o Offset) bool {
		return now.Sub(o.At) > age || o.At.After(now.Add(futureSlack))
	})
	before := p.wrong
	p.wrong = Skewed(p.sorted(), tolerance)
	return p.wrong, (p.wrong == nil) != (before == nil) || errors.Is(before, ErrClockSet)
}

// Doubt forgets what was measured, since our clock was set: it is not trusted until it has been judged again.
func (p *PeerClocks) Doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.offsets)
	p.wrong = ErrClockSet
}

// Trusted returns nil if our clock may be led by, and otherwise why not: ErrClockSet, or what Skewed said. A clock that was
// never judged is trusted.
func (p *PeerClocks) Trusted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrong
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
