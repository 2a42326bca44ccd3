package store

import (
	"math"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// past knows how large the latest changes are. For a watch that begins in the past, etcd reads everything since then, and applies
// no write meanwhile.
type past struct {
	parts []part // in order; together they have at most BriefLog bytes
	bytes int    // of parts
	since int64  // the revision before parts
}

// part is the changes up to a revision, without those of the part before it.
type part struct {
	rev   int64
	bytes int
}

// unknownPart is how many revisions one part has if their size is unknown. Each then counts as the share of BriefLog that Log dares
// to read at once.
const unknownPart = 16

// begin forgets everything. The changes up to rev have an unknown size.
func (p *past) begin(rev int64) {
	*p = past{since: max(0, rev-maxSpan)}
	for p.reached() < rev {
		next := min(rev, p.reached()+unknownPart)
		p.grow(next, int(next-p.reached())*(BriefLog/maxSpan))
	}
}

// reached returns the latest revision.
func (p *past) reached() int64 {
	if n := len(p.parts); n > 0 {
		return p.parts[n-1].rev
	}
	return p.since
}

// add adds what a watch delivered up to a revision. Each revision counts as minRevision at least, because others may have written
// it.
func (p *past) add(rev int64, events []*clientv3.Event) {
	if rev <= p.reached() {
		return
	}
	bytes := 0
	for _, e := range events {
		bytes += len(e.Kv.Key) + len(e.Kv.Value)
	}
	p.grow(rev, max(bytes, int(min(rev-p.reached(), BriefLog/minRevision+1))*minRevision))
}

func (p *past) grow(rev int64, bytes int) {
	p.parts = append(p.parts, part{rev, bytes})
	p.bytes += bytes
	for p.bytes > BriefLog {
		p.bytes -= p.parts[0].bytes
		p.since = p.parts[0].rev
		p.parts = p.parts[1:]
	}
}

// after returns how many bytes the changes after a revision have, about. It returns math.MaxInt if these are more than BriefLog.
func (p *past) after(rev int64) (bytes int) {
	if rev < p.since {
		return math.MaxInt
	}
	for i := len(p.parts) - 1; i >= 0 && p.parts[i].rev > rev; i-- {
		bytes += p.parts[i].bytes
	}
	return bytes
}

// Past returns how many bytes etcd reads for a watch of the changes after a revision, about. It returns math.MaxInt if a live store
// cannot read so much, or if the mirror has not been filled yet.
func (m *Mirror) Past(after int64) (bytes int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.rev == 0 {
		return math.MaxInt
	}
	return m.past.after(after)
}
