package store

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestAPresenceIsRenewedWhileItsRecordIsWritten(t *testing.T) {
	t.Parallel()
	renewed := make(chan struct{})
	var once sync.Once
	c := fake(t, mem.FaultFunc(func(op mem.Op) (v mem.Verdict) {
		switch op.Kind {
		case mem.KeepAlive:
			once.Do(func() { close(renewed) })
		case mem.Txn: // the write gets no answer before the first renewal
			select {
			case <-renewed:
			default:
				v = mem.Verdict{Action: mem.Refuse, Hang: true}
			}
		}
		return v
	})).Client()
	p := present(t, open(t, c))
	if left := time.Until(p.Deadline()); left < 2*time.Second {
		t.Errorf("the presence has %v left when it is there, want it to have been renewed", left)
	}
}

// TestPresenceWithoutALeaseIsUnreadable writes presences that belong to no process and never expire.
func TestPresenceWithoutALeaseIsUnreadable(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	p, err := s.PresentWorker(within(t), job.Worker{Name: "w", Capacity: 1, Started: epoch}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	put(t, c, s.keys.record(KindWorkers, "ghost"), `{"name":"ghost","session":"1","capacity":100,"started":"2026-01-01T00:00:00Z"}`)
	put(t, c, s.keys.record(KindReplicas, "ghost"), `{"name":"ghost","session":"1","started":"2026-01-01T00:00:00Z"}`)
	catchUp(t, s, m)
	if workers := m.Workers(); len(workers) != 1 || workers[0].Name != "w" || len(m.Replicas()) != 0 {
		t.Errorf("got %d workers and %d replicas, want the one on a lease", len(workers), len(m.Replicas()))
	}
	if bad := m.Quarantine(); len(bad) != 2 {
		t.Errorf("quarantine: got %+v, want both", bad)
	}
	if list, err := s.Replicas(within(t)); err != nil || len(list) != 0 {
		t.Errorf("replicas: got %d (%v), want none", len(list), err)
	}
}

// The store asks a member that answers only renewals, as a member with a hung disk does.
func TestPresenceIsLostWhenOnlyRenewalsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Bool
		srv := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) mem.Verdict {
			if hung.Load() && op.Kind != mem.KeepAlive {
				return mem.Verdict{Action: mem.Refuse, Hang: true}
			}
			return mem.Verdict{}
		})})
		defer srv.Close()
		s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
		defer s.Close()
		p, err := s.PresentWorker(t.Context(), job.Worker{Name: "w", Capacity: 1, Started: epoch}, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close(t.Context())
		time.Sleep(time.Minute)
		synctest.Wait()
		if isLost(p) {
			t.Fatal("it is lost although all is well")
		}
		hung.Store(true)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if !isLost(p) {
			t.Error("it is not lost")
		}
		hung.Store(false)
	})
}

// TestPresenceIsLostWhenNoRenewalIsAnswered checks that a presence is lost before its lease expires, and is not put back then.
func TestPresenceIsLostWhenNoRenewalIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) (v mem.Verdict) {
			if op.Kind == mem.KeepAlive {
				v = mem.Verdict{Action: mem.Refuse, Hang: true}
			}
			return v
		})})
		defer srv.Close()
		s := New(Config{Prefix: prefix, Process: "p"}, srv.Client(), nullLog)
		defer s.Close()
		p, err := s.PresentWorker(t.Context(), job.Worker{Name: "w", Capacity: 1, Started: epoch}, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close(t.Context())
		time.Sleep(4*time.Second + time.Millisecond)
		synctest.Wait()
		if !isLost(p) {
			t.Error("it is not lost at its deadline")
		}
		time.Sleep(time.Minute)
		if got := value(t, srv.Client(), s.keys.record(KindWorkers, "w")); got != "" {
			t.Errorf("the record is %q, want none", got)
		}
	})
}
