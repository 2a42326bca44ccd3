package worker

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var (
	chaosSeeds = flag.Uint64("chaos.seeds", 8, "how many times TestChaos runs a worker")
	chaosFrom  = flag.Uint64("chaos.from", 0, "the first seed")
)

// TestChaos runs a worker through lost and late answers, lost sessions, requests to stop, restarts and kills. A leader dispatches
// due runs and takes back the runs of lost sessions. The test checks the guarantees throughout.
func TestChaos(t *testing.T) {
	for seed := *chaosFrom; seed < *chaosFrom+*chaosSeeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newChaos(t, seed).run() })
		})
	}
}

const (
	chaosRuns = 80
	chaosCalm = 400  // the round in which the faults end
	chaosEnd  = 2000 // the round in which all runs must have ended
)

// chaos is a worker, a leader and their faults.
type chaos struct {
	*rig
	random  *rand.Rand // draws the events
	watch   *overlapWatch
	names   []string // of the runs
	process *process
	silent  map[int64]bool // tokens of attempts whose outcomes were lost in a kill

	// Guarded by the store.
	faults     *rand.Rand // draws the faults of concurrent calls
	calm       bool       // there are no faults any more
	dark, full time.Time  // until then, the store does not answer, or has no room
	unreadable map[string]time.Time
}

func newChaos(t *testing.T, seed uint64) *chaos {
	t.Helper()
	c := &chaos{
		rig: newRig(t, nil), random: rand.New(rand.NewPCG(seed, 1)), faults: rand.New(rand.NewPCG(seed, 2)),
		watch: newOverlapWatch(t), silent: make(map[int64]bool), unreadable: make(map[string]time.Time),
	}
	c.cfg.Capacity = 8
	jobs := []string{"backup", "once", "kept", "short"}
	c.store.define("backup", job.Spec{
		Command: []string{"x"}, Retry: &job.Retry{Max: 3, Min: job.Duration(time.Second)}, KillGrace: job.Duration(time.Second),
	})
	c.store.define("once", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce})
	c.store.define("kept", job.Spec{Command: []string{"x"}, Delivery: job.AtMostOnce, Overlap: job.OverlapAllow})
	c.store.define("short", job.Spec{Command: []string{"x"}, Timeout: job.Duration(10 * time.Second)})
	for i := range chaosRuns {
		due := time.Now().Add(time.Duration(c.random.Int64N(int64(2 * time.Minute))))
		c.names = append(c.names, c.store.pending(jobs[i%len(jobs)], fmt.Sprint(i), due))
	}
	c.store.fault, c.store.refuse = c.fault, c.refuse
	return c
}

// run runs the worker until all runs have ended, and checks their records.
func (c *chaos) run() {
	c.launch()
	for round := 0; ; round++ {
		if round == chaosCalm {
			c.store.set(func() { c.calm = true })
		}
		open := c.lead(false)
		if round > chaosCalm && open == 0 {
			break
		}
		if round > chaosEnd {
			c.t.Fatalf("%d runs do not end", open)
		}
		after(time.Duration(c.random.Int64N(int64(2 * time.Second))))
		if round < chaosCalm {
			c.disturb()
		}
	}
	after(time.Minute)
	c.t.Logf("%d sessions, %d executions, %d events", len(c.sessions.opened), len(c.watch.tokens), len(c.store.eventList()))
	c.wantJournal(0)
	c.verify()
	if n := len(c.w.room) + len(c.w.attempts) + len(c.w.ending) + c.w.executing.count() + c.w.unsent.count() + c.w.blocked.count(); n > 0 {
		c.t.Errorf("the worker has %d places, attempts and outcomes, want none", n)
	}
	if c.watch.max > c.cfg.Capacity {
		c.t.Errorf("%d attempts executed at a time, want at most %d", c.watch.max, c.cfg.Capacity)
	}
	c.finish()
	c.watch.wantNone()
}

// verify checks the attempts in the records, and the events about them.
func (c *chaos) verify() {
	events := make(map[int64]int)
	for _, ev := range c.store.eventList() {
		events[ev.Token]++
	}
	for _, name := range c.names {
		var last int64
		for _, a := range c.store.get(name).Attempts {
			if a.Token <= last {
				c.t.Errorf("run %s: token %d after %d", name, a.Token, last)
			}
			last = a.Token
			want := 0
			if a.GivenUp && c.watch.tokens[a.Token] && !c.silent[a.Token] {
				want = 1
			}
			if got := events[a.Token]; got != want {
				c.t.Errorf("%d events for attempt %+v of run %s, want %d", got, a, name, want)
			}
			ended := c.watch.ends[a.Token] // an attempt that the worker ended may count as lost or canceled
			if !a.GivenUp && (ended == job.Succeeded || ended == job.Failed) && a.State != ended {
				c.t.Errorf("attempt %+v of run %s ended %s", a, name, ended)
			}
		}
	}
}
