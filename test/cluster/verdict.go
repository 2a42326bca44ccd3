package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// Quiesce pauses all jobs and waits until no run is active. Runs that wait for a worker or a retry also wait while paused, so
// it resumes them for a time in between.
func (c *Cluster) Quiesce() {
	c.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		c.gate("paused", c.Client.PauseAll)
		if Within(10*time.Second, func() bool { return len(c.live()) == 0 }) {
			return
		}
		if time.Now().After(deadline) {
			break
		}
		c.gate("resumed", c.Client.ResumeAll)
		Let(2 * time.Second)
	}
	c.reportLive()
}

// AwaitEnd waits until every job's schedule has ended, all of its slots are decided, and no run is active.
func (c *Cluster) AwaitEnd(limit time.Duration) {
	c.t.Helper()
	if !Within(limit, func() bool { return c.undecided() == 0 && len(c.live()) == 0 }) {
		c.t.Errorf("%d jobs have slots to decide after %v", c.undecided(), limit)
		c.reportLive()
	}
}

func (c *Cluster) gate(what string, turn func(context.Context, string) (api.GateView, error)) {
	c.t.Helper()
	Await(c.t, 30*time.Second, "all jobs are "+what, func() bool {
		_, err := turn(c.t.Context(), "the test is over")
		return err == nil
	})
}

// undecided counts the jobs whose schedule has not ended.
func (c *Cluster) undecided() (n int) {
	for name, spec := range c.cfg.Jobs {
		if cursor, ok := c.cursor(name); spec.Scheduled() && (!ok || !cursor.Next.IsZero()) {
			n++
		}
	}
	return n
}

// decidedUpTo reports whether all slots before an instant are decided.
func (c *Cluster) decidedUpTo(at time.Time) bool {
	for name := range c.cfg.Jobs {
		if cursor, ok := c.cursor(name); !ok || cursor.Next.Before(at) {
			return false
		}
	}
	return true
}

// cursor returns the latest cursor of a job.
func (c *Cluster) cursor(name string) (cursor job.Cursor, ok bool) {
	vs := c.Recorder.VersionsOf("cursors/" + name)
	return cursor, len(vs) > 0 && json.Unmarshal(vs[len(vs)-1].Value, &cursor) == nil
}

// live lists the runs that have not ended.
func (c *Cluster) live() (live []string) {
	c.Recorder.Sync()
	for name, r := range c.Recorder.Runs("") {
		if !r.State.Terminal() {
			live = append(live, fmt.Sprintf("%s is %s on %q: %s", name, r.State, r.Worker, r.Reason))
		}
	}
	return live
}

func (c *Cluster) reportLive() {
	c.t.Helper()
	live := c.live()
	slices.Sort(live)
	c.t.Errorf("%d runs do not end:\n%s", len(live), strings.Join(live[:min(len(live), 10)], "\n"))
}

// Verify asks rota to verify all changes of the store, and logs its answer. An invariant that is broken fails the test.
func (c *Cluster) Verify() {
	c.t.Helper()
	out, code := Command(c.t, c.cfg.Binary, "verify", "--all-changes", "--endpoints="+strings.Join(c.Endpoints(), ","))
	if c.t.Logf("rota verify: %s", strings.TrimSpace(out)); code != 0 {
		c.t.Errorf("rota verify ended with %d", code)
	}
}

// Check pauses all jobs and waits until no run is active. Then it calls effects for the effects of all runs, and judges the
// history. expect may change the expectations for a job.
func (c *Cluster) Check(effects func() []history.Effect, byHand map[string]bool, expect func(*history.Job)) {
	c.t.Helper()
	c.Quiesce()
	c.Judge(effects(), byHand, expect)
}

// Judge does the same as Check for a cluster whose runs have all ended: it does not wait. It keeps the records as Keep does.
func (c *Cluster) Judge(effects []history.Effect, byHand map[string]bool, expect func(*history.Job)) {
	c.t.Helper()
	h := history.History{
		Prefix: Prefix, Versions: c.Recorder.Versions(), Effects: effects, Faults: c.Faults(), ByHand: byHand, PutBack: c.PutBack, Hand: c.Hand,
		Calls:    c.Calls.All(),
		Recovery: c.Recovery, Over: time.Now(),
	}
	h.Jobs = Expectations(c.cfg.Jobs, expect)
	for i := range h.Jobs {
		if h.Jobs[i].From.IsZero() {
			h.Jobs[i].From = c.ready
		}
	}
	const most = 40
	v := history.Judge(h)
	for _, v := range v.Violations[:min(len(v.Violations), most)] {
		c.t.Errorf("%v", v)
	}
	if n := len(v.Violations); n > most {
		c.t.Errorf("… and %d more", n-most)
	}
	c.t.Logf("judged: %d revisions of records, %d effects, %d calls, %d faults; %v", len(h.Versions), len(effects), len(h.Calls), len(h.Faults), v)
	Keep(c.t, h, v)
}

// Expectations returns the expectations for each job: every run succeeds and has an effect. expect may change them; it may be
// nil.
func Expectations(specs map[string]job.Spec, expect func(*history.Job)) (jobs []history.Job) {
	for name, spec := range specs {
		j := history.Job{Name: name, Spec: spec.WithDefaults(), Effects: true}
		if expect != nil {
			expect(&j)
		}
		jobs = append(jobs, j)
	}
	return jobs
}
