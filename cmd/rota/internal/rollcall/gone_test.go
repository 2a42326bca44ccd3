package rollcall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// scale is a cluster in which the replica beside q1 is replaced again and again by one of another name, as by an autoscaler.
type scale struct {
	mu        sync.Mutex
	present   string         // guarded by mu
	left      []*job.Replica // guarded by mu
	mute      string         // replicas whose names begin so never answer; empty: all answer while they are present
	asked     map[string]int // guarded by mu: the calls of each replica
	published int            // guarded by mu
}

func (s *scale) ask(_ context.Context, name, _ string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name]++
	if name != s.present || s.mute != "" && strings.HasPrefix(name, s.mute) {
		return silent()
	}
	return 7, nil
}

func (s *scale) replicas() []*job.Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clip(s.left), &job.Replica{Name: s.present, Addr: s.present + ":1"})
}

func (s *scale) publish([]job.Outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published++
}

// replace replaces the replica by the one called name. The old one leaves, or is lost.
func (s *scale) replace(name string, leaves bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leaves {
		s.left = append(s.left, &job.Replica{Name: s.present, Addr: s.present + ":1", Leaving: time.Now()})
	}
	s.present, s.asked, s.published = name, map[string]int{}, 0
}

func TestReplicasThatNeverReturnAreNotCalledForEver(t *testing.T) {
	for how, leaves := range map[string]bool{"lost": false, "stopped": true, "never answered": false} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scale{present: "old", asked: map[string]int{}}
				if how == "never answered" {
					s.mute = "new-"
				}
				c := New(Config{
					Name: "q1", Now: time.Now, Term: func() int64 { return 0 }, Ask: s.ask, Publish: s.publish, Replicas: s.replicas,
				})
				run := func(d time.Duration) {
					ctx, cancel := context.WithTimeout(t.Context(), d)
					defer cancel()
					_ = c.Run(ctx)
				}
				for i := range 3 * kept {
					run(time.Minute)
					s.replace(fmt.Sprintf("new-%d", i), leaves)
				}
				run(time.Minute)
				s.replace("last", leaves)
				run(time.Minute)
				if c.mu.Lock(); len(c.peers) > kept+2+len(s.left) {
					t.Errorf("%d replicas are known", len(c.peers))
				}
				c.mu.Unlock()
				if got := c.Answering(); len(got) != 2 || !got["last"] {
					t.Errorf("answering: got %v, want q1 and last", got)
				}
				if len(s.asked) > kept+2 {
					t.Errorf("%d replicas are called", len(s.asked))
				}
				if s.published > 2 {
					t.Errorf("outages were published %d times in a minute in which one replica was replaced", s.published)
				}
				s.replace("old", leaves)
				run(time.Minute)
				if got := c.Answering(); !got["old"] {
					t.Errorf("after the return of the first one: got %v", got)
				}
			})
		})
	}
}

// TestManyPresentReplicasThatDoNotAnswer cuts q1 off from more replicas than it keeps outages of, while all are present in the store.
func TestManyPresentReplicasThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var present []*job.Replica
		for i := range kept + 4 {
			name := fmt.Sprintf("r%d", i)
			present = append(present, &job.Replica{Name: name, Addr: name + ":1"})
		}
		var cut atomic.Bool
		published := 0
		c := New(Config{
			Name: "q1", Now: time.Now, Term: func() int64 { return 7 }, Publish: func([]job.Outage) { published++ },
			Replicas: func() []*job.Replica { return present },
			Ask: func(context.Context, string, string) (int64, error) {
				if cut.Load() {
					return silent()
				}
				return 0, nil
			},
		})
		run := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			_ = c.Run(ctx)
		}
		run(time.Minute)
		cut.Store(true)
		run(time.Minute)
		if got := c.Answering(); published != 1 || len(got) != 1 || len(c.Outages()) != len(present) {
			t.Errorf("published %d times, answering %v, %d outages", published, got, len(c.Outages()))
		}
		cut.Store(false)
		run(time.Minute)
		if got := c.Answering(); published != 2 || len(got) != len(present)+1 {
			t.Errorf("after the cut: published %d times, answering %v", published, got)
		}
		present = present[:1]
		c.Died("r0:1", time.Now())
		if got := c.Outages(); len(got) != kept {
			t.Errorf("after a further outage: %d outages are kept, want %d", len(got), kept)
		}
	})
}

func TestTheLogForgetsReplicasThatLeftLongAgo(t *testing.T) {
	t.Parallel()
	l, began := NewLog(nil, nil), time.Now()
	const all = 3 * maxLeft
	for i := range all {
		l.see(&job.Replica{Name: fmt.Sprintf("q%d", i), Leaving: began.Add(time.Duration(i) * time.Minute)})
	}
	left := l.Left()
	if len(left) != maxLeft {
		t.Errorf("%d replicas are kept, want %d", len(left), maxLeft)
	}
	for _, r := range left {
		if r.Leaving.Before(began.Add((all - maxLeft) * time.Minute)) {
			t.Errorf("%s is kept, and later ones are forgotten", r.Name)
		}
	}
}
