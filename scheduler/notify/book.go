package notify

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// Book is what a leader has told of the jobs of which somebody is told, and has to tell. It is not safe for concurrent use.
type Book struct {
	pages map[string]*page
	ready []*Notice        // not taken yet
	dirty map[string]*page // those with something to write down
}

// NewBook returns a book without pages.
func NewBook() *Book { return &Book{pages: make(map[string]*page), dirty: make(map[string]*page)} }

// slack is how far the clocks may differ by which a run ended and a definition was made.
const slack = 2 * time.Second

// Open begins the page of a job of which somebody is told, from what the store had at revision at: what has been told (nil:
// nothing), and its runs and events. What is newer than at is left out, as Apply has to tell of it.
func (b *Book) Open(j *job.Job, told *job.Told, runs []*job.Run, events []*job.Event, at int64) {
	p := &page{job: j, seen: at, given: make(map[string]int), settled: make(map[string]int)}
	b.pages[j.Name] = p
	since := j.Notified.Add(-slack)
	if told != nil {
		p.told = *told
		for id, n := range told.Attempts {
			p.given[id], p.settled[id] = n, n
		}
		if !told.At.Before(since) {
			p.failing = told.Failing
		}
	}
	alive := make(map[string]bool)
	var news []job.Change
	for _, r := range runs {
		switch {
		case r.Rev > at:
			alive[r.ID] = true
		case !r.State.Terminal():
			alive[r.ID] = true
			news = append(news, job.Change{Rev: r.Rev, Run: r})
		case r.Rev > p.told.UpTo && !r.Finished.Before(since):
			news = append(news, job.Change{Rev: r.Rev, Run: r})
		}
	}
	for _, e := range events {
		if e.Rev <= at && e.Rev > p.told.UpTo && !e.At.Before(since) {
			news = append(news, job.Change{Rev: e.Rev, Event: e})
		}
	}
	slices.SortFunc(news, func(a, b job.Change) int { return cmp.Compare(a.Rev, b.Rev) })
	for _, c := range news {
		b.add(p, c)
	}
	for id := range p.given {
		if !alive[id] {
			delete(p.given, id)
		}
	}
}

// Knows says whether a job has a page.
func (b *Book) Knows(name string) bool { return b.pages[name] != nil }

// Apply takes over a change of the store. Those of a job have to come in the order of their revisions; one that is not newer
// than the page is passed over. Whoever gives Apply the definition of a job without a page, and somebody is told of it, has
// to open the page first.
func (b *Book) Apply(c job.Change) {
	name := c.Name
	if c.Kind == job.RecordRun || c.Kind == job.RecordEvent {
		name, _, _ = strings.Cut(name, "/")
	}
	p := b.pages[name]
	if p == nil {
		return
	}
	switch c.Kind {
	case job.RecordJob:
		b.define(p, c)
	case job.RecordTold:
		p.found(c)
	case job.RecordRun, job.RecordEvent:
		if c.Rev <= p.seen {
			return
		}
		p.seen = c.Rev
		b.add(p, c)
	}
}

// define takes over the definition of a job.
func (b *Book) define(p *page, c job.Change) {
	switch {
	case c.Bad != nil: // nobody can read it: what was asked for before is as good as any
	case c.Job == nil || len(c.Job.Spec.Notify) == 0:
		delete(b.pages, p.job.Name)
		delete(b.dirty, p.job.Name)
		p.gone = true
	default:
		if !c.Job.Notified.Equal(p.job.Notified) {
			p.failing = ""
		}
		p.job = c.Job
	}
}

// add makes a notice of what a change says, if somebody is to be told of it.
func (b *Book) add(p *page, c job.Change) {
	n := &Notice{Job: p.job.Name, Rev: c.Rev, Run: c.Run, Event: c.Event, page: p}
	switch {
	case c.Run != nil:
		p.judge(n)
	case c.Event != nil:
		if c.Event.Kind == job.EventSkipped && policy.IsMissed(c.Event.Reason) {
			n.Occasions = []job.Occasion{job.OnMissed}
		}
	case c.Kind == job.RecordRun: // gone, or unreadable
		_, id, _ := strings.Cut(c.Name, "/")
		delete(p.given, id)
	}
	n.failing = p.failing
	if n.address(p.job.Spec.Notify) {
		p.open = append(p.open, n)
		b.ready = append(b.ready, n)
	}
}

// Take returns what is to be told and has not been taken yet. Each of its targets has to be settled.
func (b *Book) Take() []*Notice {
	list := b.ready
	b.ready = nil
	return slices.DeleteFunc(list, func(n *Notice) bool { return n.page.gone })
}

// Settle notes that one target of n was told, or is not going to be.
func (b *Book) Settle(n *Notice) {
	p := n.page
	if n.left--; n.left > 0 || p.gone {
		return
	}
	for len(p.open) > 0 && p.open[0].left <= 0 {
		p.pass(p.open[0])
		p.open[0] = nil
		p.open = p.open[1:]
		b.dirty[p.job.Name] = p
	}
}

// Marks returns what is to be written down as of now, at most one record of each job. Each has to be answered by Marked.
func (b *Book) Marks(now time.Time) (list []job.Told) {
	for name, p := range b.dirty {
		if !p.writing {
			p.writing = true
			delete(b.dirty, name)
			list = append(list, p.mark(now))
		}
	}
	slices.SortFunc(list, func(x, y job.Told) int { return strings.Compare(x.Job, y.Job) })
	return list
}

// Marked says what became of a record of Marks: rev is that at which it was written. One that was refused comes again with
// the next Marks.
func (b *Book) Marked(t job.Told, rev int64, err error) {
	p := b.pages[t.Job]
	if p == nil {
		return
	}
	p.writing = false
	switch {
	case err == nil:
		p.told.Rev = max(p.told.Rev, rev)
	case errors.Is(err, job.ErrTooLarge):
		clear(p.settled) // some attempts may be told of twice
		b.dirty[t.Job] = p
	default:
		b.dirty[t.Job] = p
	}
}

// Behind is how many notices have been taken, or are to be, and are not settled.
func (b *Book) Behind() (n int) {
	for _, p := range b.pages {
		n += len(p.open)
	}
	return n
}
