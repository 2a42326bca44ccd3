package notify

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Book is what a leader has told of the jobs of which somebody is told, and has to tell. A job has a page only while there is
// something about it that has not been settled, or that a later change may turn out to end: of a million jobs that do well
// there are none. It is not safe for concurrent use.
type Book struct {
	began int64 // the revision up to which pages were opened when the term began
	last  int64 // that of the latest change
	find  Find
	pages map[string]*page
	ready []*Notice        // not taken yet
	dirty map[string]*page // those with something to write down
}

// Find returns the definition of a job and what has been told about it, as they are known now; nil where there is none.
type Find func(name string) (*job.Job, *job.Told)

// NewBook returns a book without pages. Open is to be called for each job of which somebody is told as of a revision, and then
// Apply with every change after it.
func NewBook(after int64, find Find) *Book {
	return &Book{began: after, last: after, find: find, pages: make(map[string]*page), dirty: make(map[string]*page)}
}

// slack is how far the clocks may differ by which a run ended and a definition was made.
const slack = 2 * time.Second

// Open takes over what the store had of a job when the term began, at the revision of NewBook or later: what has been told
// (nil: nothing), and its runs and events. What is newer than that revision is left out, as Apply has to tell of it.
func (b *Book) Open(j *job.Job, told *job.Told, runs []*job.Run, events []*job.Event) {
	p := b.page(j, told, b.began)
	since := j.Notified.Add(-slack)
	alive := func(id string) bool {
		return slices.ContainsFunc(runs, func(r *job.Run) bool { return r.ID == id && (r.Rev > b.began || !r.State.Terminal()) })
	}
	var news []job.Change
	for _, r := range runs {
		switch {
		case r.Rev > b.began:
		case !r.State.Terminal(), r.Rev > p.told.UpTo && !r.Ended().Before(since):
			news = append(news, job.Change{Rev: r.Rev, Run: r})
		}
	}
	for _, e := range events {
		if e.Rev <= b.began && e.Rev > p.told.UpTo && !e.At.Before(since) {
			news = append(news, job.Change{Rev: e.Rev, Event: e})
		}
	}
	slices.SortFunc(news, func(a, b job.Change) int { return cmp.Compare(a.Rev, b.Rev) })
	for _, c := range news {
		b.add(p, c)
	}
	maps.DeleteFunc(p.given, func(id string, _ int) bool { return !alive(id) })
	b.leave(p)
}

// page begins the page of a job, as of a revision.
func (b *Book) page(j *job.Job, told *job.Told, at int64) *page {
	p := &page{job: j, seen: at}
	b.pages[j.Name] = p
	if told != nil {
		p.told = *told
		p.given, p.settled = maps.Clone(told.Attempts), maps.Clone(told.Attempts)
		if !told.At.Before(j.Notified.Add(-slack)) {
			p.failing = told.Failing
		}
	}
	return p
}

// leave removes a page about which there is nothing to remember.
func (b *Book) leave(p *page) {
	if _, dirty := b.dirty[p.job.Name]; !dirty && p.atRest() {
		delete(b.pages, p.job.Name)
	}
}

// stale says whether a change was told before: after a gap in the watch, all events come again.
func (b *Book) stale(c job.Change) bool { return c.Rev < b.last || c.Rev <= b.began }

// Apply takes over a change of the store. They have to come in the order of their revisions; those that are older than others
// are passed over.
func (b *Book) Apply(c job.Change) {
	if b.stale(c) {
		return
	}
	b.last = c.Rev
	name := c.Name
	if c.Kind == job.RecordRun || c.Kind == job.RecordEvent {
		name, _, _ = strings.Cut(name, "/")
	}
	p := b.pages[name]
	if p == nil {
		if p = b.begin(name, c); p == nil {
			return
		}
	}
	switch c.Kind {
	case job.RecordJob:
		b.define(p, c)
		return
	case job.RecordTold:
		p.found(c)
	case job.RecordRun, job.RecordEvent:
		if c.Rev < p.seen { // outcomes of several runs of a job may share a revision
			return
		}
		p.seen = c.Rev
		b.add(p, c)
		b.leave(p)
	}
}

// begin begins the page of a job that has none, if a change may have to be told; nil if not. Had anything been open, or
// failing, there would be one.
func (b *Book) begin(name string, c job.Change) *page {
	if (c.Run == nil || !troubled(c.Run)) && (c.Event == nil || !missed(c.Event)) {
		return nil
	}
	j, told := b.find(name)
	if j == nil || len(j.Spec.Notify) == 0 {
		return nil
	}
	p := b.page(j, told, c.Rev-1)
	p.given, p.failing = nil, "" // of runs that are over
	return p
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
		if missed(c.Event) {
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
	if len(p.open) > 0 && p.open[0].Rev == p.told.UpTo { // its revision has more to tell
		p.told.UpTo--
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

// Marked says what became of a record of Marks: rev is that at which it was written, or of the one that is there instead. One
// that was refused comes again with the next Marks, in the place of that.
func (b *Book) Marked(t job.Told, rev int64, err error) {
	p := b.pages[t.Job]
	if p == nil {
		return
	}
	p.writing = false
	switch {
	case err == nil:
		p.told.Rev = max(p.told.Rev, rev)
		b.leave(p)
	case errors.Is(err, job.ErrConflict):
		p.told.Rev = max(p.told.Rev, rev)
		b.dirty[t.Job] = p
	case errors.Is(err, job.ErrTooLarge):
		clear(p.settled) // some attempts may be told of twice
		b.dirty[t.Job] = p
	default:
		b.dirty[t.Job] = p
	}
}

// Pages is how many jobs have one.
func (b *Book) Pages() int { return len(b.pages) }
