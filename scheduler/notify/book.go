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

// Book holds the notices about jobs with notifiers: those that a leader has sent, and those that it still has to send.
//
// A job has a page only while it has an open notice, or while a later change may end a failure. A job without failures has no page,
// so a million jobs need little memory. A Book is not safe for concurrent use.
type Book struct {
	began int64 // revision of the store with which the term started
	last  int64 // revision of the latest change
	find  Find
	pages map[string]*page
	ready []*Notice        // notices that Take has not returned yet
	dirty map[string]*page // pages with something to record
	ahead map[string]*page // pages with notices that some of their targets have got, and others not
}

// Find returns the present definition of a job and its NotifyState, which records the sent notices. Each is nil if there is none.
type Find func(name string) (*job.Job, *job.NotifyState)

// NewBook returns a book without pages. at is the revision at which the term started. First call Open for each job with
// notifiers, with the store's content at that revision or a later one. Then call Apply with every change after at.
func NewBook(at int64, find Find) *Book {
	return &Book{
		began: at, last: at, find: find, pages: make(map[string]*page),
		dirty: make(map[string]*page), ahead: make(map[string]*page),
	}
}

// Open adds the records that the store had of a job when the term started: its NotifyState (nil: there is none), its runs and its
// events. It ignores records that are newer than the revision of NewBook, because Apply brings them.
func (b *Book) Open(j *job.Job, record *job.NotifyState, runs []*job.Run, events []*job.Event) {
	p := b.openPage(j, record, b.began)
	since := j.Notified.Add(-slack)
	var news []job.Change
	for _, r := range runs {
		switch {
		case r.Rev > b.began:
		case !r.State.Terminal(), r.Rev > p.record.UpTo && !r.Ended().Before(since):
			news = append(news, job.Change{Rev: r.Rev, Value: r})
		}
	}
	for _, e := range events {
		switch {
		case e.Rev > b.began, e.At.Before(since):
		case e.Rev > p.record.UpTo:
			news = append(news, job.Change{Rev: e.Rev, Value: e})
		case e.Kind == job.EventLate:
			p.setLate(e)
		}
	}
	slices.SortFunc(news, func(a, b job.Change) int { return cmp.Compare(a.Rev, b.Rev) })
	for _, c := range news {
		b.add(p, c)
	}
	ended := func(r *job.Run) bool { return r.Rev <= b.began && r.State.Terminal() }
	maps.DeleteFunc(p.givenUp, func(id string, _ int) bool {
		return !slices.ContainsFunc(runs, func(r *job.Run) bool { return r.ID == id && !ended(r) })
	})
	maps.DeleteFunc(p.late, func(id string, _ bool) bool { // a late run that waits is not among runs, and a step may have none yet
		return slices.ContainsFunc(runs, func(r *job.Run) bool { return r.ID == id && ended(r) }) ||
			slices.ContainsFunc(events, func(e *job.Event) bool { return skips(e, id) })
	})
	b.closeIdle(p)
}

// openPage adds the page of a job, as of a revision.
func (b *Book) openPage(j *job.Job, record *job.NotifyState, at int64) *page {
	p := &page{job: j, seen: at}
	b.pages[j.Name] = p
	if record != nil {
		p.record = *record
		p.ahead = record.Ahead
		p.givenUp, p.reported = maps.Clone(record.Attempts), maps.Clone(record.Attempts)
		if !record.At.Before(j.Notified.Add(-slack)) {
			p.state = state{record.Failing, record.Failures, record.Said}
			if p.state.failing != "" && p.state.failures == 0 { // an earlier version has reported each failure, and counted none
				p.state.failures = job.AfterRange.High
			}
		} else {
			p.resetRecord()
		}
	}
	return p
}

// closeIdle removes the page of a job if the store's records can restore it.
func (b *Book) closeIdle(p *page) {
	if _, dirty := b.dirty[p.job.Name]; !dirty && p.isIdle() {
		delete(b.pages, p.job.Name)
	}
}

// Apply applies a change of the store. Changes must come in the order of their revisions. Apply ignores an older change,
// because all events come again after a gap in the watch.
func (b *Book) Apply(c job.Change) {
	if c.Rev < b.last || c.Rev <= b.began {
		return
	}
	b.last = c.Rev
	name := c.Name
	if c.Kind == job.RecordRun || c.Kind == job.RecordEvent {
		name, _, _ = strings.Cut(name, "/")
	}
	p := b.pages[name]
	if p == nil {
		if p = b.openFor(name, c); p == nil {
			return
		}
	}
	switch c.Kind {
	case job.RecordJob:
		b.define(p, c)
	case job.RecordNotifyState:
		p.applyRecord(c)
	case job.RecordRun, job.RecordEvent:
		if c.Rev < p.seen { // several runs of a job may end at one revision, so an equal one is new
			return
		}
		p.seen = c.Rev
		b.add(p, c)
		b.closeIdle(p)
	}
}

// openFor opens the page of a job that has none, if the change may have to be reported. Otherwise it returns nil. A job with an
// open notice or a failure already has a page.
func (b *Book) openFor(name string, c job.Change) *page {
	run, event := job.ValueOf[job.Run](c), job.ValueOf[job.Event](c)
	notable := run != nil && mayReport(run) || event != nil && (isMissed(event) || event.Kind == job.EventLate)
	mayBeLate := run != nil && run.State == job.Succeeded && run.Kind == job.KindScheduled
	if !notable && !mayBeLate && (run == nil || run.PingState() == "") {
		return nil
	}
	j, record := b.find(name)
	if j == nil || !j.Spec.Reports() || !notable && j.Spec.Ping == nil && !(mayBeLate && isLate(j, run)) {
		return nil
	}
	p := b.openPage(j, record, c.Rev-1)
	p.givenUp, p.state = nil, state{} // they belong to runs that have ended
	return p
}

// define applies a job's definition.
func (b *Book) define(p *page, c job.Change) {
	def := job.ValueOf[job.Job](c)
	switch {
	case c.Bad != nil: // keep the last readable definition
	case def == nil || !def.Spec.Reports():
		delete(b.pages, p.job.Name)
		delete(b.dirty, p.job.Name)
		delete(b.ahead, p.job.Name)
		p.gone = true
	default:
		if !def.Notified.Equal(p.job.Notified) {
			p.state = state{}
			p.resetRecord()
		}
		p.job = def
	}
}

// add makes a notice of a change, if a notifier of the job gets it. It makes a notice without targets if the state has changed and
// the next leader could not derive that from the history alone.
func (b *Book) add(p *page, c job.Change) {
	if r := job.ValueOf[job.Run](c); r != nil && isSilent(r) {
		delete(p.givenUp, r.ID)
		return
	}
	n := &Notice{
		Job: p.job.Name, Rev: c.Rev, Run: job.ValueOf[job.Run](c), Event: job.ValueOf[job.Event](c),
		Receipt: &Receipt{page: p, rev: c.Rev},
	}
	was, at := p.state, time.Time{}
	switch {
	case n.Run != nil:
		p.evaluate(n)
		at = n.at()
	case n.Event != nil:
		at = n.Event.At
		maps.DeleteFunc(p.late, func(id string, _ bool) bool { return skips(n.Event, id) })
		switch {
		case n.Event.Kind == job.EventLate:
			n.Occasions = []job.Occasion{job.OnLate}
			p.setLate(n.Event)
		case isMissed(n.Event) && p.job.Spec.FinishBy != "":
			n.Occasions = []job.Occasion{job.OnMissed, job.OnLate}
		case isMissed(n.Event):
			n.Occasions = []job.Occasion{job.OnMissed}
		}
	case c.Kind == job.RecordRun: // gone, or unreadable
		_, id, _ := strings.Cut(c.Name, "/")
		delete(p.givenUp, id)
		delete(p.begun, id)
		delete(p.late, id)
	}
	n.address(p.job.Spec.Notify, &p.state, at)
	p.ping(n)
	p.state.endBy(n.Run, n.Run != nil && (n.Run.Late || p.isLate(n.Run)))
	n.Receipt.attempt, n.Receipt.state = n.Attempt, p.state
	if n.Attempt > 0 {
		n.Receipt.run = n.Run.ID
	}
	switch {
	case len(n.To) > 0:
		b.ready = append(b.ready, n)
	case !was.differs(p.state, mostAfter(p.job.Spec.Notify)):
		return
	}
	p.open = append(p.open, n.Receipt)
	b.settle(p)
}

// Take returns the new notices to send. Call Done for each target of each notice, with the receipt of the notice.
func (b *Book) Take() []*Notice {
	list := b.ready
	b.ready = nil
	return slices.DeleteFunc(list, func(n *Notice) bool { return n.Receipt.page.gone })
}

// Done reports that the notice of r was sent to one of its targets, which is named, or that the sender gave it up for this target.
func (b *Book) Done(r *Receipt, target string) {
	p := r.page
	if i := slices.Index(r.to, delivery{target: target}); i >= 0 {
		r.to[i].done = true
	}
	if p.gone {
		return
	}
	b.settle(p)
	if len(p.open) > 0 {
		b.ahead[p.job.Name] = p
	}
}

// settle moves the record past the first notices that are done.
func (b *Book) settle(p *page) {
	for len(p.open) > 0 && p.open[0].done() {
		p.advance(p.open[0])
		p.open[0] = nil
		p.open = p.open[1:]
		b.dirty[p.job.Name] = p
	}
	if len(p.open) > 0 && p.open[0].rev == p.record.UpTo { // another notice of this revision is open
		p.retreat()
	}
}

// Records returns the records to store at now, at most one for each job. Call Recorded for each of them.
func (b *Book) Records(now time.Time) (list []job.NotifyState) {
	b.recordAhead(now)
	for name, p := range b.dirty {
		if !p.writing {
			p.writing = true
			delete(b.dirty, name)
			list = append(list, p.nextRecord(now, b.last))
		}
	}
	slices.SortFunc(list, func(x, y job.NotifyState) int { return strings.Compare(x.Job, y.Job) })
	return list
}

// Recorded takes the store's answer to a record. rev is the revision of the record. If the store refused the record, rev is the
// revision of the record that it has instead. The next call of Records then returns the record again, to replace the other one.
func (b *Book) Recorded(t job.NotifyState, rev int64, err error) {
	p := b.pages[t.Job]
	if p == nil {
		return
	}
	p.writing = false
	if err == nil || errors.Is(err, job.ErrConflict) {
		p.record.Rev = max(p.record.Rev, rev)
	}
	if err == nil {
		b.closeIdle(p)
		return
	}
	if errors.Is(err, job.ErrTooLarge) {
		clear(p.reported) // some attempts may be reported twice
	}
	b.dirty[t.Job] = p
}

// Pages returns how many jobs have a page.
func (b *Book) Pages() int { return len(b.pages) }
