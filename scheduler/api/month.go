package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// MonthView has the slots of a job in one month of its zone.
type MonthView struct {
	Job   string    `json:"job"`
	Month string    `json:"month" doc:"YYYY-MM"`
	Zone  string    `json:"zone" doc:"The time zone of the days"`
	Days  []DayView `json:"days"`
	Notes []string  `json:"notes" doc:"Changes of the clock in this month, and what they do to slots"`
}

// DayView has the slots of a job on one day.
type DayView struct {
	Date   string            `json:"date" doc:"YYYY-MM-DD"`
	Slots  int               `json:"slots" doc:"Slots by the present schedule"`
	First  []time.Time       `json:"first" doc:"The first of them; at most 3"`
	Counts map[job.State]int `json:"counts,omitempty" doc:"The runs of slots of this day by state, while history keeps them"`
	Off    string            `json:"off,omitempty" doc:"Why the calendar of the job leaves the day out"`
	Hours  int               `json:"hours,omitempty" doc:"Length of the day, if it does not have 24 hours"`
}

func (s *Server) registerMonth(doc huma.API) {
	register(s, doc, operation{
		id: "read-month", right: auth.Read, method: http.MethodGet, path: "/v1/jobs/{job}/month",
		summary: "The slots of a job in one month, and how their runs ended", errors: []int{404, 409},
	}, func(ctx context.Context, in *struct {
		Job   string `path:"job"`
		Month string `query:"month" doc:"YYYY-MM; the present month by default" example:"2026-01"`
	}) (*body[MonthView], error) {
		month := s.present().UTC()
		if in.Month != "" {
			var err error
			if month, err = time.Parse("2006-01", in.Month); err != nil || month.Year() < 1970 {
				return nil, invalid("query.month", "write the month as YYYY-MM, from 1970 on")
			}
		}
		v, err := s.back.Replica.Month(ctx, in.Job, month.Year(), month.Month())
		if err != nil {
			return nil, s.notFound(ctx, KindJob, in.Job, err)
		}
		v.Notes = list(v.Notes)
		for i := range v.Days {
			v.Days[i].First = list(v.Days[i].First)
		}
		return &body[MonthView]{v}, nil
	})
}
