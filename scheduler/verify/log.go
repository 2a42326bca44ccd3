package verify

import (
	"maps"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// replay is the state of the store after each change of the log.
type replay struct {
	*checker
	runs    map[string]*job.Run
	slots   map[string]map[string]*job.Run // those of slots, by job and id
	gone    map[string]time.Time           // when the runs were created that have been removed from history; zero: not known
	ended   map[string]*ended              // by job: the remaining history
	cursors map[string]*job.Cursor
	strayed map[string]*job.Cursor // by job: the cursor before a move that was wrong
	spoilt  map[string]bool        // unreadable cursors, whose removal is a repair
	defs    map[string]*job.Job    // nil: not known
	born    map[string]bool        // jobs that were created in the log and have no cursor yet
	gate    *job.Gate              // nil: not known
	given   map[string]int64       // by armed run with delivery at_most_once: the generation of its definition
	claimed map[string]claim       // by job whose runs may not overlap: the latest claim under its present definition; see checkRise
	term    int64                  // the highest so far
}

// claim is the begin of an attempt.
type claim struct {
	run   string
	token int64
}

// checkLog checks every change in order.
func (c *checker) checkLog(log [][]job.Change) {
	l := &replay{
		checker: c,
		runs:    map[string]*job.Run{},
		slots:   map[string]map[string]*job.Run{},
		gone:    map[string]time.Time{},
		ended:   map[string]*ended{},
		cursors: map[string]*job.Cursor{},
		strayed: map[string]*job.Cursor{},
		spoilt:  map[string]bool{},
		defs:    map[string]*job.Job{},
		born:    map[string]bool{},
		given:   map[string]int64{},
		gate:    &c.gate,
		claimed: map[string]claim{},
	}
	for name, s := range c.jobs {
		l.defs[name] = s.def
		for _, r := range s.runs {
			if len(log) > 0 && r.Rev < log[0][0].Rev { // the log has no change of this run
				l.add(r)
			}
		}
	}
	// If the log changes a definition or the gate, its state before the first change is unknown. But a pause does not
	// change the time of the last resumption.
	gateChanged := false
	for _, batch := range log {
		for _, ch := range batch {
			switch ch.Kind {
			case job.RecordJob:
				delete(l.defs, ch.Name)
			case job.RecordGate:
				if !gateChanged {
					gateChanged, l.gate = true, nil
					if gate := job.ValueOf[job.Gate](ch); gate != nil && gate.Paused != nil {
						l.gate = &job.Gate{Since: gate.Since}
					}
				}
			case job.RecordRun:
				c.known[ch.Name] = true
			}
		}
	}
	for _, batch := range log {
		l.define(batch)
		c.checkHolders(batch)
		l.checkRemoved(batch)
		for _, ch := range batch {
			c.report.Changes++
			l.check(ch, batch)
		}
	}
}

// define applies the definitions and the gate of a revision.
func (l *replay) define(batch []job.Change) {
	for _, ch := range batch {
		switch ch.Kind {
		case job.RecordJob:
			before, j := l.defs[ch.Name], job.ValueOf[job.Job](ch)
			if before == nil || j == nil || before.Generation != j.Generation || !before.Created.Equal(j.Created) {
				maps.DeleteFunc(l.claimed, func(scope string, _ claim) bool {
					name, _, _ := strings.Cut(scope, "/")
					return name == ch.Name
				})
			}
			if before != nil && before.Origin.Kind != job.OriginFile && ch.Deleted() {
				l.removals[ch.Rev] = ch.Name
			}
			l.defs[ch.Name] = j
			if j != nil && j.Generation == 1 && j.SinceReason == job.SinceCreated && j.Created.Equal(j.Updated) && j.Paused == nil {
				l.born[ch.Name] = l.cursors[ch.Name] == nil
			}
		case job.RecordGate:
			l.gate = job.ValueOf[job.Gate](ch)
		}
	}
}

func (l *replay) check(ch job.Change, batch []job.Change) {
	switch {
	case ch.Deleted():
		l.checkDeletion(ch)
		return
	case ch.Kind == job.RecordCursor && ch.Bad != nil:
		l.spoilt[ch.Name] = true
		return
	}
	switch v := ch.Value.(type) {
	case *job.Run:
		l.checkRunChange(ch, v)
	case *job.Cursor:
		before := l.cursors[ch.Name]
		if before == nil && l.born[ch.Name] { // the first cursor of a job whose creation the log shows
			before = &job.Cursor{Job: ch.Name}
		}
		delete(l.born, ch.Name)
		delete(l.spoilt, ch.Name)
		if before != nil {
			l.checkMoved(before, v, batch)
		}
		l.cursors[ch.Name] = v
		l.checkTerm(ch.Name, ch.Rev, v.Term)
	case *job.Event:
		if v.Kind == job.EventSkipped {
			l.checkTerm(ch.Name, ch.Rev, v.Term)
		}
	}
}

// checkDeletion checks that a run was removed after its end, and a cursor together with its job.
func (l *replay) checkDeletion(ch job.Change) {
	switch ch.Kind {
	case job.RecordRun:
		var created time.Time
		if r := l.runs[ch.Name]; r != nil {
			created = r.Created
			if !r.State.Terminal() {
				l.broken(7, ch.Name, ch.Rev, "it was removed while it was %s", r.State)
			}
		}
		l.setRun(ch.Name, nil)
		l.gone[ch.Name] = created
	case job.RecordCursor:
		if l.defs[ch.Name] != nil && l.cursors[ch.Name] != nil && !l.spoilt[ch.Name] {
			l.broken(5, ch.Name, ch.Rev, "its cursor was removed, but the job was not")
		}
		delete(l.cursors, ch.Name)
		delete(l.strayed, ch.Name)
		delete(l.spoilt, ch.Name)
	}
}

// checkRunChange checks the new record r of a run against the one before it.
func (l *replay) checkRunChange(ch job.Change, r *job.Run) {
	before := l.runs[ch.Name]
	if created, gone := l.gone[ch.Name]; gone && before == nil && ofSlot(r) && !l.ofNewJob(r, created) {
		l.broken(1, ch.Name, ch.Rev, "it was created a second time")
	}
	l.checkMove(before, r)
	l.checkDelivery(before, r)
	l.checkRise(before, r)
	l.checkFollows(before, r)
	l.checkDecided(before, r)
	l.setRun(ch.Name, r)
	if r.State == job.Armed {
		l.checkTerm(ch.Name, ch.Rev, r.Term)
	}
}

// ofNewJob reports whether r is a backfilled run of a job that was created after created, the time at which an earlier run of this
// slot was created. The earlier run belonged to another job of the same name, which was deleted. If the time is not known, because
// the log begins later, ofNewJob assumes so.
func (l *replay) ofNewJob(r *job.Run, created time.Time) bool {
	def := l.defs[r.Job]
	return r.Kind == job.KindBackfill && def != nil && r.Slot.Before(def.Created) && created.Before(def.Created)
}

// checkRise checks that tokens rise from one attempt of a job to the next, for a definition whose runs may not overlap. Runs of a
// backfill overlap with others. The copies of a run overlap too, so they rise for each worker.
func (l *replay) checkRise(before, after *job.Run) {
	def := l.defs[after.Job]
	if after.Kind == job.KindBackfill || after.State != job.Running || before == nil || before.State == job.Running || def == nil ||
		def.Spec.Overlap == job.OverlapAllow || def.Generation != after.Generation {
		return
	}
	scope := after.Job
	if after.Kind == job.KindCopy {
		scope += "/" + after.On
	}
	if last := l.claimed[scope]; after.Token < last.token {
		l.broken(4, after.Name(), after.Rev, "it began with token %d, after run %s with token %d", after.Token, last.run, last.token)
		return
	}
	l.claimed[scope] = claim{after.Name(), after.Token}
}

// checkTerm checks that no leader wrote after a later leader had written.
func (l *replay) checkTerm(name string, rev, of int64) {
	if of < l.term {
		l.broken(2, name, rev, "it was written in term %d, after a write in term %d", of, l.term)
	}
	l.term = max(of, l.term)
}

// checkMove checks one transition of a run.
func (c *checker) checkMove(before, after *job.Run) {
	if before == nil {
		return
	}
	name, rev := after.Name(), after.Rev
	switch {
	case before.State.Terminal():
		if before.State == after.State {
			c.broken(1, name, rev, "it was %s, and was written again", before.State)
			break
		}
		c.broken(1, name, rev, "it was %s, and became %s", before.State, after.State)
	case before.State == job.Running && after.State == job.Armed: // through pending: its worker was lost
	case before.State != after.State && !before.State.CanBecome(after.State),
		before.State == job.Pending && after.Copies == nil && (after.State == job.Succeeded || after.State == job.Failed):
		c.broken(7, name, rev, "it went from %s to %s", before.State, after.State)
	}
	if before.State == job.Armed && after.State == job.Running && after.Token != before.Rev {
		c.broken(3, name, rev, "it was claimed with token %d, but was armed with token %d", after.Token, before.Rev)
	}
	if before.State == job.Running && after.State == job.Running && after.Token != before.Token {
		c.broken(3, name, rev, "its token changed from %d to %d while it was running", before.Token, after.Token)
	}
	atWorker := before.State == job.Armed || before.State == job.Running
	if atWorker && after.State == job.Running && (after.Worker != before.Worker || after.Attempt != before.Attempt) {
		c.broken(3, name, rev, "attempt %d at worker %s became attempt %d at worker %s without an end",
			before.Attempt, before.Worker, after.Attempt, after.Worker)
	}
	n, m := len(before.Attempts), len(after.Attempts)
	if m < n && n < keptAttempts {
		c.broken(1, name, rev, "its number of attempts fell from %d to %d", n, m)
	}
	if before.State == job.Running && after.State != job.Running {
		if m == 0 || after.Attempts[m-1].Token != before.Token {
			c.broken(3, name, rev, "the attempt with token %d ended without an outcome", before.Token)
		}
	}
}

// keptAttempts is how many attempts a record keeps.
const keptAttempts = 20
