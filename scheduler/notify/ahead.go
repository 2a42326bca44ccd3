package notify

import (
	"maps"
	"slices"
	"time"
)

// patience is how long the record of a job waits for all targets of a notice. Then it names those that have got it, so that the
// next leader does not send it to them again. Usually all targets answer earlier, and one record is enough.
const patience = 2 * time.Second

// add adds a target, unless an earlier leader has sent it the notice.
func (n *Notice) add(to Target) {
	if r := n.Receipt; r.rev > r.page.ahead[to.Name] {
		n.To, r.to = append(n.To, to), append(r.to, delivery{target: to.Name})
	}
}

// Partly reports whether some targets of a notice have got it, and others have not. Then Records should be called again soon.
func (b *Book) Partly() bool { return len(b.ahead) > 0 }

// recordAhead makes records of notices that some of their targets have got, while another one has not answered for some time.
func (b *Book) recordAhead(now time.Time) {
	for name, p := range b.ahead {
		switch {
		case len(p.open) == 0:
			delete(b.ahead, name)
			p.partly = time.Time{}
		case p.partly.IsZero():
			p.partly = now
		case now.Sub(p.partly) >= patience:
			delete(b.ahead, name)
			p.partly = time.Time{}
			b.dirty[name] = p
		}
	}
}

// aheadNow returns, for each target that has got the first open notice, the revision up to which it has got all of them. The book
// has all changes before revision last.
func (p *page) aheadNow(last int64) map[string]int64 {
	if len(p.open) == 0 {
		return nil
	}
	newest := last - 1
	upTo := make(map[string]int64)
	for name := range p.ahead {
		upTo[name] = newest
	}
	for _, r := range slices.Backward(p.open) { // the first notice that a target has not got decides
		for _, d := range r.to {
			switch _, known := upTo[d.target]; {
			case !d.done:
				upTo[d.target] = r.rev - 1
			case !known:
				upTo[d.target] = newest
			}
		}
	}
	maps.DeleteFunc(upTo, func(_ string, rev int64) bool { return rev < p.open[0].rev })
	return upTo
}
