package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Input holds the records of a store and their past changes.
type Input struct {
	Records []job.Change   // all records and events, at one revision
	Log     [][]job.Change // the changes before, by revision; may begin at any revision
	Now     time.Time
}

// Violation is an invariant that does not hold.
type Violation struct {
	Invariant int    `json:"invariant" doc:"Its number on the page about guarantees"`
	Subject   string `json:"subject" doc:"A job or a run"`
	Revision  int64  `json:"revision,omitempty"`
	Text      string `json:"text"`
}

// Report is the result of a check.
type Report struct {
	Violations []Violation `json:"violations"`
	Notes      []string    `json:"notes" doc:"Findings that are no violations"`
	Jobs       int         `json:"jobs"`
	Runs       int         `json:"runs"`
	Slots      int         `json:"slots" doc:"Slots that were due and have a run"`
	Changes    int         `json:"changes" doc:"Changes that were checked"`
}

// Check checks all invariants.
func Check(in Input) Report {
	c := &checker{
		now: in.Now, jobs: map[string]*subject{}, runs: map[string]*job.Run{},
		known: map[string]bool{}, created: map[string]int64{}, proven: map[string]bool{},
		spoilt: map[string]bool{}, removals: map[int64]string{},
	}
	c.report.Violations, c.report.Notes = []Violation{}, []string{}
	for _, r := range in.Records {
		c.record(r)
	}
	c.findLeadership()
	for _, name := range c.names() {
		c.checkJob(c.jobs[name])
	}
	c.checkLimits()
	c.checkLog(in.Log)
	c.checkAudit()
	c.checkRemains()
	c.report.Slots = len(c.proven)
	return c.report
}

// subject is everything about one job.
type subject struct {
	name   string
	def    *job.Job
	cursor *job.Cursor
	runs   []*job.Run
	skips  []*job.Event
}

type checker struct {
	now    time.Time
	jobs   map[string]*subject
	runs   map[string]*job.Run // all runs with readable records, by name
	gate   job.Gate
	limits []*job.Limit
	known  map[string]bool // names of runs that exist or were in the log, readable or not
	audits []*job.Audit
	spoilt map[string]bool // jobs whose definitions are unreadable
	// removals has the jobs of the API whose removal the log shows, by revision.
	removals map[int64]string
	created  map[string]int64 // by name of a run: the revision at which its record was created
	proven   map[string]bool  // names of slots that have a run or a reason
	led      time.Time        // a leader was at work at this time or later; zero: no record shows one
	report   Report
}

func (c *checker) broken(invariant int, subject string, rev int64, format string, args ...any) {
	c.report.Violations = append(c.report.Violations, Violation{invariant, subject, rev, fmt.Sprintf(format, args...)})
}

func (c *checker) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}

func (c *checker) names() []string {
	names := make([]string, 0, len(c.jobs))
	for name := range c.jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *checker) subject(name string) *subject {
	s := c.jobs[name]
	if s == nil {
		s = &subject{name: name}
		c.jobs[name] = s
	}
	return s
}

func (c *checker) record(r job.Change) {
	if r.Kind == job.RecordRun {
		c.known[r.Name], c.created[r.Name] = true, r.Create
	}
	if r.Bad != nil {
		switch r.Kind {
		case job.RecordJob:
			c.spoilt[r.Name] = true
		case job.RecordLimit:
			c.limits = append(c.limits, &job.Limit{Name: r.Name}) // its last readable record counts
		}
		c.note("%s is unreadable and quarantined: %v", r.Key, r.Bad)
		return
	}
	switch v := r.Value.(type) {
	case *job.Job:
		c.report.Jobs++
		c.subject(r.Name).def = v
	case *job.Cursor:
		c.subject(r.Name).cursor = v
	case *job.Run:
		c.report.Runs++
		s := c.subject(v.Job)
		s.runs = append(s.runs, v)
		c.runs[v.Name()] = v
	case *job.Limit:
		c.limits = append(c.limits, v)
	case *job.Gate:
		c.gate = *v
	case *job.Audit:
		c.audits = append(c.audits, v)
	case *job.Event:
		if v.Kind == job.EventSkipped {
			s := c.subject(v.Job)
			s.skips = append(s.skips, v)
		}
	}
}
