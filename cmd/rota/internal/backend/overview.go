package backend

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The sizes of the lists in an overview.
const (
	overviewTrouble = 50
	overviewList    = 20
)

// Overview summarizes what all jobs do.
func (b *Backend) Overview(_ context.Context, visible func(string) bool) (api.OverviewView, error) {
	if err := b.up(); err != nil {
		return api.OverviewView{}, err
	}
	now := b.present()
	v := api.OverviewView{At: now.UTC(), Trouble: []api.TroubleView{}, Next: []api.SlotView{}, Minutes: []api.MinuteView{}}
	sees := func(name string) bool { return visible == nil || visible(name) }
	b.cfg.Activity.Each("", func(name string, j *activity.Job) bool {
		if !sees(name) {
			return true
		}
		v.Jobs++
		if j.Job.Paused != nil {
			v.Paused++
		}
		if j.Failed > 0 {
			v.Failing++
			v.Trouble = insert(v.Trouble, trouble(name, j), overviewTrouble, func(a, b api.TroubleView) int { return b.At.Compare(a.At) })
		}
		if j.Job.Paused == nil && j.Next().After(now) {
			v.Next = insert(
				v.Next,
				api.SlotView{Job: name, Slot: j.Next()},
				overviewList,
				func(a, b api.SlotView) int { return cmp.Or(a.Slot.Compare(b.Slot), strings.Compare(a.Job, b.Job)) },
			)
		}
		return true
	})
	b.addActive(&v, now, sees)
	ended := b.cfg.Activity.Ended(overviewList, func(r *job.Run) bool { return sees(r.Job) })
	v.Ended = views(ended)
	if visible == nil {
		v.Minutes, v.Hour, v.Day = outcomes(b.cfg.Activity.Minutes(now, 24*60))
	}
	return v, nil
}

func trouble(name string, j *activity.Job) api.TroubleView {
	return api.TroubleView{
		Job: name, Ref: j.Last.Name(), State: j.Last.State, Reason: j.Last.Reason, At: j.Last.Finished, Since: j.Since, Count: j.Failed,
	}
}

// insert adds item to a sorted list, and keeps at most n items.
func insert[T any](list []T, item T, n int, compare func(a, b T) int) []T {
	i, _ := slices.BinarySearchFunc(list, item, compare)
	if i == n {
		return list
	}
	list = slices.Insert(list, i, item)
	return list[:min(n, len(list))]
}

func views(runs []*job.Run) []api.RunView {
	list := make([]api.RunView, 0, len(runs))
	for _, r := range runs {
		list = append(list, api.NewRunView(*r))
	}
	return list
}

// addActive counts the runs that have not ended, and groups those that wait by their reasons.
func (b *Backend) addActive(v *api.OverviewView, now time.Time, sees func(string) bool) {
	waits := map[string]*api.WaitView{}
	var active []*job.Run
	b.cfg.Activity.Active(now, func(r *job.Run) {
		switch {
		case !sees(r.Job):
		case r.State == job.Running:
			v.Running++
			active = insert(active, r, overviewList, func(x, y *job.Run) int { return x.Started.Compare(y.Started) })
		case r.State == job.Armed:
			v.Armed++
		case r.WaitsSince().After(now):
			v.Later++
		default:
			v.Waiting++
			reason := cmp.Or(r.Reason, job.ReasonNew)
			w := waits[reason]
			if w == nil {
				w = &api.WaitView{Reason: reason, Since: r.WaitsSince(), Ref: r.Name()}
				waits[reason] = w
			}
			if w.Count++; r.WaitsSince().Before(w.Since) {
				w.Since, w.Ref = r.WaitsSince(), r.Name()
			}
		}
	}, func(job string, n int) {
		if sees(job) {
			v.Later += n
		}
	})
	v.Active, v.Waits = views(active), []api.WaitView{}
	for _, w := range waits {
		v.Waits = insert(v.Waits, *w, overviewList, func(a, b api.WaitView) int {
			return cmp.Or(b.Count-a.Count, cmp.Compare(a.Reason, b.Reason))
		})
	}
}

// outcomes returns the minutes of the last hour, and the sums of the last hour and of all minutes.
func outcomes(minutes []activity.Minute) (list []api.MinuteView, hour, day api.OutcomesView) {
	hour.Counts, day.Counts = map[job.State]int{}, map[job.State]int{}
	for i, m := range minutes {
		add(&day, &m)
		if i >= len(minutes)-60 {
			add(&hour, &m)
			list = append(list, api.MinuteView{At: m.At.UTC(), OutcomesView: api.OutcomesView{Counts: m.Count, Late: m.Late}})
		}
	}
	return list, hour, day
}

func add(sum *api.OutcomesView, m *activity.Minute) {
	sum.Late += m.Late
	for state, n := range m.Count {
		sum.Counts[state] += n
	}
}

// Changed returns the jobs with a change after a revision.
func (b *Backend) Changed(after int64) (int64, []string, bool, <-chan struct{}) {
	return b.cfg.Activity.Changed(after)
}

// JobPage returns the jobs that q selects.
func (b *Backend) JobPage(_ context.Context, q api.JobQuery) (api.JobPage, error) {
	if err := b.up(); err != nil {
		return api.JobPage{}, err
	}
	page, now, search := api.JobPage{Counts: map[string]int{}}, b.present(), strings.ToLower(q.Search)
	var chosen []string
	states := map[string]string{}
	b.cfg.Activity.Each("", func(name string, j *activity.Job) bool {
		if q.Visible != nil && !q.Visible(name) || !matches(name, j.Job, search) || !q.Selected.Matches(j.Job.Spec.Labels) {
			return true
		}
		state := stateOf(j, now)
		page.Counts[state]++
		if len(q.States) > 0 && !slices.Contains(q.States, state) {
			return true
		}
		page.Total++
		if name > q.After && len(chosen) <= q.Limit {
			chosen, states[name] = append(chosen, name), state
		}
		return true
	})
	if len(chosen) > q.Limit {
		chosen = chosen[:q.Limit]
		page.Continue = chosen[q.Limit-1]
	}
	for _, name := range chosen {
		j, ok := b.mirror.Job(name)
		if !ok {
			continue // it was deleted meanwhile
		}
		v := b.jobView(j)
		v.State, v.Recent = states[name], b.recent(name, q.Recent, now)
		page.Jobs = append(page.Jobs, v)
	}
	return page, nil
}

// matches reports whether a job has search, which is in lower case, in its name or its description.
func matches(name string, j *job.Job, search string) bool {
	return search == "" || strings.Contains(name, search) || containsFold(j.Spec.Description, search)
}

// containsFold reports whether text contains search, which is in lower case. It makes no copy of an ASCII text, because a search
// looks at the description of each job.
func containsFold(text, search string) bool {
	for i := 0; i+len(search) <= len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return strings.Contains(strings.ToLower(text), search)
		}
		if lower(text[i]) == search[0] && strings.EqualFold(text[i:i+len(search)], search) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// stateOf returns the state of a job as one of api.JobStates.
func stateOf(j *activity.Job, now time.Time) string {
	switch {
	case j.Failed > 0:
		return api.JobFailing
	case j.Busy > 0:
		return api.JobRunning
	case j.Job.Paused != nil:
		return api.JobPaused
	case j.Waits(now):
		return api.JobWaiting
	case j.Last == nil:
		return api.JobNew
	}
	return api.JobOK
}

// recent returns the n latest runs of a job that are due, the oldest first.
func (b *Backend) recent(name string, n int, now time.Time) (list []api.RecentRun) {
	if n == 0 {
		return nil
	}
	due := func(r *job.Run) bool { return !r.WaitsSince().After(now) || r.State == job.Running }
	for _, r := range b.mirror.FirstRuns(name, n, now, api.CompareRuns, due) {
		v := api.RecentRun{ID: r.ID, State: r.State, Slot: r.Slot, Late: r.Late, Reason: r.Reason}
		if r.Late && r.Attempt == 1 && !r.Started.IsZero() {
			v.LateBy = r.Started.Sub(r.Slot).Seconds()
		}
		switch {
		case !r.Finished.IsZero() && !r.Started.IsZero():
			v.Seconds = r.Finished.Sub(r.Started).Seconds()
		case r.State == job.Running:
			v.Seconds = now.Sub(r.Started).Seconds()
		}
		list = append(list, v)
	}
	slices.Reverse(list)
	return list
}
