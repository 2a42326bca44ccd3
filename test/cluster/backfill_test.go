package cluster

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestBackfillUnderKills backfills past slots while the leader is killed five times. Each slot runs once. The slots of another job,
// and of the job itself, start as soon as before. ROTA_BACKFILL_SLOTS is the number of past slots: by default
// 10,000 if ROTA_FAULTS is set, and 1000 otherwise.
func TestBackfillUnderKills(t *testing.T) {
	slow(t)
	const kills = 5
	slots := 1000
	if os.Getenv("ROTA_FAULTS") != "" {
		slots = 10_000
	}
	slots = fromEnv("ROTA_BACKFILL_SLOTS", slots)
	sink := NewSink(t)
	sink.AnswerBy(func(e history.Effect) (time.Duration, int) { return 50 * time.Millisecond, 204 })
	post := &job.HTTP{URL: sink.URL(), Method: "POST"}
	c := Start(t, Config{
		Binary: binary,
		Jobs: map[string]job.Spec{
			"past": {Every: job.Duration(time.Second), HTTP: post, Missed: job.MissedAll, Overlap: job.OverlapAllow},
			"live": {Every: job.Duration(time.Second), HTTP: post, Missed: job.MissedAll},
		},
		Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	c.AddWorker("w1", "--worker-capacity=100")
	c.AddWorker("w2", "--worker-capacity=100")
	Await(t, 60*time.Second, "live slots run", func() bool { return len(sink.Requests()) > 10 })
	Let(10 * time.Second)
	names := []string{"live", "past"} // both also have live slots
	before := map[string][]time.Duration{}
	for _, name := range names {
		before[name] = lateness(name, sink.Requests(), time.Time{}, nil)
	}

	view, err := c.Leader().Client.Job(t.Context(), "past")
	if err != nil {
		t.Fatal(err)
	}
	to := view.Created.Truncate(time.Second)
	from := to.Add(-time.Duration(slots-1) * time.Second)
	began := time.Now()
	order := api.BackfillRequest{From: from, To: to, Concurrency: 20}
	started, err := c.Leader().Client.StartBackfill(t.Context(), "past", order)
	if err != nil || started.Total != slots {
		t.Fatalf("start the backfill: %d slots, %v", started.Total, err)
	}
	progress := func() (v api.BackfillView) {
		Await(t, time.Minute, "a replica shows the backfill", func() bool {
			v, err = c.Leader().Client.Backfill(t.Context(), "past")
			return err == nil
		})
		return v
	}
	var takeovers [][2]time.Time // from each kill until the cluster was ready again
	for i := range kills {
		Await(t, 10*time.Minute, "the backfill goes on", func() bool { return progress().Started > slots*(i+1)/(kills+1) })
		leader := c.Leader()
		killed := time.Now()
		leader.Kill()
		t.Logf("killed %s after %v, with %d of %d slots started", leader.Name, time.Since(began).Round(time.Second), progress().Started, slots)
		leader.Start()
		c.WaitReady()
		takeovers = append(takeovers, [2]time.Time{killed, time.Now()})
	}
	Await(t, 20*time.Minute, "the backfill is done", func() bool { return progress().State == job.BackfillDone })
	end := progress()
	if end.Started != slots || end.Passed != 0 {
		t.Errorf("got %d runs and %d slots passed over, want %d and 0", end.Started, end.Passed, slots)
	}
	times := map[string]int{}
	for _, e := range sink.Requests() {
		times[e.Run]++
	}
	for at := from; !at.After(to); at = at.Add(time.Second) {
		if n := times["past/"+job.SlotID(at)]; n != 1 {
			t.Errorf("slot %s ran %d times", job.SlotID(at), n)
		}
	}
	if again, err := c.Leader().Client.StartBackfill(t.Context(), "past", order); err != nil || again.Total != 0 {
		t.Errorf("a second backfill of the same slots would run %d, %v", again.Total, err)
	}
	t.Logf("backfilled %d slots in %v", slots, time.Since(began).Round(time.Second))
	for _, name := range names {
		// If the backfill is short, takeovers may disturb all live slots.
		if during := lateness(name, sink.Requests(), began, takeovers); len(during) > 0 || slots >= 10_000 {
			notLater(t, name, before[name], during)
		}
	}
	c.Check(sink.Requests, nil, nil)
}

// TestBackfillOfAWorkflow backfills a job with two steps behind it, four slots at a time, while the leader is killed. For each slot,
// each job runs once and after its parent.
func TestBackfillOfAWorkflow(t *testing.T) {
	slow(t)
	const slots = 30
	sink := NewSink(t)
	post := &job.HTTP{URL: sink.URL(), Method: "POST"}
	c := Start(t, Config{
		Binary: binary,
		Jobs: map[string]job.Spec{
			"extract": {Every: job.Duration(time.Hour), HTTP: post},
			"load":    {After: []job.After{{Job: "extract"}}, HTTP: post},
			"report":  {After: []job.After{{Job: "load"}}, HTTP: post},
		},
		Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	c.AddWorker("w1")
	view, err := c.Leader().Client.Job(t.Context(), "extract")
	if err != nil {
		t.Fatal(err)
	}
	to := view.Created.Truncate(time.Hour)
	from := to.Add(-(slots - 1) * time.Hour)
	order := api.BackfillRequest{From: from, To: to, Concurrency: 4, DryRun: true}
	steps := []string{"load", "report"}
	if dry, err := c.Leader().Client.StartBackfill(t.Context(), "extract", order); err != nil || dry.Total != slots || !slices.Equal(dry.Steps, steps) {
		t.Fatalf("dry run: %d slots with steps %v, %v", dry.Total, dry.Steps, err)
	}
	order.DryRun = false
	if _, err := c.Leader().Client.StartBackfill(t.Context(), "extract", order); err != nil {
		t.Fatal(err)
	}
	Await(t, time.Minute, "the backfill has begun", func() bool { return len(sink.Requests()) > slots/2 })
	leader := c.Leader()
	leader.Kill()
	leader.Start()
	c.WaitReady()
	Await(t, 2*time.Minute, "the backfill is done", func() bool {
		v, err := c.Leader().Client.Backfill(t.Context(), "extract")
		return err == nil && v.State == job.BackfillDone && v.Started == slots && v.Active == 0
	})
	arrived := map[string][]time.Time{}
	for _, e := range sink.Requests() {
		arrived[e.Run] = append(arrived[e.Run], e.Arrived)
	}
	for at := from; !at.After(to); at = at.Add(time.Hour) {
		var before time.Time
		for _, name := range append([]string{"extract"}, steps...) {
			run := name + "/" + job.SlotID(at)
			if n := len(arrived[run]); n != 1 || !arrived[run][0].After(before) {
				t.Errorf("%s ran at %v: want once, and after %v", run, arrived[run], before)
				continue
			}
			before = arrived[run][0]
		}
	}
	c.Check(sink.Requests, nil, nil)
}

// notLater fails the test if live slots of a job began later during the backfill than before it: half of them, or nine in ten.
func notLater(t *testing.T, name string, before, during []time.Duration) {
	t.Helper()
	t.Logf("live slots of %s began %v late before, and %v during the backfill between takeovers (medians of %d and %d); nine in ten %v and %v",
		name, share(before, 50), share(during, 50), len(before), len(during), share(before, 90), share(during, 90))
	if len(during) == 0 {
		t.Errorf("no live slot of %s was due between takeovers", name)
	}
	for _, percent := range []int{50, 90} {
		if share(during, percent) > share(before, percent)+500*time.Millisecond {
			t.Errorf("%d %% of %d live slots of %s began up to %v late during the backfill, and up to %v before",
				percent, len(during), name, share(during, percent), share(before, percent))
		}
	}
}

// lateness returns how long after its slot each live run of a job arrived, for slots since began. It leaves out the slots of
// takeovers, and of the second before each, since the killed replica may have held their runs.
func lateness(name string, effects []history.Effect, began time.Time, takeovers [][2]time.Time) (late []time.Duration) {
	for _, e := range effects {
		id, ok := strings.CutPrefix(e.Run, name+"/")
		slot, err := time.Parse(time.RFC3339Nano, id)
		disturbed := slices.ContainsFunc(takeovers, func(t [2]time.Time) bool {
			return slot.After(t[0].Add(-time.Second)) && slot.Before(t[1])
		})
		if ok && err == nil && !slot.Before(began) && !disturbed {
			late = append(late, e.Arrived.Sub(slot).Round(time.Millisecond))
		}
	}
	return late
}

// share returns the time that so many percent of a list do not exceed.
func share(list []time.Duration, percent int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)*percent/100]
}
