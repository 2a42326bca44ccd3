package store

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestALoneWriteLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		c := srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, c, nullLog)
		defer s.Close()
		began := time.Now()
		if _, err := s.PutJob(t.Context(), definition("j")); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 0 || s.Counts().Transactions != 1 {
			t.Errorf("took %v and %d transactions, want none and 1", d, s.Counts().Transactions)
		}
	})
}

func TestWritesGatherUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
		defer s.Close()
		const n, every = 10_000, 100 * time.Microsecond
		var wg sync.WaitGroup
		for i := range n {
			time.Sleep(every)
			wg.Go(func() {
				began := time.Now()
				if _, err := s.PutJob(t.Context(), definition(fmt.Sprint("j", i))); err != nil {
					t.Error(err)
				}
				if d := time.Since(began); d > pace {
					t.Errorf("a write took %v, want %v at most", d, pace)
				}
			})
		}
		wg.Wait()
		if got, most := s.Counts().Transactions, int64(n*every/pace+2*burst); got > most {
			t.Errorf("got %d transactions, want %d at most", got, most)
		}
	})
}

// A client that waits for each of its writes meets no pace, and requests that keep to the pace take its writes along.
func TestWritesOfClientsLeaveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
		defer s.Close()
		const n = 1000
		end := make(chan struct{})
		var others sync.WaitGroup
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-end:
					return
				case <-time.After(time.Millisecond):
					others.Go(func() { _, _ = s.PutJob(t.Context(), definition(fmt.Sprint("other", i))) })
				}
			}
		})
		time.Sleep(time.Second)
		began := time.Now()
		for i := range n {
			ctx := WithAudit(t.Context(), job.Audit{At: began.Add(time.Duration(i)), Author: job.Author{Principal: "alice"}})
			if i%2 == 1 {
				ctx = WithoutAudit(t.Context())
			}
			if _, err := s.PutJob(ctx, definition(fmt.Sprint("j", i))); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d > 0 { // the store answers at once
			t.Errorf("%d writes one after another took %v", n, d)
		}
		close(end)
		others.Wait()
		if g := s.free; g.awaited != 0 {
			t.Errorf("%d awaited writes are left in an empty queue", g.awaited)
		}
	})
}

// A client's write meets no pace either if all senders are taken and one of them waits for its turn.
func TestAClientsWriteEndsThePauseOfASender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		step := func(mem.Op) mem.Verdict {
			if slow.Load() {
				return mem.Verdict{Delay: time.Second}
			}
			return mem.Verdict{}
		}
		faults := &script{steps: slices.Repeat([]func(mem.Op) mem.Verdict{step}, 100)}
		srv := mem.New(mem.Config{Faults: faults})
		defer srv.Close()
		c := srv.Client()
		faults.client.Store(c)
		s := New(Config{Prefix: prefix, Process: "p"}, c, nullLog)
		defer s.Close()
		var others sync.WaitGroup
		defer others.Wait()
		senders := func() (running int, pausing bool) {
			s.free.mu.Lock()
			defer s.free.mu.Unlock()
			return s.free.inFlight, s.free.pausing
		}
		for i, running := 0, 0; running < maxInFlight; i++ {
			slow.Store(i >= 2*burst)
			others.Go(func() { _, _ = s.PutJob(t.Context(), definition(fmt.Sprint("other", i))) })
			synctest.Wait()
			var pausing bool
			if running, pausing = senders(); pausing && running < maxInFlight {
				time.Sleep(pace)
				synctest.Wait()
			}
		}
		slow.Store(false)
		if _, pausing := senders(); !pausing {
			t.Fatal("no sender waits for its turn")
		}
		began := time.Now()
		if _, err := s.PutJob(WithoutAudit(t.Context()), definition("j")); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("the write took %v", d)
		}
	})
}

// Full requests leave without a pause. A later request that is not full must not wait longer because of them.
func TestLaterWritesDoNotWaitForAHerd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{behind: make(map[string][]*write)}
		for range 50 * maxWrites {
			g.pushLocked(&write{})
		}
		for g.readyLocked() > 0 {
			if wait := g.waitLocked(); wait > 0 {
				t.Fatalf("a full request waits for %v", wait)
			}
			g.takeLocked()
		}
		g.pushLocked(&write{})
		if wait := g.waitLocked(); wait > pace {
			t.Errorf("what comes after the herd waits for %v, want %v at most", wait, pace)
		}
	})
}

// Writes that nobody waits for gather for longer.
func TestPatientWritesGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		s, term := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog), reign(t, srv.Client(), "a")
		defer s.Close()
		const n, every = 5_000, 200 * time.Microsecond
		before := s.Counts().Transactions
		for i := range n {
			time.Sleep(every)
			began := time.Now()
			d := fire(slot(fmt.Sprint("j", i), 1), 0)
			*d.Run = *given(d.Run, "w")
			d.Run.Armed = d.Run.Due.Add(-time.Second)
			s.Commit(t.Context(), term, []job.Decision{d}, func(_ int, a job.Applied) {
				if a.Err != nil {
					t.Error(a.Err)
				}
				if d := time.Since(began); d > gather {
					t.Errorf("a write took %v, want %v at most", d, gather)
				}
			})
		}
		time.Sleep(gather)
		synctest.Wait()
		if got, most := s.Counts().Transactions-before, int64(n*every/gather+2); got > most {
			t.Errorf("got %d transactions, want %d at most", got, most)
		}
	})
}

// A write that is not patient takes the patient ones along.
func TestAnEagerWriteEndsThePatienceOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		s, term := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog), reign(t, srv.Client(), "a")
		defer s.Close()
		began := time.Now()
		commit(t, s, term, fire(slot("first", 1), 0))
		var answered atomic.Int64
		for i := range 3 {
			name := fmt.Sprint("j", i)
			event := job.Decision{Job: name, Event: &job.Event{ID: "e", Job: name}}
			s.Commit(t.Context(), term, []job.Decision{event}, func(int, job.Applied) { answered.Add(1) })
			synctest.Wait()
		}
		if got := answered.Load(); got > 0 {
			t.Errorf("%d patient writes left at once", got)
		}
		commit(t, s, term, fire(slot("last", 1), 0))
		synctest.Wait()
		if got, d := answered.Load(), time.Since(began); got != 3 || d > 0 {
			t.Errorf("%d patient writes were answered after %v, want 3 at once", got, d)
		}
		if g := s.led(t.Context(), term); g.eager != 0 {
			t.Errorf("%d eager writes are left in an empty queue", g.eager)
		}
	})
}

func TestWhichWritesOfAWorkerArePatient(t *testing.T) {
	now := epoch
	for name, c := range map[string]struct {
		state          job.State
		armed, started time.Duration // after now; the run is due at now
		want           bool
	}{
		"a claim before the start":          {job.Running, -time.Second, time.Millisecond, true},
		"a claim at the start":              {job.Running, -time.Second, 0, false},
		"a claim of a run that was due":     {job.Running, time.Millisecond, 2 * time.Millisecond, false},
		"an outcome":                        {job.Succeeded, -time.Second, 0, true},
		"an outcome of a run that was due":  {job.Failed, 0, 0, false},
		"an attempt that is to be repeated": {job.Pending, -time.Second, 0, false},
	} {
		r := slot("j", 0)
		r.Due, r.State, r.Armed, r.Started = now, c.state, now.Add(c.armed), now.Add(c.started)
		if got := patientRun(r, now); got != c.want {
			t.Errorf("%s: patient %v, want %v", name, got, c.want)
		}
	}
}

func TestWhichDecisionsArePatient(t *testing.T) {
	due, ahead := given(slot("j", 1), "w"), given(slot("j", 1), "w")
	due.Armed, ahead.Armed = due.Due, ahead.Due.Add(-time.Second)
	ended := *ahead
	ended.State = job.Lost
	for name, c := range map[string]struct {
		decision job.Decision
		want     bool
	}{
		"a run armed ahead":         {job.Decision{Run: ahead}, true},
		"a run that is due":         {job.Decision{Run: due}, false},
		"a run that waits":          {job.Decision{Run: slot("j", 1)}, false},
		"the end of a run":          {job.Decision{Run: &ended}, false},
		"a deletion of history":     {job.Decision{Deletions: []*job.Run{&ended}}, true},
		"the next slot to backfill": {job.Decision{Backfill: &job.Backfill{}}, false},
	} {
		if got := patientDecision(&c.decision); got != c.want {
			t.Errorf("%s: patient %v, want %v", name, got, c.want)
		}
	}
}
