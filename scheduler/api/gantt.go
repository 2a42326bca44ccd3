package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// GanttQuery selects the rows of a GanttView: the jobs with a run or a slot in a span of time.
type GanttQuery struct {
	From, Until time.Time // from included, until excluded; at most MaxGantt apart
	Search      string    // part of the name or of the description; empty: any
	States      []string  // states as in JobStates; empty: any
	Job         string    // only this job, whether or not it has runs; empty: any
	After       string    // only names after it
	Limit       int
	Visible     func(job string) bool
}

// MaxGantt is the longest span of time of a GanttQuery.
const MaxGantt = 8 * 24 * time.Hour

// GanttView shows what jobs did and will do in a span of time.
type GanttView struct {
	From     time.Time  `json:"from"`
	Until    time.Time  `json:"until"`
	At       time.Time  `json:"at" doc:"Time of the answer; slots before it are shown by their runs"`
	Rows     []GanttRow `json:"rows" doc:"Jobs with a run or a slot in the span, sorted by name"`
	Continue string     `json:"continue,omitempty" doc:"Send it as the parameter of the same name to get the next page"`
}

// GanttRow is one job.
type GanttRow struct {
	Job     string            `json:"job"`
	State   string            `json:"state" doc:"failing, running, waiting, paused, ok or new"`
	Step    bool              `json:"step,omitempty" doc:"Its slots are those of its parents, and are not planned here"`
	Runs    []GanttRun        `json:"runs" doc:"The latest runs in the span, the oldest first; at most 100"`
	More    int               `json:"more,omitempty" doc:"Runs in the span that are not listed"`
	Counts  map[job.State]int `json:"counts,omitempty" doc:"All runs in the span by state"`
	Slots   []PlannedView     `json:"slots" doc:"Slots to come, in time order; at most 200"`
	Planned int               `json:"planned,omitempty" doc:"How many slots these are"`
}

// GanttRun is a run in short.
type GanttRun struct {
	ID       string    `json:"id"`
	State    job.State `json:"state"`
	Slot     time.Time `json:"slot"`
	Started  time.Time `json:"started,omitzero"`
	Waits    time.Time `json:"waits,omitzero" doc:"Since when, or until when, a run waits that has not started"`
	Finished time.Time `json:"finished,omitzero"`
	Late     bool      `json:"late,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// PlannedView is a slot to come, or several of them close together.
type PlannedView struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero" doc:"All of them lie before it; absent for a single slot"`
	Count int       `json:"count"`
}

// LoadView says how many runs will begin in each minute.
type LoadView struct {
	From    time.Time `json:"from" doc:"The first minute"`
	Minutes []int     `json:"minutes" doc:"Runs that begin in each minute of a week, by the schedules alone"`
	Jobs    int       `json:"jobs" doc:"Jobs that are counted"`
	Paused  int       `json:"paused" doc:"Jobs that are not counted because they are paused"`
	Steps   int       `json:"steps" doc:"Jobs that are not counted because they follow others"`
}

// LoadMinutes is the length of LoadView.Minutes.
const LoadMinutes = 7 * 24 * 60

func (s *Server) registerGantt(doc huma.API) {
	if s.back.Overview == nil {
		return
	}
	register(s, doc, operation{
		id: "read-gantt", right: auth.Read, walks: true, method: http.MethodGet, path: "/v1/gantt",
		summary: "The runs and the slots of jobs in a span of time, past and planned", errors: []int{404},
	}, s.readGantt)
	register(s, doc, operation{
		id: "read-load", right: auth.Read, walks: true, method: http.MethodGet, path: "/v1/load",
		summary: "How many runs will begin in each minute of the coming week, by the schedules alone",
	}, func(ctx context.Context, _ *struct{}) (*body[LoadView], error) {
		v, err := s.back.Overview.Load(ctx, s.sees(ctx))
		return &body[LoadView]{v}, err
	})
}

func (s *Server) readGantt(ctx context.Context, in *struct {
	From     string   `query:"from" required:"true" doc:"RFC 3339" example:"2026-01-31T02:00:00Z"`
	Until    string   `query:"until" required:"true" doc:"RFC 3339, at most 8 days after from" example:"2026-01-31T03:00:00Z"`
	Search   string   `query:"search" doc:"Part of the name or of the description"`
	State    []string `query:"state,explode" doc:"failing, running, waiting, paused, ok or new; may be given several times"`
	Job      string   `query:"job" doc:"Only this job"`
	Limit    int      `query:"limit" default:"25" minimum:"1" maximum:"100"`
	Continue string   `query:"continue" doc:"Token of the previous page"`
}) (*body[GanttView], error) {
	q := GanttQuery{
		Search: in.Search, States: in.State, Job: in.Job, After: in.Continue, Limit: in.Limit, Visible: s.sees(ctx),
	}
	var err error
	if err = knownStates(in.State); err != nil {
		return nil, err
	}
	if q.From, err = instant("from", in.From); err != nil {
		return nil, err
	}
	if q.Until, err = instant("until", in.Until); err != nil {
		return nil, err
	}
	if d := q.Until.Sub(q.From); d <= 0 || d > MaxGantt {
		return nil, invalid("query.until", "must be after from, by at most %d days", MaxGantt/(24*time.Hour))
	}
	if in.Job != "" {
		if err := s.require(ctx, auth.Read, in.Job); err != nil {
			return nil, err
		}
	}
	v, err := s.back.Overview.Gantt(ctx, q)
	if err != nil {
		return nil, s.notFound(ctx, KindJob, in.Job, err)
	}
	v.Rows = list(v.Rows)
	for i := range v.Rows {
		v.Rows[i].Runs, v.Rows[i].Slots = list(v.Rows[i].Runs), list(v.Rows[i].Slots)
	}
	return &body[GanttView]{v}, nil
}
