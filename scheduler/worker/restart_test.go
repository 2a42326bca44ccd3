package worker

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestRestart(t *testing.T) {
	bubble(t, "delivers the outcomes of the journal before it opens a session", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name, _ := r.one()
		after(100 * time.Millisecond)
		r.store.answer(refused)
		r.finish()
		if err := r.journal.Close(); err != nil {
			t.Fatal(err)
		}
		r.wantState(name, job.Running)

		second := newRig(t, lasting(time.Second))
		second.cfg.DataDir, second.store = r.cfg.DataDir, r.store
		r.store.answer(none)
		second.sessions.opening = func() {
			if got := r.store.get(name).State; got != job.Succeeded {
				t.Errorf("a session opens while run %s is %s, want %s", name, got, job.Succeeded)
			}
		}
		second.start()
		after(2 * time.Second)
		second.wantState(name, job.Succeeded)
		second.wantExecutions(0)
		second.wantJournal(0)
		if len(second.sessions.opened) != 1 {
			t.Errorf("%d sessions opened, want 1", len(second.sessions.opened))
		}
	})

	t.Run("delivers the outcomes of a killed process once", func(t *testing.T) {
		for _, sent := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.start()
				name, _ := r.one()
				after(100 * time.Millisecond)
				// No answer arrives. In one case the store applies the write.
				r.store.set(func() {
					r.store.fault = func(op string, _ *job.Run) fault {
						if sent && op == "write" {
							return applied
						}
						return refused
					}
				})
				time.Sleep(900*time.Millisecond + time.Nanosecond)
				synctest.Wait()
				dir := t.TempDir() // holds a copy of the data directory, taken at the kill
				err := r.journal.db.View(func(tx *bolt.Tx) error { return tx.CopyFile(filepath.Join(dir, "journal.db"), 0o600) })
				if err != nil {
					t.Fatal(err)
				}
				r.finish()

				second := newRig(t, lasting(time.Second))
				second.cfg.DataDir, second.store = dir, r.store
				r.store.answer(none)
				second.start()
				after(2 * time.Second)
				second.wantState(name, job.Succeeded)
				second.wantJournal(0)
				if got := r.store.eventList(); len(got) != 0 {
					t.Errorf("events = %v, want none", got)
				}
			})
		}
	})

	bubble(t, "opens a session after settleTimeout without the store's answer", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		j := openJournal(t, r.cfg.DataDir+"/journal.db")
		if err := j.add(sampleReport(1)); err != nil {
			t.Fatal(err)
		}
		j.Close()
		r.store.fault = func(op string, run *job.Run) fault {
			if op == "write" && run.ID == "1" {
				return refused
			}
			return none
		}
		r.start()
		after(settleTimeout - time.Millisecond)
		if r.session() != nil {
			t.Error("session opened before the outcome was delivered")
		}
		after(time.Second)
		name, _ := r.one()
		after(2 * time.Second)
		r.wantState(name, job.Succeeded)
		r.wantJournal(1)
		r.store.answer(none)
		after(3 * time.Second)
		r.wantJournal(0)
		if got := r.store.eventList(); len(got) != 1 {
			t.Errorf("events = %v, want that of the run which is gone", got)
		}
	})
}

// TestAStuckOutcomeKeepsNoOther lets two attempts end at once. The record of one run is unreadable for long. The history forgets the
// other run before the next process starts.
func TestAStuckOutcomeKeepsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, req executor.Request) job.Outcome {
			d := time.Second
			if req.Run.ID == "first" { // then the outcomes of the others share the next sync
				d -= commitInterval / 2
			}
			return lasting(d)(ctx, req)
		})
		r.store.refuse = func(run *job.Run) error {
			if run.ID == "stuck" && run.State != job.Running {
				return job.ErrUnreadable
			}
			return nil
		}
		r.start()
		fine, stuck := r.store.pending("backup", "fine", time.Now()), r.store.pending("backup", "stuck", time.Now())
		r.give(r.store.pending("backup", "first", time.Now()), fine, stuck)
		after(time.Minute)
		r.wantState(fine, job.Succeeded)
		r.wantJournal(1)
		r.finish()
		if err := r.journal.Close(); err != nil {
			t.Fatal(err)
		}
		r.store.prune(fine)
		r.store.set(func() { r.store.past = nil })
		r.start()
		after(time.Minute)
		if got := r.store.eventList(); len(got) != 0 {
			t.Errorf("events = %v, want none", got)
		}
		r.store.set(func() { r.store.refuse = nil })
		after(time.Minute)
		r.wantState(stuck, job.Succeeded)
		r.wantJournal(0)
	})
}

// BenchmarkAttempts measures whole attempts, with the journal, against a store that costs almost nothing.
func BenchmarkAttempts(b *testing.B) {
	dir := b.TempDir()
	j, err := OpenJournal(dir + "/journal.db")
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	store := newFakeStore()
	store.define("backup", job.Spec{Command: []string{"x"}})
	sessions := &fakeSessions{}
	exec := &fakeExecutor{do: func(context.Context, executor.Request) job.Outcome {
		return job.Outcome{State: job.Succeeded, At: time.Now()}
	}}
	done := make(chan struct{}, 1)
	n := 0
	store.wrote = func(run job.Run) {
		if run.State == job.Succeeded {
			if n++; n == b.N {
				close(done)
			}
		}
	}
	w := New(Config{Name: "w1", Capacity: 1 << 20, DataDir: dir}, store, sessions, exec, j, hclog.NewNullLogger())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for sessions.last() == nil {
		// The benchmark polls: it runs in real time, and the fake does not announce a session.
		time.Sleep(time.Millisecond)
	}
	b.ResetTimer()
	for i := range b.N {
		store.give("w1", "s1", store.pending("backup", fmt.Sprint(i), time.Now()))
	}
	<-done
	b.StopTimer()
	stop()
	<-ended
}
