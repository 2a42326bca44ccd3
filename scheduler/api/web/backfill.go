package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func prepareBackfill(s *site, r *http.Request, f *form) error {
	if _, err := currentJob(s, r, f); err != nil {
		return err
	}
	f.Title, f.Verb = "Backfill "+f.Job, "Show what would run"
	f.Facts = []string{
		"This runs past slots of the job that had no run, and the steps behind it. " +
			"A slot that has a run, or had one, does not run again.",
	}
	const help = "Included, in UTC. Write it as " + timeExample + "."
	f.Fields = []field{
		{Name: "from", Label: "First slot", Kind: "text", Help: help, Example: "2026-01-01T00:00:00Z"},
		{Name: "to", Label: "Last slot", Kind: "text", Help: help, Example: timeExample},
		{
			Name: "order", Label: "Order", Kind: "choice", Value: string(job.OldestFirst),
			Options: []string{string(job.OldestFirst), string(job.NewestFirst)},
			Help:    "asc: the oldest slot first. desc: the newest slot first.",
		},
		{
			Name: "concurrency", Label: "Slots at a time", Kind: "text", Example: "1",
			Help: "A slot counts with the steps behind the job. Empty: 1.",
		},
		{Name: checkedField, Kind: "hidden"},
	}
	return nil
}

// performBackfill first shows what would run. It starts the backfill when the client has confirmed that.
func performBackfill(s *site, r *http.Request, f *form) (string, error) {
	body, err := backfillOf(f)
	if err != nil {
		return "", err
	}
	body.DryRun = true
	var v api.BackfillView
	if err := s.ops.Do(r, http.MethodPost, f.path()+"/backfill", nil, body, &v); err != nil {
		return "", err
	}
	f.Items = itemsOf(&v)
	if !f.confirmed() || v.Total == 0 {
		f.Facts = append(f.Facts, factsOf(&v)...)
		verb := ""
		if v.Total > 0 {
			verb = "Run " + plural(v.Total, "slot")
		}
		f.preview(verb)
		return "", nil
	}
	body.DryRun = false
	return f.Back + "?done=backfill", s.ops.Do(r, http.MethodPost, f.path()+"/backfill", nil, body, nil)
}

// backfillOf returns the request that a form describes.
func backfillOf(f *form) (body api.BackfillRequest, err error) {
	wrong := &api.Problem{}
	instant := func(name string) time.Time {
		t, err := readTime(f.value(name))
		if err != nil {
			wrong.Fields = append(wrong.Fields, api.FieldError{Field: name, Message: "This is not a time."})
		}
		return t
	}
	body.From, body.To, body.Order = instant("from"), instant("to"), job.BackfillOrder(f.value("order"))
	if text := strings.TrimSpace(f.value("concurrency")); text != "" {
		if body.Concurrency, err = strconv.Atoi(text); err != nil || body.Concurrency < 1 {
			wrong.Fields = append(wrong.Fields, api.FieldError{Field: "concurrency", Message: "Write a number from 1 on."})
		}
	}
	if len(wrong.Fields) > 0 {
		return body, wrong
	}
	return body, nil
}

// itemsOf lists the first slots that a backfill would run.
func itemsOf(v *api.BackfillView) (list []formItem) {
	for _, slot := range v.First {
		list = append(list, formItem{Name: utcText(slot)})
	}
	if more := v.Total - len(v.First); more > 0 && len(v.First) > 0 {
		list = append(list, formItem{Name: "and " + plural(more, "further slot")})
	}
	return list
}

// factsOf says what a backfill would do.
func factsOf(v *api.BackfillView) []string {
	facts := []string{fmt.Sprintf("%s of %s in this range would run.", digits(v.Total), plural(v.Slots, "slot"))}
	if len(v.Steps) > 0 {
		facts = append(facts, "Each slot also runs these steps: "+strings.Join(v.Steps, ", ")+".")
	}
	if v.Recorded > 0 {
		facts = append(facts, fmt.Sprintf("%s a run already.", verb(v.Recorded, "slot has", "slots have")))
	}
	if v.Open > 0 {
		facts = append(facts, fmt.Sprintf("The schedule has not decided %s yet.", plural(v.Open, "slot")))
	}
	if v.Unknown > 0 {
		facts = append(facts, fmt.Sprintf(
			"%s left out, because history may have removed a run.", verb(v.Unknown, "slot is", "slots are"),
		))
	}
	return facts
}

func prepareStopBackfill(s *site, r *http.Request, f *form) error {
	v, err := get[api.BackfillView](s, r, f.path()+"/backfill")
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Danger = "Stop the backfill of "+f.Job, "Stop the backfill", true
	if v.State != job.BackfillRunning {
		return f.block("The backfill has ended.")
	}
	f.Facts = []string{
		fmt.Sprintf("%s of %s decided. The others do not run.", digits(v.Started+v.Passed), verb(v.Total, "slot is", "slots are")),
		"Runs that the backfill has created go on.",
	}
	return nil
}

func performStopBackfill(s *site, r *http.Request, f *form) (string, error) {
	return f.Back + "?done=stopped-backfill", s.ops.Do(r, http.MethodDelete, f.path()+"/backfill", nil, nil, nil)
}

// backfill returns the latest backfill of a job; nil if there is none.
func (s *site) backfill(r *http.Request, name string) (*api.BackfillView, error) {
	v, err := get[api.BackfillView](s, r, jobPath(name)+"/backfill")
	if problem := (*api.Problem)(nil); errors.As(err, &problem) {
		return nil, nil //nolint:nilnil // most jobs have none
	}
	return &v, err
}

// shownBackfills is how many backfills the list of runs shows.
const shownBackfills = 10

// backfills returns the running backfills, and then the others, the latest first.
func (s *site) backfills(r *http.Request) ([]api.BackfillView, error) {
	all, err := get[api.BackfillList](s, r, "/v1/backfills")
	list := all.Backfills
	slices.SortStableFunc(list, func(a, b api.BackfillView) int {
		if running := a.State == job.BackfillRunning; running != (b.State == job.BackfillRunning) {
			if running {
				return -1
			}
			return 1
		}
		return b.Created.Compare(a.Created)
	})
	return list[:min(shownBackfills, len(list))], err
}
