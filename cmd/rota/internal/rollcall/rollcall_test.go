package rollcall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// scene is a replica q1 that calls q2 on simulated time.
type scene struct {
	*Calls
	answer    func() (int64, error) // of q2
	leaving   time.Time
	published atomic.Int32
}

func play(t *testing.T, do func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{answer: func() (int64, error) { return 7, nil }}
		s.Calls = New(Config{
			Name: "q1", Now: time.Now, Term: func() int64 { return 0 },
			Ask:      func(context.Context, string, string) (int64, error) { return s.answer() },
			Publish:  func([]job.Outage) { s.published.Add(1) },
			Replicas: func() []*job.Replica { return []*job.Replica{{Name: "q2", Addr: "q2:1", Leaving: s.leaving}} },
		})
		do(s)
	})
}

// run calls for a while.
func (s *scene) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_ = s.Run(ctx)
}

func silent() (int64, error) { return 0, context.DeadlineExceeded }
func refuses() (int64, error) {
	return 0, fmt.Errorf("dial: %w", errors.Join(syscall.ECONNREFUSED))
}

func (s *scene) last(t *testing.T, node string) job.Outage {
	t.Helper()
	for _, o := range s.Outages() {
		if o.Node == node {
			return o
		}
	}
	t.Fatalf("no outage of %q in %+v", node, s.Outages())
	return job.Outage{}
}

func TestASilentReplicaIsAbsentSinceItsLastAnswer(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		began := time.Now()
		s.answer = silent
		s.run(1500 * time.Millisecond)
		if list := s.Outages(); len(list) > 1 || !s.Answering()["q2"] {
			t.Fatalf("after 1.5 s: got %+v", list)
		}
		s.run(2 * time.Second)
		o := s.last(t, "q2")
		if d := began.Sub(o.From); d < 0 || d > 500*time.Millisecond || o.Cause != "" || !o.Until.IsZero() || s.Answering()["q2"] {
			t.Errorf("got %+v, %v before the silence", o, d)
		}
		if o := s.last(t, ""); began.Sub(o.From) > 500*time.Millisecond {
			t.Errorf("no leader: got %+v", o)
		}
		s.answer = func() (int64, error) { return 7, nil }
		s.run(time.Second)
		if o := s.last(t, "q2"); o.Until.IsZero() || !s.Answering()["q2"] {
			t.Errorf("after its return: got %+v", o)
		}
	})
}

func TestAReplicaIsUncalledUntilItsFirstCallEnds(t *testing.T) {
	for name, answer := range map[string]func() (int64, error){"answers": func() (int64, error) { return 7, nil }, "silent": silent} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				s.answer = answer
				if got := s.Uncalled(); !slices.Equal(got, []string{"q2"}) {
					t.Errorf("before the first call: got %v, want q2", got)
				}
				s.run(time.Second)
				if got := s.Uncalled(); len(got) > 0 {
					t.Errorf("after the first call: got %v", got)
				}
			})
			play(t, func(s *scene) {
				s.leaving = time.Now()
				if got := s.Uncalled(); len(got) > 0 {
					t.Errorf("a replica that stops: got %v", got)
				}
			})
		})
	}
}

func TestAReplicaWhosePortRefusesIsDeadAtOnce(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		s.answer = refuses
		s.run(700 * time.Millisecond)
		if o := s.last(t, "q2"); o.Cause != job.OutageDead {
			t.Errorf("got %+v", o)
		}
	})
}

func TestAWitnessedDeathIsExact(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		died := time.Now()
		s.Died("q2:1", died)
		if o := s.last(t, "q2"); !o.From.Equal(died) || o.Cause != job.OutageDead || s.published.Load() == 0 {
			t.Errorf("got %+v, published %d", o, s.published.Load())
		}
	})
}

// TestRoundsAndDeathsAreSignaled counts how often Record works. It has no timer of its own, so that an idle leader wakes up less often.
func TestRoundsAndDeathsAreSignaled(t *testing.T) {
	play(t, func(s *scene) {
		ctx, cancel := context.WithCancel(context.Background())
		signals := 0
		go func() {
			for ctx.Err() == nil {
				select {
				case <-s.Ended():
					signals++
				case <-ctx.Done():
				}
			}
		}()
		s.run(9900 * time.Millisecond)
		synctest.Wait()
		if want := 20; signals != want {
			t.Errorf("got %d signals in 9.9 s, want %d", signals, want)
		}
		s.Died("q2:1", time.Now())
		synctest.Wait()
		if want := 21; signals != want {
			t.Errorf("after a death: got %d signals, want %d", signals, want)
		}
		cancel()
		synctest.Wait()
	})
}

func TestAnAnswerFromBeforeTheDeathDoesNotEndTheOutage(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		died := false
		s.answer = func() (int64, error) {
			if died {
				return refuses()
			}
			<-time.After(10 * time.Millisecond) // simulated: the replica dies between the question and the arrival of its answer
			s.Died("q2:1", time.Now())
			died = true
			return 7, nil
		}
		s.run(2 * time.Second)
		if list := s.Outages(); len(list) == 0 || list[0].Node != "q2" || !list[0].Until.IsZero() {
			t.Errorf("got %+v, want one outage of q2 that lasts", list)
		}
	})
}

func TestAReplicaThatStopsInGoodOrder(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		s.leaving = time.Now().UTC()
		s.run(time.Second)
		s.answer = refuses
		s.run(time.Second)
		if o := s.last(t, "q2"); o.Cause != job.OutageStopped || !o.From.Equal(s.leaving) {
			t.Errorf("got %+v", o)
		}
	})
}

func TestAReplicaThatStopsFasterThanTheCalls(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		s.leaving = time.Now().UTC()
		s.Died("q2:1", time.Now())
		s.answer = refuses
		s.run(time.Second)
		if o := s.last(t, "q2"); o.Cause != job.OutageStopped || !o.From.Equal(s.leaving) {
			t.Errorf("got %+v", o)
		}
	})
}

func TestALogKeepsFarewells(t *testing.T) {
	l := NewLog(nil, nil)
	l.see(&job.Replica{Name: "q2"})
	l.see(&job.Replica{Name: "q2", Leaving: time.Now()})
	if left := l.Left(); len(left) != 1 || left[0].Name != "q2" {
		t.Errorf("after q2 stopped, got %v", left)
	}
	l.see(&job.Replica{Name: "q2"})
	if left := l.Left(); len(left) != 0 {
		t.Errorf("after q2 started again, got %v", left)
	}
}

func TestALogKeepsTheLatestChanges(t *testing.T) {
	l := NewLog(nil, nil)
	l.change(&job.Audit{ID: "run", Verb: job.VerbSubmitRun})
	for _, n := range []int{1, 0, 1} { // the list of earlier ones arrives later, and has some again
		l.change(&job.Audit{ID: fmt.Sprintf("%04d", n)})
	}
	for n := range maxChanges {
		l.change(&job.Audit{ID: fmt.Sprintf("%04d", n+2)})
	}
	if got := l.Changes(); len(got) != maxChanges || got[0].ID != "0002" || got[maxChanges-1].ID != fmt.Sprintf("%04d", maxChanges+1) {
		t.Errorf("got %d changes, from %s to %s", len(got), got[0].ID, got[len(got)-1].ID)
	}
}

func TestAProcessThatSleptBlamesNobody(t *testing.T) {
	play(t, func(s *scene) {
		s.run(3 * time.Second)
		<-time.After(20 * time.Second) // simulated: this process does not run
		first := true
		s.answer = func() (int64, error) {
			if first {
				first = false
				return silent()
			}
			return 7, nil
		}
		s.run(time.Second)
		if list := s.Outages(); len(list) != 0 {
			t.Errorf("got %+v", list)
		}
	})
}
