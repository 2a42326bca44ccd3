package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// Trial is a schedule that belongs to no job.
type Trial struct {
	Schedule  string // an expression, or a span such as 90s
	Timezone  string // empty: UTC
	Gap, Fold string // empty: the default
	From      time.Time
}

// trialSlots is how many slots the view schedule shows.
const trialSlots = 20

// scheduleData is the data of the view schedule.
type scheduleData struct {
	Trial
	FromText string
	Slots    []trialSlot
	Notes    []string
	Error    string
	Gaps     []string
	Folds    []string
}

// trialSlot is a slot, and its time in the zone of the schedule.
type trialSlot struct {
	At   time.Time
	Wall string
}

// schedule shows when a schedule that belongs to no job would fire.
func (s *site) schedule(r *http.Request) (*page, error) {
	if _, err := get[api.LimitList](s, r, "/v1/limits"); err != nil {
		return nil, err // the client may not read
	}
	q := r.URL.Query()
	d := &scheduleData{
		Trial: Trial{
			Schedule: strings.TrimSpace(q.Get("schedule")), Timezone: strings.TrimSpace(q.Get("timezone")),
			Gap: q.Get("gap"), Fold: q.Get("fold"), From: s.ops.Now(),
		},
		FromText: strings.TrimSpace(q.Get("from")), Gaps: []string{"", "run", "skip"}, Folds: []string{"", "first", "last", "both"},
	}
	p := &page{View: "schedule", Title: "Try a schedule", Data: d}
	if d.Schedule == "" {
		return p, nil
	}
	if err := d.answer(s); err != nil {
		d.Error, p.Status = err.Error(), http.StatusUnprocessableEntity
	} else if d.Timezone != "" && d.Timezone != "UTC" {
		p.Zone = d.Timezone
	}
	return p, nil
}

func (d *scheduleData) answer(s *site) error {
	if d.FromText != "" {
		var err error
		if d.From, err = readTime(d.FromText); err != nil {
			return errors.New("the time is unknown: write it as " + timeExample)
		}
	}
	v, err := s.cfg.Next(d.Trial, trialSlots) // refuses an unknown zone
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil {
		return err
	}
	d.Notes = v.Notes
	for _, slot := range v.Slots {
		d.Slots = append(d.Slots, trialSlot{slot, slot.In(zone).Format("Mon 2006-01-02 15:04:05 MST")})
	}
	return nil
}
