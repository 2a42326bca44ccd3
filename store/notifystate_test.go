package store

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// tell writes notify states and waits for all answers.
func tell(t *testing.T, s *Store, term election.Term, list ...job.NotifyState) (revs []int64, errs []error) {
	t.Helper()
	revs, errs = make([]int64, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	wg.Add(len(list))
	s.PutNotifyState(within(t), term, list, func(i int, rev int64, err error) { revs[i], errs[i] = rev, err; wg.Done() })
	wg.Wait()
	return revs, errs
}

func putJob(t *testing.T, s *Store, name string, spec job.Spec) job.Job {
	t.Helper()
	j, _ := job.Define(nil, name, spec, job.Origin{Kind: job.OriginAPI}, epoch)
	j, err := s.PutJob(within(t), j)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestPutNotifyStateIsGuarded(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		putJob(t, s, "j", job.Spec{Shell: "true"})
		k := putJob(t, s, "k", job.Spec{Shell: "true"})
		revs, errs := tell(t, s, term, job.NotifyState{Job: "j", UpTo: 7, At: epoch}, job.NotifyState{Job: "k", UpTo: 8, At: epoch}, job.NotifyState{Job: "nobody", At: epoch})
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], job.ErrConflict) {
			t.Fatalf("got %v, want the last one refused, since there is no such job", errs)
		}
		if there, errs := tell(t, s, term, job.NotifyState{Job: "j", UpTo: 9, At: epoch}); !errors.Is(errs[0], job.ErrConflict) || there[0] != revs[0] {
			t.Errorf("a record that is there already is made: %v, at %d, want its revision %d", errs[0], there[0], revs[0])
		}
		if _, errs := tell(t, s, term, job.NotifyState{Job: "j", UpTo: 9, At: epoch, Rev: revs[0]}); errs[0] != nil {
			t.Errorf("replace: %v", errs[0])
		}
		if err := s.DeleteJob(within(t), "k", k.Rev); err != nil {
			t.Fatal(err)
		}
		resp, err := c.Get(within(t), prefix+"/told/", clientv3.WithPrefix())
		if err != nil || len(resp.Kvs) != 1 || string(resp.Kvs[0].Key) != prefix+"/told/j" {
			t.Errorf("got %v (%v), want the record of the job that is left", resp.Kvs, err)
		}
		remove(t, c, term.Key)
		if _, errs := tell(t, s, term, job.NotifyState{Job: "j", UpTo: 10, At: epoch}); !errors.Is(errs[0], election.ErrTermLost) {
			t.Errorf("after the term: %v", errs[0])
		}
		if _, errs := tell(t, s, election.Term{}, job.NotifyState{Job: "j", At: epoch}); !errors.Is(errs[0], election.ErrTermLost) {
			t.Errorf("without a term: %v", errs[0])
		}
	})
}

// A tail delivers every change after its revision, events included. The mirror has the earlier changes.
func TestTailDeliversChanges(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		term := reign(t, c, "a")
		notify := job.Notify{"ops": {URL: "ntfy://x/y"}}
		putJob(t, s, "quiet", job.Spec{Shell: "true"})
		putJob(t, s, "loud", job.Spec{Shell: "true", Notify: notify})
		gone := putJob(t, s, "gone", job.Spec{Shell: "true", Notify: notify})
		if err := s.DeleteJob(within(t), "gone", gone.Rev); err != nil {
			t.Fatal(err)
		}
		tell(t, s, term, job.NotifyState{Job: "loud", UpTo: 3, At: epoch})
		skip := func(name, id string) {
			if err := s.Record(within(t), job.Event{ID: id, Kind: job.EventSkipped, Job: name, At: epoch, Reason: "missed: x"}); err != nil {
				t.Fatal(err)
			}
		}
		skip("loud", "e1")
		skip("quiet", "e1")
		m := following(t, s)
		catchUp(t, s, m)
		if got := m.NotifyingJobs(); !slices.Equal(got, []string{"loud"}) {
			t.Errorf("Notifying: got %q", got)
		}
		if got := m.NotifyState("loud"); got == nil || got.UpTo != 3 {
			t.Errorf("Told: got %+v", got)
		}
		if m.NotifyState("quiet") != nil {
			t.Error("quiet has a notify state")
		}

		tail, at := m.Tail()
		skip("loud", "e2")
		putJob(t, s, "more", job.Spec{Shell: "true", Notify: notify})
		var got []string
		for end := time.After(10 * time.Second); len(got) < 2; {
			select {
			case <-tail.Ready():
			case <-end:
				t.Fatalf("got only %q", got)
			}
			for _, c := range tail.Take() {
				got = append(got, string(c.Kind)+"/"+c.Name)
				if c.Rev <= at {
					t.Errorf("%s is of revision %d, not after %d", c.Name, c.Rev, at)
				}
			}
		}
		if want := []string{"events/loud/e2", "jobs/more"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		m.Unfeed(tail)
		events, err := s.EventsOf(within(t), map[string]bool{"loud": true}, at)
		if err != nil || len(events) != 1 || events[0].ID != "e1" || events[0].Rev == 0 {
			t.Errorf("EventsOf: got %+v (%v), want e1", events, err)
		}
	})
}
