package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// caller sends the requests of users, over a link on which single requests fail.
type caller struct {
	world  *world
	client *clientv3.Client
	store  *store.Store
	calls  sync.WaitGroup

	mu       sync.Mutex
	accepted []string // guarded by mu: runs whose submission was accepted
}

func newCaller(w *world) *caller {
	c := &caller{world: w, client: w.net.connect(w.server, "caller")}
	c.store = store.New(store.Config{Prefix: prefix, Process: "caller"}, c.client, w.log.Named("caller"))
	return c
}

func (c *caller) close() {
	c.calls.Wait()
	c.store.Close()
	c.world.net.disconnect(c.client)
}

// call runs do, which sends one request, in the background. The context of do ends after a fixed time.
func (c *caller) call(do func(ctx context.Context) error) {
	c.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := do(ctx); err != nil {
			c.world.tally.add("calls without success")
		}
	})
}

// define writes a definition, and retries until it is written.
func (c *caller) define(ctx context.Context, name string, spec job.Spec) error {
	for {
		var known *job.Job
		switch j, err := c.store.Job(ctx, name); {
		case err == nil:
			known = &j
		case !errors.Is(err, job.ErrNotFound):
			if ctx.Err() != nil {
				return err
			}
			continue
		}
		next, changed := job.Define(known, name, spec, job.Origin{Kind: job.OriginAPI}, time.Now().UTC())
		if !changed {
			return nil
		}
		if _, err := c.store.PutJob(ctx, next); !errors.Is(err, job.ErrConflict) {
			return err
		}
	}
}

// play sends requests from now until end.
func (c *caller) play(end time.Time) {
	var next func()
	next = func() {
		if !time.Now().Before(end) {
			return
		}
		d := throw(c.world.plan.seed, "call", time.Now().UnixNano())
		do := oneOf(d, c.submit, c.submit, c.submit, c.cancel, c.edit, c.remove, c.pause, c.pauseAll, c.unlimit)
		c.world.at(aroundSlot(d, time.Now().Add(d.upTo(6*time.Second))), next)
		c.call(func(ctx context.Context) error { return do(ctx, d) })
	}
	c.world.at(time.Now(), next)
}

// submit submits a run, sometimes twice with one key.
func (c *caller) submit(ctx context.Context, d dice) error {
	now := time.Now().UTC()
	r := job.Run{
		Job: asked, Kind: job.KindManual, Slot: now, Due: now, State: job.Pending, By: "caller", Created: now, Generation: 1,
		ID: fmt.Sprintf("call-%d", now.UnixNano()),
	}
	if d.chance(0.3) {
		r.Kind, r.Reason, r.Due = job.KindDelayed, job.ReasonNotYet, now.Add(d.upTo(oneOf(d, 30*time.Second, 30*time.Second, 8*time.Minute)))
	}
	times := 1
	if d.chance(0.4) {
		r.Key, times = r.ID, 2
	}
	for range times {
		made, err := c.store.Submit(ctx, r)
		if err != nil && !(errors.Is(err, job.ErrConflict) && r.Key != "" && made.Key == r.Key) {
			return err
		}
	}
	c.world.tally.add("submissions accepted")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted = append(c.accepted, r.Name())
	return nil
}

// cancel cancels a run of a job whose runs may be canceled.
func (c *caller) cancel(ctx context.Context, d dice) error {
	var live []job.Run
	for _, r := range c.world.recorder.live() {
		if r.Job == asked || r.Job == edited || r.Job == everywhere || strings.HasPrefix(r.Job, "replace") || strings.HasPrefix(r.Job, cancelable) {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return nil
	}
	of := oneOf(d, live...)
	r, err := c.store.Run(ctx, of.Job, of.ID)
	if err != nil {
		return err
	}
	for {
		running := r.State == job.Running
		if running && r.Cancel != nil || r.State.Terminal() {
			return nil
		}
		next, err := r.Stop(job.Cancel{At: time.Now().UTC(), By: "caller", Reason: "asked to"})
		if err != nil {
			return err
		}
		if running {
			next, err = c.store.Stop(ctx, next)
		} else {
			next, err = c.store.Write(ctx, next)
		}
		if !errors.Is(err, job.ErrConflict) || next.Rev == 0 {
			c.world.tally.add("runs canceled")
			return err
		}
		r = next
	}
}

// edit gives the job for edits another schedule.
func (c *caller) edit(ctx context.Context, d dice) error {
	spec, ok := c.specOf(edited)
	if !ok {
		return nil
	}
	spec.Every = job.Duration(oneOf(d, 2*time.Second, 5*time.Second, 7*time.Second, 30*time.Second))
	spec.Missed, spec.Overlap = oneOf(d, job.MissedPolicies()...), oneOf(d, job.OverlapSkip, job.OverlapQueue)
	c.world.tally.add("jobs edited")
	return c.define(ctx, edited, spec)
}

// remove deletes the job; a later edit creates it again.
func (c *caller) remove(ctx context.Context, _ dice) error {
	if _, ok := c.specOf(edited); !ok {
		return nil
	}
	j, err := c.store.Job(ctx, edited)
	if err != nil {
		return err
	}
	c.world.tally.add("jobs deleted")
	return c.store.DeleteJob(ctx, edited, j.Rev)
}

func (c *caller) specOf(name string) (job.Spec, bool) {
	for _, j := range c.world.plan.jobs {
		if j.Name == name {
			return j.Spec, true
		}
	}
	return job.Spec{}, false
}

// pause pauses or resumes a job.
func (c *caller) pause(ctx context.Context, d dice) error {
	j, err := c.store.Job(ctx, oneOf(d, c.world.plan.jobs...).Name)
	if err != nil {
		return err
	}
	c.world.tally.add("jobs paused and resumed")
	return c.rest(ctx, d.upTo(10*time.Second), func(ctx context.Context, p *job.Pause) error { return c.halt(ctx, j.Name, p) })
}

// rest pauses something for a time. If the outcome of the pause is unknown, it may be applied at any later time, also after the
// end of the pause. So it is repeated until it is certain.
func (c *caller) rest(ctx context.Context, span time.Duration, halt func(context.Context, *job.Pause) error) error {
	pause := func(ctx context.Context) error { return halt(ctx, &job.Pause{At: time.Now().UTC()}) }
	err := pause(ctx)
	if err != nil {
		err = errors.Join(err, c.insist(pause))
	}
	sleep(ctx, span)
	return errors.Join(err, c.insist(func(ctx context.Context) error { return halt(ctx, nil) }))
}

func (c *caller) halt(ctx context.Context, name string, p *job.Pause) error {
	for {
		j, err := c.store.Job(ctx, name)
		if err != nil {
			return err
		}
		next, changed := j.SetPause(p, time.Now().UTC())
		if !changed {
			return nil
		}
		if _, err := c.store.PutJob(ctx, next); !errors.Is(err, job.ErrConflict) {
			return err
		}
	}
}

// pauseAll pauses all jobs for a while.
func (c *caller) pauseAll(ctx context.Context, d dice) error {
	if d.chance(0.5) {
		return nil
	}
	c.world.tally.add("all jobs paused and resumed")
	return c.rest(ctx, d.upTo(8*time.Second), c.haltAll)
}

func (c *caller) haltAll(ctx context.Context, p *job.Pause) error {
	for {
		g, err := c.store.Gate(ctx)
		if err != nil {
			return err
		}
		next, changed := g.SetPause(p, time.Now().UTC())
		if !changed {
			return nil
		}
		if _, err := c.store.PutGate(ctx, next); !errors.Is(err, job.ErrConflict) {
			return err
		}
	}
}

// insist repeats a call until it succeeds or its target does not exist.
func (c *caller) insist(do func(ctx context.Context) error) error {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := do(ctx)
		cancel()
		if err == nil || errors.Is(err, job.ErrNotFound) {
			return nil
		}
		// Simulated time: a client waits between two tries.
		time.Sleep(200 * time.Millisecond)
	}
}
