package planner_test

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// simPlace is where and when a simulation takes place. Many of them take place while a clock is set.
type simPlace struct {
	zone string
	at   time.Time // the instant of the change, or a midnight of the zone
}

var simPlaces = []simPlace{
	{"UTC", midnight},
	{"UTC", midnight},
	{"UTC", time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
	{"America/New_York", time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)},
	{"America/New_York", time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)},
	{"Europe/Berlin", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
	{"Europe/Berlin", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
	{"Europe/Berlin", time.Date(2026, 12, 24, 23, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC)},
	{"Australia/Lord_Howe", time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC)},
	{"Antarctica/Troll", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
	{"Antarctica/Troll", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
	{"America/Havana", time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC)},
	{"America/Havana", time.Date(2026, 11, 1, 5, 0, 0, 0, time.UTC)},
	{"Africa/Cairo", time.Date(2026, 4, 23, 22, 0, 0, 0, time.UTC)},
	{"Africa/Casablanca", time.Date(2026, 3, 22, 2, 0, 0, 0, time.UTC)},
	{"Pacific/Apia", time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC)},
	{"Africa/Monrovia", time.Date(1972, 1, 7, 0, 44, 30, 0, time.UTC)},
}

// settle chooses the place of a simulation. Its storm begins some minutes before.
func (w *sim) settle() {
	w.place = simPlaces[w.n(len(simPlaces))]
	if w.now = w.place.at; w.chance(0.7) {
		w.now = w.now.Add(-w.upTo(5 * time.Minute))
	}
}

// simExpressions have a slot in most minutes. Some follow elapsed time, and the others are fixed times of day.
var simExpressions = []string{
	"*/7 * * * * *", "5,25 * * * * *", "0 */2 * * * *", "* * * * *", "H(0-9)/3 * * * * *", "@every 9s",
	"*/10 0-59 0-23 * * *", "30 0-59 0-23 * * *", "15,45 0-59/2 0-23 * * *", "*/20 0-59 0-3,22,23 L,1-30 * SUN-SAT",
	"0 0-59 0-23 L * *", "*/15 0-59 0-23 1,LW * *", "*/15 0-59 0-23 */2 * *", "*/30 0-59 0-23 * * SUN#1,SUN#2,FRI",
	"0-20/10 0-59 0-23 ? * SUN,5L",
}

// reschedule gives a job another schedule. It has slots during the simulation, but rarely on each day of its zone.
func (w *sim) reschedule(spec *job.Spec) {
	spec.Every, spec.Schedule, spec.At, spec.DST, spec.Exclude, spec.Calendar = 0, nil, nil, nil, nil, nil
	spec.Timezone = ""
	switch w.n(8) {
	case 0, 1, 2:
		spec.Every = job.Duration([]time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 20 * time.Second, time.Minute}[w.n(5)])
	case 3:
		for range 1 + w.n(40) {
			spec.At = append(spec.At, w.now.Add(w.upTo(10*time.Minute)-2*time.Minute).Truncate(250*time.Millisecond))
		}
	default:
		for range 1 + w.n(2) {
			spec.Schedule = append(spec.Schedule, simExpressions[w.n(len(simExpressions))])
		}
	}
	if spec.Timezone = w.place.zone; w.chance(0.2) {
		spec.Timezone = simPlaces[w.n(len(simPlaces))].zone
	}
	if w.chance(0.7) {
		spec.DST = &job.DST{Gap: string(schedule.Gaps()[w.n(2)]), Fold: string(schedule.Folds()[w.n(3)])}
	}
	if w.chance(0.15) {
		spec.Exclude = []string{w.date(spec)}
	}
	if w.chance(0.25) {
		c := &job.Calendar{On: "c", Weekdays: []string{"mon-sun"}, Except: []string{w.date(spec)}}
		c.Else = string(schedule.Elses()[w.n(3)])
		if w.chance(0.3) {
			c.On, c.NotOn, c.Weekdays, c.Except, c.Dates = "", "c", nil, nil, []string{w.date(spec), w.date(spec)}
		}
		spec.Calendar = c
	}
}

// date returns yesterday, today or tomorrow in the zone of a job.
func (w *sim) date(spec *job.Spec) string {
	zone, err := time.LoadLocation(spec.Timezone)
	if err != nil {
		w.check.fail("%v", err)
		return ""
	}
	return w.now.Add(5*time.Minute).In(zone).AddDate(0, 0, w.n(3)-1).Format(time.DateOnly)
}

// finishBy returns a finish_by: a duration, or a time of day soon.
func (w *sim) finishBy() string {
	if w.chance(0.3) {
		return w.now.Add(w.upTo(4*time.Minute)).Format("15:04") + " UTC"
	}
	return fmt.Sprintf("%ds", 1+w.n(60))
}

// usable reports whether the API would accept the schedule of a job.
func usable(name string, spec job.Spec) bool {
	spec = spec.WithDefaults()
	_, err := policy.When(name, &spec)
	return err == nil
}
