package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

// TestAbandonedWriteIsNotResent checks that a write is not sent again after its caller gave up. Its run may have been
// created, ended and been removed. Another sending would create the run again.
func TestAbandonedWriteIsNotResent(t *testing.T) {
	for name, first := range map[string]mem.Verdict{
		"one that is applied, and not answered": {Action: mem.Lose, Hang: true},
		"one that is dropped":                   {Action: mem.Refuse, Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := &script{steps: []func(mem.Op) mem.Verdict{strike(first)}}
				srv := mem.New(mem.Config{Faults: faults})
				defer srv.Close()
				own, c := srv.Client(), srv.Client()
				faults.client.Store(own)
				s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
				defer s.Close()
				r := slot("j", 1)
				ctx, cancel := context.WithTimeout(t.Context(), shortTry/2)
				defer cancel()
				if _, err := s.Submit(ctx, *r); !isUnknown(err) {
					t.Fatalf("got %v, want an unknown outcome", err)
				}
				key := s.keys.run(r.Job, r.ID)
				if was := value(t, c, key) != ""; was != (first.Action == mem.Lose) {
					t.Fatalf("made: %t", was)
				}
				remove(t, c, key) // the run has ended, and history has removed it
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := value(t, c, key); got != "" {
					t.Errorf("made after its caller had given up: %s", got)
				}
				if _, err := s.Submit(t.Context(), *slot("j", 2)); err != nil { // the group still sends writes
					t.Error(err)
				}
			})
		})
	}
}

// TestOtherWritesOfABatchAreResent checks that a batch is sent again without the write whose caller gave up.
func TestOtherWritesOfABatchAreResent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left *write
		faults := &script{steps: []func(mem.Op) mem.Verdict{func(mem.Op) mem.Verdict {
			left.abandoned.Store(true)
			return mem.Verdict{Action: mem.Refuse, Hang: true}
		}}}
		srv := mem.New(mem.Config{Faults: faults})
		defer srv.Close()
		own, c := srv.Client(), srv.Client()
		faults.client.Store(own)
		s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
		defer s.Close()

		var ws []*write
		var wg sync.WaitGroup
		results := make([][]*written, 3)
		for i := range results {
			r := given(slot("j", i), "w")
			key := s.keys.run(r.Job, r.ID)
			w := &write{id: s.ids.next(), lane: key}
			r.Op = w.id
			if err := w.put(key, 0, r); err != nil {
				t.Fatal(err)
			}
			w.order = &handout{id: w.id, queue: s.keys.queue("w"), session: r.Session, run: w.value}
			wg.Add(1)
			w.done = func(_ *write, out *written) { results[i] = append(results[i], out); wg.Done() }
			ws = append(ws, w)
		}
		left = ws[0]
		s.free.enqueue(ws...)
		wg.Wait()
		synctest.Wait()
		for i, outs := range results {
			made := value(t, c, ws[i].probe[0]) != ""
			switch {
			case len(outs) != 1:
				t.Errorf("write %d got %d results", i, len(outs))
			case i == 0 && (!errors.Is(outs[0].err, errAbandoned) || made):
				t.Errorf("the one whose caller gave up: got %v, made %t", outs[0].err, made)
			case i > 0 && (outs[0].err != nil || !made):
				t.Errorf("write %d: got %v, made %t", i, outs[0].err, made)
			}
		}
		order, err := decodeOrder(ws[1].id, []byte(value(t, c, s.keys.order("w", ws[1].id))), 1)
		if err != nil || len(order.Runs) != 2 || order.Runs[0].State != job.Armed {
			t.Errorf("the order is %+v (%v), want the two runs that were given", order, err)
		}
	})
}
