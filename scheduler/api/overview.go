package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Overviewer answers questions about all jobs together, without a walk over all runs.
type Overviewer interface {
	// Overview summarizes the jobs that visible accepts; nil accepts all.
	Overview(ctx context.Context, visible func(job string) bool) (OverviewView, error)
	// JobPage returns the jobs that q selects, in the order of names.
	JobPage(ctx context.Context, q JobQuery) (JobPage, error)
	// Gantt returns the runs and the slots of the jobs that q selects. It returns job.ErrNotFound if q names an unknown job.
	Gantt(ctx context.Context, q GanttQuery) (GanttView, error)
	// Load counts the runs that will begin in each minute of the coming week, of the jobs that visible accepts; nil accepts all.
	Load(ctx context.Context, visible func(job string) bool) (LoadView, error)
	// Calendars returns the calendars of the jobs that visible accepts, in the order of names; nil accepts all.
	Calendars(ctx context.Context, visible func(job string) bool) ([]CalendarView, error)
	// Changed returns the jobs with a change after a revision, and the revision up to which that is. complete is false if any job
	// may have changed. A record that belongs to no job has the name "". moved is closed at the next change.
	Changed(after int64) (rev int64, jobs []string, complete bool, moved <-chan struct{})
}

// OverviewView says what the jobs do.
type OverviewView struct {
	At      time.Time     `json:"at"`
	Jobs    int           `json:"jobs"`
	Paused  int           `json:"paused" doc:"Jobs that are paused"`
	Running int           `json:"running" doc:"Runs"`
	Armed   int           `json:"armed" doc:"Runs that a worker has and that have not started"`
	Waiting int           `json:"waiting" doc:"Runs that are due and not with a worker"`
	Later   int           `json:"later" doc:"Runs that wait for their time"`
	Failing int           `json:"failing" doc:"Jobs whose latest run failed, timed out or was lost"`
	Trouble []TroubleView `json:"trouble" doc:"The failing jobs, the latest failure first; at most 50"`
	Waits   []WaitView    `json:"waits" doc:"The waiting runs by reason, the most frequent reason first; at most 20"`
	Active  []RunView     `json:"active" doc:"Runs that are with workers, the oldest first; at most 20"`
	Ended   []RunView     `json:"ended" doc:"Runs that ended last; at most 20"`
	Next    []SlotView    `json:"next" doc:"The slots to come; at most 20"`
	Minutes []MinuteView  `json:"minutes" doc:"Runs that ended in the last hour; empty if the caller may not see all jobs"`
	Hour    OutcomesView  `json:"hour" doc:"Runs that ended in the last hour, if the caller may see all jobs"`
	Day     OutcomesView  `json:"day" doc:"The same for the last 24 hours"`
}

// TroubleView is a job whose latest run did not succeed.
type TroubleView struct {
	Job    string    `json:"job"`
	Ref    string    `json:"run"`
	State  job.State `json:"state"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at" doc:"End of that run"`
	Since  time.Time `json:"since" doc:"End of the first of these runs in a row"`
	Count  int       `json:"count" doc:"How many runs in a row"`
}

// WaitView counts runs that wait for the same reason.
type WaitView struct {
	Reason string    `json:"reason"`
	Count  int       `json:"count"`
	Since  time.Time `json:"since" doc:"When the first of them was due"`
	Ref    string    `json:"run" doc:"The first of them"`
}

// SlotView is a slot to come.
type SlotView struct {
	Job  string    `json:"job"`
	Slot time.Time `json:"slot"`
}

// MinuteView counts the runs that ended in one minute.
type MinuteView struct {
	At time.Time `json:"at"`
	OutcomesView
}

// OutcomesView counts ended runs.
type OutcomesView struct {
	Counts map[job.State]int `json:"counts"`
	Late   int               `json:"late"`
}

// JobQuery selects jobs.
type JobQuery struct {
	Search   string       // part of the name or of the description; empty: any
	States   []string     // states as in JobStates; empty: any
	Selected job.Selector // labels that the job must have
	After    string       // only names after it
	Limit    int
	Recent   int // how many of its latest runs each job gets
	Visible  func(job string) bool
}

// JobPage is the body of a page of jobs.
type JobPage struct {
	Jobs     []JobView      `json:"jobs"`
	Total    int            `json:"total" doc:"Jobs that match"`
	Counts   map[string]int `json:"counts" doc:"Jobs by state, of those that match the search"`
	Continue string         `json:"continue,omitempty" doc:"Send it as the parameter of the same name to get the next page"`
}

// CalendarView is a calendar that jobs name. Each job keeps the days of its calendar.
type CalendarView struct {
	Name     string   `json:"name"`
	Weekdays []string `json:"weekdays,omitempty" doc:"Such as mon-fri"`
	Dates    []string `json:"dates,omitempty" doc:"Further days, sorted"`
	Except   []string `json:"except,omitempty" doc:"Days that it lacks, sorted"`
	Jobs     int      `json:"jobs" doc:"Jobs that name it"`
	First    []string `json:"first" doc:"The first of them; at most 5"`
	Versions int      `json:"versions" doc:"How many different days its jobs have; the view has those of the job that changed last"`
}

// CalendarList is the body of the list of calendars.
type CalendarList struct {
	Calendars []CalendarView `json:"calendars"`
}

// RecentRun is one of the latest runs of a job, in a short form.
type RecentRun struct {
	ID      string    `json:"id"`
	State   job.State `json:"state"`
	Slot    time.Time `json:"slot"`
	Seconds float64   `json:"seconds,omitempty" doc:"How long its last attempt took, or has taken until now"`
	Late    bool      `json:"late,omitempty"`
	LateBy  float64   `json:"late_seconds,omitempty" doc:"How long after its slot a late run began; absent if it had several attempts"`
	Reason  string    `json:"reason,omitempty"`
}

// The states of a job on the page. A job has one of them.
const (
	JobFailing = "failing"
	JobRunning = "running"
	JobWaiting = "waiting"
	JobPaused  = "paused"
	JobOK      = "ok"
	JobNew     = "new" // none of its runs has ended
)

// JobStates lists the states of a job on the page.
func JobStates() []string {
	return []string{JobFailing, JobRunning, JobWaiting, JobPaused, JobOK, JobNew}
}

func (s *Server) registerOverview(doc huma.API) {
	if s.back.Overview == nil {
		return
	}
	register(s, doc, operation{
		id: "read-overview", right: auth.Read, walks: true, method: "GET", path: "/v1/overview",
		summary: "A summary of all jobs",
	}, func(ctx context.Context, _ *struct{}) (*body[OverviewView], error) {
		v, err := s.back.Overview.Overview(ctx, s.sees(ctx))
		for i := range v.Active {
			v.Active[i] = s.maskedRun(ctx, v.Active[i])
		}
		return &body[OverviewView]{v}, err
	})
	register(s, doc, operation{
		id: "find-jobs", right: auth.Read, walks: true, method: "GET", path: "/v1/find/jobs",
		summary: "A page of jobs that match",
	}, s.findJobs)
	register(s, doc, operation{
		id: "list-calendars", right: auth.Read, walks: true, method: "GET", path: "/v1/calendars",
		summary: "The calendars that jobs name",
	}, func(ctx context.Context, _ *struct{}) (*body[CalendarList], error) {
		v, err := s.back.Overview.Calendars(ctx, s.sees(ctx))
		return &body[CalendarList]{CalendarList{Calendars: list(v)}}, err
	})
	o := operation{
		id: "watch-live", right: auth.Read, method: "GET", path: "/v1/live",
		summary: "Which jobs have changed, and who leads, as server-sent events for pages",
	}
	huma.Register(doc, s.streaming(doc, o, "text/event-stream", "Events changed and cluster, with JSON data"), s.watchLive)
}

func (s *Server) findJobs(ctx context.Context, in *struct {
	Search   string   `query:"search" doc:"Part of the name or of the description"`
	Selector string   `query:"selector" doc:"Only jobs with these labels" example:"team=billing"`
	State    []string `query:"state,explode" doc:"failing, running, waiting, paused, ok or new; may be given several times"`
	Limit    int      `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Recent   int      `query:"recent" default:"0" minimum:"0" maximum:"50" doc:"How many of its latest runs each job gets"`
	Continue string   `query:"continue" doc:"Token of the previous page"`
}) (*body[JobPage], error) {
	if err := knownStates(in.State); err != nil {
		return nil, err
	}
	selected, err := selector(in.Selector)
	if err != nil {
		return nil, err
	}
	v, err := s.back.Overview.JobPage(ctx, JobQuery{
		Search: in.Search, Selected: selected, States: in.State,
		Limit: in.Limit, Recent: in.Recent, After: in.Continue, Visible: s.sees(ctx),
	})
	if err != nil {
		return nil, err
	}
	v.Jobs = list(v.Jobs)
	for i := range v.Jobs {
		v.Jobs[i].Active, v.Jobs[i].Spec = list(v.Jobs[i].Active), s.masked(ctx, v.Jobs[i].Name, v.Jobs[i].Spec)
	}
	return &body[JobPage]{v}, nil
}

// knownStates returns an error unless all states are states of jobs.
func knownStates(states []string) error {
	for _, state := range states {
		if !slices.Contains(JobStates(), state) {
			return invalid("query.state", "%q is not a state of a job: use %s", state, strings.Join(JobStates(), ", "))
		}
	}
	return nil
}

// handlesPage reports whether the page answers a request that no other handler knows.
func (s *Server) handlesPage(r *http.Request) bool {
	return s.page != nil && !strings.HasPrefix(r.URL.Path, "/v1/")
}
