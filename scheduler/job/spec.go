package job

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Spec is what a job file says about one job. Its JSON names are the keys of the file.
// A Spec in the store is complete: WithDefaults was applied to it.
type Spec struct {
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"` // for selectors and for scopes of roles

	// When. At most one of Schedule, Every and At is set; with none of them the job runs only when asked.
	Schedule []string    `json:"schedule,omitempty"` // cron expressions; a slot of any of them is a slot
	Every    Duration    `json:"every,omitempty"`    // slots on multiples since 1970-01-01T00:00:00Z
	At       []time.Time `json:"at,omitempty"`       // single instants
	After    []After     `json:"after,omitempty"`    // the job is a step: its slots are those of these jobs
	Timezone string      `json:"timezone,omitempty"` // IANA name; "UTC" by default
	DST      *DST        `json:"dst,omitempty"`
	Start    *time.Time  `json:"start,omitempty"`    // no slot before it
	End      *time.Time  `json:"end,omitempty"`      // no slot at or after it
	Exclude  []string    `json:"exclude,omitempty"`  // dates, YYYY-MM-DD, in Timezone
	Calendar *Calendar   `json:"calendar,omitempty"` // the days on which the job has slots; nil: every day
	Jitter   Duration    `json:"jitter,omitempty"`   // a run starts at its slot plus a share of this that is fixed per job

	// Under which policies.
	Missed       Missed            `json:"missed,omitempty"`
	MissedWindow Duration          `json:"missed_window,omitempty"` // older missed slots are skipped; 0: no limit of age
	MissedLimit  int               `json:"missed_limit,omitempty"`  // cap for Missed all
	Overlap      Overlap           `json:"overlap,omitempty"`
	Delivery     Delivery          `json:"delivery,omitempty"`
	SuccessCodes []int             `json:"success_codes,omitempty"` // exit codes of a program that mean success; nil: 0
	Timeout      Duration          `json:"timeout,omitempty"`       // of one attempt
	KillGrace    Duration          `json:"kill_grace,omitempty"`    // between SIGTERM and SIGKILL
	Heartbeat    Duration          `json:"heartbeat,omitempty"`     // an attempt without progress for so long is ended; 0: never
	Retry        *Retry            `json:"retry,omitempty"`
	Priority     int               `json:"priority,omitempty"`     // higher goes first when workers are short
	MaxPending   int               `json:"max_pending,omitempty"`  // submitted runs that may await their start; 0: DefaultMaxPending
	StartWithin  Duration          `json:"start_within,omitempty"` // a run that has waited so long is skipped; 0: it waits without end
	FinishBy     string            `json:"finish_by,omitempty"`    // a time of day or a duration; see schedule.ParseFinishBy
	Approve      *Approve          `json:"approve,omitempty"`      // each run waits for a person; nil: none does
	Workers      map[string]string `json:"workers,omitempty"`      // labels that a worker must have; see EveryWorker
	Notify       Notify            `json:"notify,omitempty"`       // the notifiers that report about the job
	Ping         *Ping             `json:"ping,omitempty"`         // where pings about the runs go; nil: nowhere
	Limits       []string          `json:"limits,omitempty"`       // names of cluster-wide limits
	Rate         Rate              `json:"rate,omitzero"`          // the highest rate at which its attempts begin
	Breaker      *Breaker          `json:"breaker,omitempty"`

	// What. Exactly one is set.
	Command   []string   `json:"command,omitempty"` // argv
	Shell     string     `json:"shell,omitempty"`   // given to /bin/sh -c
	HTTP      *HTTP      `json:"http,omitempty"`
	Handler   string     `json:"handler,omitempty"` // a Go function registered by the worker's program
	Container *Container `json:"container,omitempty"`

	Kubernetes *Kubernetes `json:"kubernetes,omitempty"`

	// Outputs says where in the response of HTTP the outputs of the run are: a JSON Pointer for each name.
	Outputs map[string]string `json:"output,omitempty"`

	Env map[string]string `json:"env,omitempty"` // ${env:} and ${file:} are resolved on the worker, never stored
	Dir string            `json:"dir,omitempty"` // working directory of a program

	Resources *Resources `json:"resources,omitempty"` // of a program; nil: no limits

	Payload json.RawMessage `json:"payload,omitempty"`

	Params map[string]Param `json:"params,omitempty"` // what clients may give to a run; nil: nothing
	Hooks  Hooks            `json:"hooks,omitempty"`  // signed requests that start the job
}

// DST holds the policies for a wall time that a change of clocks removes (Gap) or repeats (Fold).
type DST struct {
	Gap  string `json:"gap,omitempty"`  // run | skip
	Fold string `json:"fold,omitempty"` // first | last | both
}

// Retry says how often and when an attempt that failed is tried again.
type Retry struct {
	Max      int         `json:"max"`                 // further attempts after the first
	Backoff  Backoff     `json:"backoff,omitempty"`   // how the delay grows
	Min      Duration    `json:"min,omitempty"`       // the first delay
	MaxDelay Duration    `json:"max_delay,omitempty"` // the longest delay
	Jitter   RetryJitter `json:"jitter,omitempty"`
	On       []RetryOn   `json:"on,omitempty"` // which ends of an attempt are retried; nil: those that the kind of action says
}

// The ranges of a job's fields. They apply to job files and to records in the store, because the code that uses a
// definition relies on them.
var (
	EveryRange        = Range[Duration]{1, MaxDuration}
	JitterRange       = Range[Duration]{0, Duration(24*time.Hour) - 1}
	MissedWindowRange = Range[Duration]{0, MaxDuration}
	MissedLimitRange  = Range[int]{1, 10_000}
	TimeoutRange      = Range[Duration]{1, MaxDuration}
	KillGraceRange    = Range[Duration]{1, Duration(time.Hour)}
	HeartbeatRange    = Range[Duration]{Duration(time.Second), MaxDuration} // a busy machine may delay a shorter one too long
	PriorityRange     = Range[int]{-1000, 1000}
	MaxPendingRange   = Range[int]{0, 10_000_000} // 0: the default
	StartWithinRange  = Range[Duration]{0, MaxDuration}

	ExitCodeRange = Range[int]{0, 255}

	RetryMaxRange   = Range[int]{0, 1000}
	RetryDelayRange = Range[Duration]{1, MaxDuration}
)

// The defaults of WithDefaults.
const (
	DefaultTimeout     = Duration(24 * time.Hour)
	DefaultKillGrace   = Duration(10 * time.Second)
	DefaultMissedLimit = 100
	DefaultMaxPending  = 1000
	DefaultRetryMin    = Duration(time.Second)
	DefaultRetryMax    = Duration(5 * time.Minute)
)

// WithDefaults returns a copy of s in which everything that has a default is set. It does not validate.
func (s Spec) WithDefaults() Spec {
	setDefault(&s.Timezone, "UTC")
	dst := DST{Gap: "run", Fold: "first"}
	if s.DST != nil {
		dst = *s.DST
		setDefault(&dst.Gap, "run")
		setDefault(&dst.Fold, "first")
	}
	s.DST = &dst
	if s.Calendar != nil {
		c := *s.Calendar
		setDefault(&c.Else, "skip")
		s.Calendar = &c
	}
	setDefault(&s.Missed, MissedLatest)
	setDefault(&s.MissedLimit, DefaultMissedLimit)
	if s.Step() {
		s.After = slices.Clone(s.After)
		for i := range s.After {
			setDefault(&s.After[i].When, WhenSuccess)
		}
		setDefault(&s.Overlap, OverlapQueue)
	}
	setDefault(&s.Overlap, OverlapSkip)
	setDefault(&s.Delivery, AtLeastOnce)
	setDefault(&s.Timeout, DefaultTimeout)
	setDefault(&s.KillGrace, DefaultKillGrace)
	if s.Retry != nil {
		r := *s.Retry
		setDefault(&r.Backoff, BackoffExponential)
		setDefault(&r.Min, DefaultRetryMin)
		setDefault(&r.MaxDelay, max(DefaultRetryMax, r.Min))
		setDefault(&r.Jitter, JitterFull)
		s.Retry = &r
	}
	s.Notify = s.Notify.withDefaults()
	if s.Breaker != nil {
		b := *s.Breaker
		setDefault(&b.Window, DefaultBreakerWindow)
		setDefault(&b.FailureRatio, DefaultBreakerRatio)
		setDefault(&b.OpenFor, DefaultBreakerOpenFor)
		s.Breaker = &b
	}
	for i := range actions {
		if a := &actions[i]; a.defaults != nil && a.has(&s) {
			a.defaults(&s)
		}
	}
	return s
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Check returns an error if a field of s is out of its range, or if s has no action or several. It does not check the
// schedule: package schedule does. It allocates nothing for a sound Spec, because a new leader checks all definitions.
func (s *Spec) Check() error {
	err := cmp.Or(
		s.checkAction(),
		s.checkAfter(),
		EveryRange.check("every", s.Every),
		JitterRange.check("jitter", s.Jitter),
		known("missed", s.Missed, MissedPolicies()),
		MissedWindowRange.check("missed_window", s.MissedWindow),
		MissedLimitRange.check("missed_limit", s.MissedLimit),
		known("overlap", s.Overlap, OverlapPolicies()),
		known("delivery", s.Delivery, Deliveries()),
		TimeoutRange.check("timeout", s.Timeout),
		KillGraceRange.check("kill_grace", s.KillGrace),
		HeartbeatRange.check("heartbeat", s.Heartbeat),
		PriorityRange.check("priority", s.Priority),
		s.checkLabels(), s.checkEveryWorker(),
		s.checkParams(),
		s.checkHooks(),
		MaxPendingRange.check("max_pending", s.MaxPending),
		StartWithinRange.check("start_within", s.StartWithin),
	)
	if r := s.Retry; err == nil && r != nil {
		err = cmp.Or(
			RetryMaxRange.check("retry.max", r.Max),
			known("retry.backoff", r.Backoff, Backoffs()),
			RetryDelayRange.check("retry.min", r.Min),
			RetryDelayRange.check("retry.max_delay", r.MaxDelay),
			known("retry.jitter", r.Jitter, RetryJitters()),
			checkRetryOn(r.On),
		)
	}
	for _, to := range s.Notify {
		err = cmp.Or(err, to.check())
	}
	for _, code := range s.SuccessCodes {
		err = cmp.Or(err, ExitCodeRange.check("success_codes", code))
	}
	if err == nil && s.Breaker != nil {
		err = s.Breaker.check()
	}
	if err == nil && s.Approve != nil {
		err = s.Approve.check()
	}
	if err == nil && s.Resources != nil {
		err = s.Resources.check()
	}
	return err
}

// Needs says in words what the job asks of a worker: labels, limits of resources, and a Go handler.
func (s *Spec) Needs() (list []string) {
	for _, k := range slices.Sorted(maps.Keys(s.WorkerLabels())) {
		list = append(list, "label "+k+": "+s.Workers[k])
	}
	for _, kind := range s.LimitedByWorker() {
		list = append(list, "a limit of "+kind)
	}
	if s.Handler != "" {
		list = append(list, "handler "+s.Handler)
	}
	return list
}
