package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Config holds what a planner does not learn from the store.
type Config struct {
	// WorkerTTL is the longest time for which a worker that died is still present: the TTL of its lease and what etcd
	// and the watch may add. DefaultWorkerTTL if zero.
	WorkerTTL time.Duration
	// ReturnGrace is how long after the beginning of a term a worker that has been absent ever since this planner looks
	// may return, before its runs are lost. DefaultReturnGrace if zero.
	ReturnGrace time.Duration
	// ClaimTimeout is how long a worker that is present may have a run whose time has come without beginning it or
	// handing it back, before the run is taken from it. DefaultClaimTimeout if zero.
	ClaimTimeout time.Duration
	// StopMargin is how long after its timeout and its kill grace an attempt that goes on at a worker that is present is
	// asked to end, and StopPatience how long after that it is given up. A worker whose clock is behind, or that heard late
	// of its claim, has to be within StopMargin. DefaultStopMargin and DefaultStopPatience if zero.
	StopMargin, StopPatience time.Duration
	// ArmAhead is how long before its time a run may be given to a worker. Zero: not before.
	ArmAhead time.Duration
	// Retention bounds the history of each job.
	Retention Retention
}

// Retention says how many ended runs of each job are kept, and how long. Zero means without bound.
type Retention struct {
	Success int // succeeded and skipped
	Failed  int // all others
	MaxAge  time.Duration
}

// The defaults of Config. That of WorkerTTL is a lease of 5 s and what etcd and the watch add as a rule: where etcd's leader may
// die with the worker, it takes more. That of ClaimTimeout is longer than a worker tries to read a definition and waits for room.
const (
	DefaultWorkerTTL    = 7 * time.Second
	DefaultReturnGrace  = 7 * time.Second
	DefaultClaimTimeout = time.Minute
	DefaultStopMargin   = time.Minute
	DefaultStopPatience = 2 * time.Minute
)

// Planner is the state machine. It is not safe for concurrent use.
type Planner struct {
	cfg     Config
	jobs    map[string]*jobState
	workers map[string]*workerState
	garbled map[*workerState]time.Time // present workers whose record nobody can read, and when they are taken for absent
	gate    job.Gate
	gateRev int64            // of its record, readable or not; 0: there is none
	misfits map[string]error // never changed, but replaced

	leading    bool
	leadSince  time.Time     // slots due before it passed while nobody could dispatch
	seen       int64         // every change up to this revision has been applied
	silence    time.Duration // so long ago everything was known; see Silent
	unfinished bool          // the last Plan left work for the next

	dirty   []*jobState            // to be looked at
	timers  timers                 // when else to look at a job
	waiting map[demandKind]*demand // jobs that wait for room at a worker, by what they need
	early   earlyRuns              // runs that are armed ahead of their time
	leaving earlyRuns              // those that decisions under way arm ahead of their time
	lacking int                    // runs that are due and for which no worker has room

	limits    map[string]*limitState
	contended map[*limitState]bool // those for which runs wait
	turnAt    time.Time            // when one of them is free again; zero: when something happens
	breakers  map[string]bool      // jobs that have one, and whether it is open
	shown     map[string]bool      // breakers as Breakers returned them last; nil if they have changed since
}

// Silent says for how long the store may have kept something from us: all that was in it so long ago has been applied. What is
// proven by having heard of nothing is proven as of then.
func (p *Planner) Silent(silence time.Duration) { p.silence = silence }

// New returns a planner that knows nothing yet.
func New(cfg Config) *Planner {
	if cfg.WorkerTTL == 0 {
		cfg.WorkerTTL = DefaultWorkerTTL
	}
	if cfg.ReturnGrace == 0 {
		cfg.ReturnGrace = DefaultReturnGrace
	}
	if cfg.ClaimTimeout == 0 {
		cfg.ClaimTimeout = DefaultClaimTimeout
	}
	if cfg.StopMargin == 0 {
		cfg.StopMargin = DefaultStopMargin
	}
	if cfg.StopPatience == 0 {
		cfg.StopPatience = DefaultStopPatience
	}
	return &Planner{
		cfg: cfg, jobs: make(map[string]*jobState), workers: make(map[string]*workerState), waiting: make(map[demandKind]*demand),
		garbled: make(map[*workerState]time.Time), limits: make(map[string]*limitState), contended: make(map[*limitState]bool),
	}
}

// Lead begins a term at now. All that is in the store has to have been applied.
func (p *Planner) Lead(now time.Time) {
	p.leading, p.leadSince = true, now
	for _, w := range p.workers {
		w.reserved, w.reservedEarly = 0, 0
	}
	clear(p.waiting)
	p.leaving = earlyRuns{}
	clear(p.contended)
	for _, l := range p.limits {
		l.reserved, l.waiting = 0, nil
	}
	for _, j := range p.jobs {
		j.busy = false
		p.lack(j, 0)
		j.forgive()
		if j.throttle != nil {
			j.throttle.queued, j.throttle.left = nil, nil
			p.sortOut(j, now)
		}
		if len(j.live.order) > 0 {
			p.touch(j)
		}
	}
}

// Follow ends the term: Plan decides nothing until Lead is called again.
func (p *Planner) Follow() { p.leading = false }

// Plan returns what to do at now, at most limit decisions, each of another job. Every decision has to be settled. Call
// it again at Next, after every Apply and after every Settle.
func (p *Planner) Plan(now time.Time, limit int) []job.Decision {
	now = now.UTC()
	p.ripen(now)
	p.bury(now)
	if !p.leading {
		p.refresh()
		return nil
	}
	defer func() { p.turnAt = p.nextTurn(now) }()
	var ds []job.Decision
	// Several rounds, since a job that waited for room may not want it any more.
	for looks := 0; ; {
		list := p.agenda(now, limit-len(ds))
		for _, j := range list {
			if d := p.look(j, now); d != nil {
				d.Job = j.name
				if d.Run != nil && d.Run.State == job.Armed {
					d.Run.Armed = now
				}
				d.Gate = p.gateRev
				j.busy = true
				p.reserve(d.Run, 1)
				p.reserveLimits(j, d.Run)
				ds = append(ds, *d)
			}
		}
		looks += len(list)
		p.unfinished = len(ds) >= limit || looks >= looksPerDecision*limit
		if len(list) == 0 || p.unfinished {
			return ds
		}
	}
}

// looksPerDecision bounds the work of one Plan, in jobs looked at for each decision that it may return.
const looksPerDecision = 16

// refresh lets a standby know when each job that changed would have to be looked at.
func (p *Planner) refresh() {
	for _, j := range p.dirty {
		j.dirty = false
		p.timers.set(j, time.Time{})
		if due, ok := p.nextDue(j); ok {
			p.wakeAt(j, due.Add(-p.cfg.ArmAhead))
		}
		p.expect(j)
	}
	p.dirty = nil
}

// Next returns when Plan has to be called at the latest, if nothing else happens; false means not at all.
func (p *Planner) Next() (time.Time, bool) {
	if !p.leading {
		return time.Time{}, false
	}
	if len(p.dirty) > 0 || p.unfinished {
		return time.Time{}, true
	}
	at, ok := p.timers.first()
	if !p.turnAt.IsZero() && (!ok || p.turnAt.Before(at)) {
		return p.turnAt, true
	}
	return at, ok
}

// Due returns when the job that has been waiting longest has to be looked at, or had to be; the zero time if none has.
// Unlike Next it does not tell of what merely changed.
func (p *Planner) Due() time.Time {
	due, _ := p.timers.first()
	return due
}

// touch has the job looked at in the next Plan.
func (p *Planner) touch(j *jobState) {
	if !j.dirty {
		j.dirty = true
		p.dirty = append(p.dirty, j)
	}
}

// wakeAt has the job looked at not later than at.
func (p *Planner) wakeAt(j *jobState, at time.Time) {
	if j.timer == 0 || at.Before(j.wake) {
		p.timers.set(j, at)
	}
}
