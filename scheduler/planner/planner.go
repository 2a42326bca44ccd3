package planner

import (
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Planner is the state machine. It is not safe for concurrent use.
type Planner struct {
	cfg     Config
	jobs    map[string]*jobState
	workers map[string]*workerState
	invalid published[error] // jobs whose schedule cannot be parsed, and why
	gate    job.Gate
	gateRev int64 // revision of the gate's record, readable or not; zero: there is none
	// doubtfulWorkers are workers whose record became unreadable, or was removed, and when each counts as absent.
	doubtfulWorkers map[*workerState]time.Time

	leading    bool
	term       int64         // the latest term of which a cursor is known
	leadSince  time.Time     // no leader dispatched slots that were due before this time
	firstLed   time.Time     // when the first term of this planner began; zero: it has not led
	now        time.Time     // of the latest Plan
	seen       int64         // all changes up to this revision have been applied
	feedLag    time.Duration // see SetFeedLag
	unfinished bool          // the last Plan left work for the next one

	dirty     []*jobState            // jobs to decide in the next Plan
	listed    []*jobState            // the room of the last agenda
	order     []urgent               // the room of the last urgentFirst
	timers    timers                 // when to decide the other jobs
	waiting   map[demandKind]*demand // jobs that wait for room at a worker
	early     earlyRuns              // runs that are armed ahead of their time
	arming    armingRuns             // runs that decisions under way arm ahead of their time
	unplaced  unplacedRuns           // due runs without a worker
	turns     int64                  // assignments so far: see workerState.turn
	limits    map[string]*limitState
	contended map[*limitState]bool     // limits that runs wait for
	nextFree  time.Time                // when a rate next frees one of those limits; zero: only a change can
	doubtEnds time.Time                // when a doubtful worker next counts as absent; zero: there is none
	breakers  published[bool]          // jobs that have a breaker, and whether it is open
	backfills map[string]*job.Backfill // by job
	held      map[string]time.Time     // by job: since when its backfill waits, or when its record last said for what
	steps     steps
	turned    map[string]time.Time // when workers came, left or began to drain, by name: see noteTurn
	late      lateSlots
}

// New returns a planner that knows nothing yet.
func New(cfg Config) *Planner {
	return &Planner{
		cfg: cfg.withDefaults(), jobs: make(map[string]*jobState), workers: make(map[string]*workerState),
		doubtfulWorkers: make(map[*workerState]time.Time), waiting: make(map[demandKind]*demand),
		backfills: make(map[string]*job.Backfill), held: make(map[string]time.Time), turned: make(map[string]time.Time),
		limits: make(map[string]*limitState), contended: make(map[*limitState]bool),
	}
}

// Lead starts a term at now. Before the call, Apply must have received the whole content of the store.
func (p *Planner) Lead(now time.Time) {
	p.leading, p.leadSince = true, now
	if p.firstLed.IsZero() {
		p.firstLed = now
	}
	for _, w := range p.workers {
		w.reserved, w.reservedEarly = 0, 0
	}
	clear(p.waiting)
	clear(p.late)
	p.arming = armingRuns{}
	clear(p.contended)
	for _, l := range p.limits {
		l.reserved, l.waiting = 0, nil
	}
	for _, j := range p.jobs {
		j.busy, j.arming = false, nil
		p.setUnplaced(j, unplacedRuns{})
		j.resetTrouble()
		if j.throttle != nil {
			j.throttle.queued, j.throttle.left = nil, nil
			p.rebuildBreaker(j, now)
		}
		if !j.live.none() || j.isStep() || p.backfills[j.name] != nil {
			p.markDirty(j)
		}
	}
}

// Follow ends the term: Plan decides nothing until the next Lead.
func (p *Planner) Follow() { p.leading = false }

// SetFeedLag sets how far the planner's view may lag behind the store. If the feed has brought no change, the planner may
// conclude this only for times earlier than now minus lag.
func (p *Planner) SetFeedLag(lag time.Duration) { p.feedLag = lag }

// Plan returns the decisions to make at now: at most limit, and at most one for each job. Each decision must be passed to
// Resolve. Call Plan again at Next, and after every Apply and Resolve.
func (p *Planner) Plan(now time.Time, limit int) []job.Decision {
	now = now.UTC().Round(0) // timers count by the wall clock
	p.now = now
	p.countDue(now)
	p.expireDoubtful(now)
	if !p.leading {
		p.setFollowerTimers()
		return nil
	}
	defer func() { p.nextFree, p.doubtEnds = p.nextTurn(now), p.nextDoubt() }()
	var ds []job.Decision
	// Several rounds are needed: a job that waited for room may not need it any more, and leaves it to another job.
	for decided := 0; ; {
		list := p.agenda(now, limit-len(ds))
		for _, j := range list {
			if d := p.decide(j, now); d != nil {
				d.Job = j.name
				if d.Run != nil && d.Run.State == job.Armed {
					d.Run.Armed = now
				}
				d.Gate = p.gateRev
				d.Guards = append(d.Guards, p.limitGuards(d.Run)...)
				j.busy = true
				p.reserve(j, d.Run, 1)
				p.reserveLimits(j, d.Run)
				ds = append(ds, *d)
			}
		}
		decided += len(list)
		p.unfinished = len(ds) >= limit || decided >= jobsPerDecision*limit
		if len(list) == 0 || p.unfinished {
			return ds
		}
	}
}

// jobsPerDecision bounds the work of one Plan: how many jobs it examines per decision that it may return.
const jobsPerDecision = 16

// decider examines one concern of a job. It returns a decision, or nil if there is none now. Before it returns nil, it sets
// the timer for its next decision.
type decider func(*Planner, *jobState, time.Time) *job.Decision

// deciders are all concerns of a job, the most urgent first.
var deciders = []decider{
	(*Planner).recoverLost,     // runs whose worker is lost
	(*Planner).stopOverdue,     // runs that should have ended
	(*Planner).cancelOrphans,   // runs of a deleted job
	(*Planner).recall,          // runs that are armed ahead and may not start
	(*Planner).expireApprovals, // runs that nobody has approved in time
	(*Planner).followCopies,    // runs on every worker
	(*Planner).decideWaiting,   // steps of a workflow that a client started
	(*Planner).skipWaited,      // runs that have waited too long for their start
	(*Planner).decideSlot,      // the next slot
	(*Planner).assign,          // runs that wait for a worker
	(*Planner).reportLate,      // slots that are late
	(*Planner).backfill,        // past slots
	(*Planner).prune,           // history
}

// unreadableDeciders are the concerns of a job whose definition cannot be read. Its slots are unknown, and so is whether
// it still exists.
var unreadableDeciders = []decider{
	(*Planner).recoverLost, (*Planner).stopOverdue, (*Planner).expireApprovals, (*Planner).followCopies, (*Planner).assign,
	(*Planner).prune,
}

// decide returns the most urgent decision about j at now, or nil if there is none.
func (p *Planner) decide(j *jobState, now time.Time) *job.Decision {
	if j.busy { // the runs of j keep their places in the queues
		return nil
	}
	p.leaveQueues(j)
	if at := j.trouble().retryAt; now.Before(at) {
		p.wakeAt(j, at)
		return nil
	}
	p.approach(j, now)
	list := deciders
	if j.unreadable {
		list = unreadableDeciders
	}
	for _, decide := range list {
		if d := decide(p, j, now); d != nil {
			p.holdPlace(j, d, now)
			return d
		}
	}
	return nil
}

// Next returns the latest time for the next call of Plan, if nothing changes before that time. false means that no call is
// needed.
func (p *Planner) Next() (time.Time, bool) {
	if !p.leading {
		return time.Time{}, false
	}
	if len(p.dirty) > 0 || p.unfinished {
		return time.Time{}, true
	}
	at, ok := p.timers.first()
	for _, other := range []time.Time{p.nextFree, p.doubtEnds} {
		if !other.IsZero() && (!ok || other.Before(at)) {
			at, ok = other, true
		}
	}
	return at, ok
}

// Due returns the earliest timer of a job, past or future; zero if there is none. Unlike Next, it ignores jobs that merely
// changed.
func (p *Planner) Due() time.Time {
	due, _ := p.timers.first()
	return due
}
