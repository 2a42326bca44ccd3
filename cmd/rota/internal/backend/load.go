package backend

import (
	"context"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/activity"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// load keeps the counts of the coming week, which change with the definitions and once in a minute.
type load struct {
	mu      sync.Mutex
	view    api.LoadView // guarded by mu
	defined int64        // guarded by mu: of Activity.Defined, for view
	stopped bool         // guarded by mu: all jobs were paused, for view
}

// Load counts the runs that will begin in each minute of the coming week.
func (b *Backend) Load(_ context.Context, visible func(string) bool) (api.LoadView, error) {
	if err := b.up(); err != nil {
		return api.LoadView{}, err
	}
	from := b.present().UTC().Truncate(time.Minute)
	if visible != nil {
		return b.countLoad(from, visible), nil
	}
	b.load.mu.Lock()
	defer b.load.mu.Unlock()
	defined, stopped := b.cfg.Activity.Defined(), b.mirror.Gate().Paused != nil
	if !b.load.view.From.Equal(from) || b.load.defined != defined || b.load.stopped != stopped {
		b.load.view = b.countLoad(from, func(string) bool { return true })
		b.load.defined, b.load.stopped = defined, stopped
	}
	return b.load.view, nil
}

func (b *Backend) countLoad(from time.Time, visible func(string) bool) api.LoadView {
	v, stopped := api.LoadView{From: from}, b.mirror.Gate().Paused != nil
	var all schedule.Load
	b.cfg.Activity.Each("", func(name string, j *activity.Job) bool {
		when := j.When()
		switch {
		case !visible(name):
		case j.Job.Spec.Step():
			v.Steps++
		case when == nil:
		case stopped || j.Job.Paused != nil:
			v.Paused++
		default:
			v.Jobs++
			all.Add(when)
		}
		return true
	})
	v.Minutes = all.Minutes(from, api.LoadMinutes)
	return v
}
