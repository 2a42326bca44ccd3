package api

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// Timeline is the body of the timeline.
type Timeline struct {
	Entries []timeline.Entry `json:"entries" doc:"Oldest first"`
}

// RangesSince returns from when on a list of runs needs the ranges of slots without runs. more says that the list has earlier runs,
// which runs lacks. since begins the list; "" if it begins with the oldest run.
func RangesSince(runs []RunView, more bool, since string) string {
	switch {
	case more && len(runs) > 0:
		return runs[len(runs)-1].Created.Format(time.RFC3339Nano)
	case since == "":
		return time.Unix(0, 0).UTC().Format(time.RFC3339)
	}
	return since
}

func (s *Server) registerTimeline(doc huma.API) {
	register(s, doc, operation{
		id: "read-timeline", right: auth.Read, walks: true, method: "GET", path: "/v1/timeline",
		summary: "The timeline: takeovers, lost members, runs that were retried, lost, late or skipped, and changes",
	}, s.readTimeline)
	register(s, doc, operation{
		id: "read-incident", right: auth.Read, method: "GET", path: "/v1/incident",
		summary: "The latest incident, in sentences", errors: []int{403, 404},
	}, s.readIncident)
}

func (s *Server) readTimeline(ctx context.Context, in *struct {
	Since string `query:"since" default:"24h" doc:"From then on: a time span (24h, 7d) or a time" example:"24h"`
	Limit int    `query:"limit" default:"1000" minimum:"1" maximum:"10000" doc:"The latest so many"`
	Job   string `query:"job" doc:"Only of this job"`
	// Ranges selects what a list of runs lacks.
	Ranges bool `query:"ranges" doc:"Only the ranges of slots without runs"`
	// Members selects what the history of terms needs.
	Members bool `query:"members" doc:"Only takeovers, and outages of replicas"`
}) (*body[Timeline], error) {
	from, err := since(in.Since, s.present())
	if err != nil {
		return nil, err
	}
	sees := s.sees(ctx)
	q := timeline.Query{Since: from, Most: in.Limit, Wants: func(name string) bool {
		return (in.Job == "" || name == in.Job) && (sees == nil || name == "" || sees(name))
	}}
	switch {
	case in.Members:
		q.Part = timeline.OnlyMembers
	case in.Ranges:
		q.Part = timeline.OnlyRanges
	}
	entries, err := s.back.Replica.Timeline(ctx, q)
	if err != nil {
		return nil, err
	}
	return &body[Timeline]{Timeline{Entries: list(entries)}}, nil
}

func (s *Server) readIncident(ctx context.Context, in *struct {
	At string `query:"at" doc:"The incident at this time, or the last one before it, RFC 3339; now by default"`
}) (*body[timeline.Incident], error) {
	if s.sees(ctx) != nil {
		return nil, huma.Error403Forbidden("a summary names all jobs: a role without a scope is needed")
	}
	at, err := s.presentOr("at", in.At)
	if err != nil {
		return nil, err
	}
	v, err := s.back.Replica.Incident(ctx, at)
	if errors.Is(err, job.ErrNotFound) {
		return nil, huma.Error404NotFound("no incident is known up to that time: `rota events` shows what happened")
	}
	if err != nil {
		return nil, err
	}
	v.Sentences = list(v.Sentences)
	return &body[timeline.Incident]{v}, nil
}
