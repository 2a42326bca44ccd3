package worker

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestOrder(t *testing.T) {
	bubble(t, "is executed once if it is delivered twice, early and late", func(t *testing.T) {
		r := newRig(t, lasting(10*time.Second))
		r.start()
		name, order := r.one()
		r.store.again(order)
		after(time.Second)
		r.store.again(order)
		after(2 * orderMemory)
		r.one()
		after(time.Minute)
		r.store.again(order) // the shift has forgotten it
		after(time.Minute)
		r.wantState(name, job.Succeeded)
		r.wantExecutions(2)
	})

	bubble(t, "leaves the queue even if it is created twice", func(t *testing.T) {
		r := newRig(t, lasting(10*time.Second))
		r.start()
		_, order := r.one()
		after(time.Second)
		r.store.again(order) // in the queue again, as after a transaction that was applied twice
		after(time.Second)
		if n := r.store.queued(); n != 0 {
			t.Errorf("%d orders are left, want none", n)
		}
		r.wantExecutions(1)
	})

	bubble(t, "leaves the queue even if it is created again before its removal is answered", func(t *testing.T) {
		r := newRig(t, lasting(10*time.Second))
		var once sync.Once
		r.store.removed = func(o job.Order) {
			once.Do(func() {
				r.store.again(o)
				time.Sleep(time.Second) // it arrives before the answer
			})
		}
		r.start()
		r.one()
		after(time.Minute)
		if n := r.store.queued(); n != 0 || r.store.closed != 2 {
			t.Errorf("%d orders are left, want none; %d were removed, want 2", n, r.store.closed)
		}
		r.wantExecutions(1)
	})

	bubble(t, "is executed once if it is delivered again after the shift has forgotten it", func(t *testing.T) {
		r := newRig(t, lasting(time.Hour))
		r.start()
		_, order := r.one()
		after(2 * orderMemory)
		other := r.store.pending("backup", "b", time.Now())
		r.give(other) // makes closeOrders forget old orders
		after(time.Second)
		r.store.again(order)
		after(time.Second)
		r.wantExecutions(2)
	})

	bubble(t, "is not executed if its run was changed before the claim", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := r.store.pending("backup", "a", time.Now().Add(time.Second))
		r.give(name)
		after(0)
		r.store.change(name, "", func(run job.Run) (job.Run, error) { return run.Recall("paused") })
		after(5 * time.Second)
		r.wantState(name, job.Pending)
		r.wantExecutions(0)
		if n := r.store.queued(); n != 0 {
			t.Errorf("%d orders are queued, want none", n)
		}
	})

	t.Run("is claimed with the later token if its run was assigned again", func(t *testing.T) {
		for _, delivered := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lasting(time.Second))
				r.start()
				name := r.store.pending("backup", "a", time.Now().Add(time.Second))
				r.give(name)
				after(0)
				if delivered {
					r.give(name)
				} else {
					r.store.change(name, "", func(run job.Run) (job.Run, error) { return run, nil })
				}
				rev := r.store.get(name).Rev
				after(1500 * time.Millisecond)
				if got := r.wantState(name, job.Running).Token; got != rev {
					t.Errorf("token = %d, want %d", got, rev)
				}
				after(time.Second)
				r.wantExecutions(1)
			})
		}
	})

	bubble(t, "is not executed for another session", func(t *testing.T) {
		r := newRig(t, lasting(time.Second))
		r.start()
		name := r.store.pending("backup", "a", time.Now())
		r.store.give("w1", "s0", name)
		after(time.Second)
		r.wantState(name, job.Armed)
		r.wantExecutions(0)
		if n := r.store.queued(); n != 0 {
			t.Errorf("%d orders are queued, want none", n)
		}
	})
}
