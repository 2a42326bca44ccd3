package store

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

func TestWatchDeliversChangesSinceARevision(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		first := put(t, c, prefix+"/events/j/e1", `{"id":"e1","job":"j"}`)
		second := put(t, c, prefix+"/events/j/e2", `{"id":"e2","job":"j"}`)
		ctx, cancel := context.WithCancel(t.Context())
		from, changes, err := s.Watch(ctx, first)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-changes; from != first || len(got) != 1 || got[0].Rev != second || got[0].Value.(*job.Event).ID != "e2" {
			t.Errorf("from %d: got %+v, want e2 at %d", from, got, second)
		}
		cancel()
		for range changes {
		}
		third := put(t, c, prefix+"/events/j/e3", `{"id":"e3","job":"j"}`)
		if _, err := c.Compact(within(t), third); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		watches := make(map[int64]<-chan []job.Change)
		for after, want := range map[int64]int64{first: third, third: third, third - 1: third - 1, 0: third, third + 100: third} {
			from, changes, err := s.Watch(ctx, after)
			if err != nil || from != want {
				t.Fatalf("after %d: got from %d (%v), want %d", after, from, err, want)
			}
			watches[after] = changes
		}
		fourth := put(t, c, prefix+"/events/j/e4", `{"id":"e4","job":"j"}`)
		for after, changes := range watches {
			want := []int64{fourth}
			if after == third-1 {
				want = []int64{third, fourth}
			}
			for _, rev := range want {
				if got, ok := <-changes; !ok || len(got) != 1 || got[0].Rev != rev {
					t.Errorf("after %d: got %+v, open %v, want what was written at %d", after, got, ok, rev)
				}
			}
		}
		cancel()
		for _, changes := range watches {
			for range changes {
			}
		}
	})
}

// TestWatchOfASuspectMember checks that a watch which makes progress stays open, and that one without progress is
// replaced within seconds.
func TestWatchOfASuspectMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		own, c := srv.Client(), srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
		defer s.Close()
		m := NewMirror(s)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = m.Follow(ctx) })
		defer wg.Wait()
		defer cancel()
		_, changes, err := s.Watch(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		catchUp(t, s, m)
		synctest.Wait() // the watch of the mirror is open

		s.Suspect()
		time.Sleep(2 * suspectFor)
		if n := s.Counts().Relists; n != 0 {
			t.Errorf("a doubted watch that gets on was replaced %d times", n)
		}

		time.Sleep(probeEvery / 2)
		srv.StallWatches(own)
		put(t, c, prefix+"/events/j/e1", `{"id":"e1","job":"j"}`)
		rev := srv.Rev()
		s.Suspect()
		began := time.Now()
		if got, ok := <-changes; ok {
			t.Errorf("got %+v of a watch that is held up", got)
		}
		if err := m.WaitFor(ctx, rev); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > suspectSilence+4*suspectEvery {
			t.Errorf("doubted watches were replaced after %v", d)
		}
	})
}

func TestSilentWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mem.New(mem.Config{})
		defer srv.Close()
		own, c := srv.Client(), srv.Client()
		s := New(Config{Prefix: prefix, Process: "p"}, own, nullLog)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, changes, err := s.Watch(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // an idle watch stays open
		put(t, c, prefix+"/events/j/e1", `{"id":"e1","job":"j"}`)
		if got, ok := <-changes; !ok || job.ValueOf[job.Event](got[0]) == nil {
			t.Fatalf("got %+v, open %t", got, ok)
		}
		srv.StallWatches(own)
		put(t, c, prefix+"/events/j/e2", `{"id":"e2","job":"j"}`)
		began := time.Now()
		if got, ok := <-changes; ok {
			t.Fatalf("got %+v of a watch that is held up", got)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("it took %v to notice", d)
		}
	})
}
