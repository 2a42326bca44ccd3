package backend

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/poll"
)

// fakeSource is a store with one change in each revision. Its watches are as slow as those of etcd.
type fakeSource struct {
	mu      sync.Mutex
	rev     int64
	changed chan struct{}
	begun   int // watches, ever
	open    int // watches
	broken  bool
}

func newFakeSource() *fakeSource { return &fakeSource{rev: 100, changed: make(chan struct{})} }

func (f *fakeSource) change() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rev++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeSource) breakdown(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = broken
}

func (f *fakeSource) at() (rev int64, changed <-chan struct{}, broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rev, f.changed, f.broken
}

func (f *fakeSource) Revision(context.Context) (int64, error) {
	rev, _, broken := f.at()
	if broken {
		return 0, errors.New("no answer")
	}
	return rev, nil
}

func (f *fakeSource) Watch(ctx context.Context, after int64) (int64, <-chan []job.Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return 0, nil, errors.New("no answer")
	}
	f.begun, f.open = f.begun+1, f.open+1
	from := after
	if after == 0 {
		from = f.rev
	}
	out := make(chan []job.Change)
	go func() {
		defer func() {
			close(out)
			f.mu.Lock()
			f.open--
			f.mu.Unlock()
		}()
		for next := from + 1; ; {
			rev, changed, broken := f.at()
			switch {
			case ctx.Err() != nil || broken:
				return
			case next > rev:
				select {
				case <-changed:
				case <-ctx.Done():
				}
				continue
			}
			select {
			case out <- []job.Change{runOf(1, next)}:
				next++
			case <-ctx.Done():
			}
		}
	}()
	return from, out, nil
}

func (f *fakeSource) watches() (begun, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begun, f.open
}

// ended fails the test if watches or streams are left.
func ended(t *testing.T, b *Backend, f *fakeSource) {
	t.Helper()
	b.Wait()
	poll.Until(t, "all watches end", func() bool {
		_, open := f.watches()
		return open == 0
	})
	if b.hub.shared != nil {
		t.Error("the hub still has a watch")
	}
}

// TestStreamsShareAWatch opens many streams from now on. They have one watch, until the last of them ends.
func TestStreamsShareAWatch(t *testing.T) {
	b, f := New(Config{}), newFakeSource()
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		var streams sync.WaitGroup
		for range 50 {
			from, events, err := b.stream(ctx, f, 0)
			if err != nil {
				t.Fatal(err)
			}
			streams.Go(func() {
				for n := range int64(10) {
					if got := <-events; len(got) != 1 || got[0].Revision != from+n+1 {
						t.Errorf("change %d after %d: got %v", n+1, from, got)
					}
				}
			})
		}
		for range 10 {
			f.change()
		}
		streams.Wait()
		cancel()
		ended(t, b, f)
	}
	if begun, _ := f.watches(); begun != 2 {
		t.Errorf("100 streams, 50 at a time, had %d watches, want 2", begun)
	}
}

// TestStreamsMissNothing opens streams in the past and the present while the store changes, and while others come and go.
func TestStreamsMissNothing(t *testing.T) {
	b, f := New(Config{}), newFakeSource()
	stop := make(chan struct{})
	var writer, streams sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Microsecond):
				f.change()
			}
		}
	})
	for range 200 {
		after := int64(0)
		if rev, _, _ := f.at(); rand.IntN(2) == 0 {
			after = max(1, rev-rand.Int64N(50))
		}
		streams.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			from, events, err := b.stream(ctx, f, after)
			if err != nil || after > 0 && from != after {
				t.Errorf("stream after %d: from %d, %v", after, from, err)
				return
			}
			for n := range int64(100) {
				if got := <-events; len(got) != 1 || got[0].Revision != from+n+1 {
					t.Errorf("after %d: change %d is %v, want %d", after, n+1, got, from+n+1)
					return
				}
			}
		})
		for range rand.IntN(5) { // the store changes between two streams
			_, changed, _ := f.at()
			<-changed
		}
	}
	streams.Wait()
	close(stop)
	writer.Wait()
	ended(t, b, f)
}

// TestStreamsEndWithTheirWatch breaks the store. All streams end, and later ones begin again.
func TestStreamsEndWithTheirWatch(t *testing.T) {
	b, f := New(Config{}), newFakeSource()
	_, first, err := b.stream(t.Context(), f, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := b.stream(t.Context(), f, 90)
	if err != nil {
		t.Fatal(err)
	}
	f.breakdown(true)
	f.change()
	for range first {
	}
	for range second {
	}
	if _, _, err := b.stream(t.Context(), f, 0); err == nil {
		t.Error("a stream of a broken store begins")
	}
	f.breakdown(false)
	ctx, cancel := context.WithCancel(t.Context())
	_, third, err := b.stream(ctx, f, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f.change(); len(<-third) != 1 {
		t.Error("the stream after the repair has no event")
	}
	cancel()
	ended(t, b, f)
}
