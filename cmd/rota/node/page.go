package node

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/web"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// page returns the web page, which shows and does what ops can.
func page(ops api.Operations) http.Handler {
	return web.New(ops, web.Config{Definition: definition, File: jobFile, Upcoming: upcoming, Next: trial})
}

// definition writes a job in the form of a job file.
func definition(name string, spec *job.Spec) (string, error) {
	text, err := config.Marshal(map[string]job.Spec{name: *spec})
	return string(text), err
}

// jobFile reads a job file that a person has typed. Under the name stdin, the text can name no file of this machine.
func jobFile(text string) (web.File, error) {
	const name = "stdin"
	set, err := config.ParseJobs(name, []byte(strings.ReplaceAll(text, "\r\n", "\n")))
	if err != nil {
		return web.File{}, errors.New(strings.ReplaceAll(err.Error(), name+":", "line "))
	}
	f := web.File{Jobs: map[string]job.Spec{}, Limits: map[string]job.LimitSpec{}}
	for name, d := range set.Jobs {
		f.Jobs[name] = d.Spec
	}
	for name, d := range set.Limits {
		f.Limits[name] = d.Spec
	}
	return f, nil
}

// upcoming returns the next slot of a job after now; zero if it has none.
func upcoming(name string, spec *job.Spec, now time.Time) time.Time {
	s, err := policy.When(name, spec)
	if err != nil || s == nil {
		return time.Time{}
	}
	slot, _ := s.Next(now)
	return slot
}

// trialNotes is how many notes about changes of the clock a trial has.
const trialNotes = 10

// trial returns the first n slots of a schedule that belongs to no job. An expression that never fires has only a note.
func trial(t web.Trial, n int) (api.NextView, error) {
	spec := schedule.Spec{Timezone: t.Timezone, Gap: schedule.Gap(t.Gap), Fold: schedule.Fold(t.Fold)}
	var notes []string
	if every, err := time.ParseDuration(t.Schedule); err == nil {
		spec.Every = every
	} else {
		spec.Cron, notes = []string{t.Schedule}, schedule.Pitfalls(t.Schedule)
	}
	s, err := schedule.Parse(spec)
	if one, ok := errors.AsType[*schedule.Error](err); ok && one.NeverFires() {
		return api.NextView{Notes: []string{one.Msg}}, nil
	}
	if err != nil {
		return api.NextView{}, err
	}
	v := api.NextView{Notes: notes}
	until := t.From
	for slot, ok := s.Next(t.From); ok && len(v.Slots) < n; slot, ok = s.Next(slot) {
		v.Slots, until = append(v.Slots, slot), slot
	}
	v.Notes = append(v.Notes, s.Notes(t.From, until, trialNotes)...)
	return v, nil
}
