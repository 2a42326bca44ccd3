package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// preparation records what is done with it.
type preparation struct {
	mu  sync.Mutex
	log []string
}

func (p *preparation) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, what)
}

func (p *preparation) Do(context.Context) { p.note("prepared") }
func (p *preparation) Close()             { p.note("closed") }

func (p *preparation) want(t *testing.T, want ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.log, want) {
		t.Errorf("got %q, want %q", p.log, want)
	}
}

// cancel requests the end of a run.
func cancel(r *rig, name string) {
	r.store.change(name, r.session().id, func(run job.Run) (job.Run, error) { return run.Stop(job.Cancel{At: time.Now()}) })
}

func TestAnAttemptIsPreparedBeforeItsTime(t *testing.T) {
	for name, tt := range map[string]struct {
		ahead time.Duration // how long before its time the run is given
		act   func(r *rig, name string)
		want  []string // after the claim, at the time of the run
		end   []string
	}{
		"that waits for its time": {2 * time.Second, nil, []string{"prepared"}, []string{"prepared", "executed", "closed"}},
		"that is due":             {0, nil, []string{"executed"}, []string{"executed"}},
		"that is canceled before": {2 * time.Second, cancel, []string{"prepared", "closed"}, []string{"prepared", "closed"}},
	} {
		bubble(t, name, func(t *testing.T) {
			p := new(preparation)
			r := newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
				if (req.Prepared != nil) != (tt.ahead > 0) {
					t.Errorf("executed with %v", req.Prepared)
				}
				p.note("executed")
				return lasting(time.Second)(ctx, req)
			})
			r.exec.ahead = p
			r.start()
			run := r.store.pending("backup", "a", time.Now().Add(tt.ahead))
			r.give(run)
			after(max(0, tt.ahead-minLead))
			if tt.act != nil {
				tt.act(r, run)
			}
			after(minLead / 2)
			p.want(t, tt.want...)
			after(2 * time.Second)
			p.want(t, tt.end...)
		})
	}
}
