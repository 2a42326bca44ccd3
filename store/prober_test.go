package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowReader counts reads of the revision. A read takes a millisecond.
type slowReader struct {
	mu    sync.Mutex
	reads int
	err   error
}

func (r *slowReader) read(ctx context.Context) (int64, error) {
	r.mu.Lock()
	r.reads++
	n, err := r.reads, r.err
	r.mu.Unlock()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Millisecond):
		return int64(n), err
	}
}

// TestWatchesShareAProbe checks that watches of one store send one request for the revision at a time.
func TestWatchesShareAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{}
		p := &prober{read: r.read, began: time.Now()}
		for round := int64(1); round <= 3; round++ {
			time.Sleep(p.untilNext(time.Now()))
			began := time.Now()
			var wg sync.WaitGroup
			for i := range 5 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond) // the last ones come after the answer
					if at, rev, err := p.ask(t.Context()); rev != round || err != nil || !at.Equal(began) {
						t.Errorf("round %d: got revision %d at %v, error %v; want the revision of %v", round, rev, at, err, began)
					}
				})
			}
			wg.Wait()
		}
		if r.reads != 3 {
			t.Errorf("got %d reads, want 3", r.reads)
		}
	})
}

// TestAProbeOfAnEndedWatchIsRepeated checks that a watch does not go without an answer because another one has ended.
func TestAProbeOfAnEndedWatchIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{}
		p := &prober{read: r.read, began: time.Now()}
		ctx, end := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { _, _, err := p.ask(ctx); first <- err }()
		synctest.Wait()
		second := make(chan error, 1)
		go func() { _, _, err := p.ask(t.Context()); second <- err }()
		synctest.Wait()
		end()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the ended watch got %v", err)
		}
		if err := <-second; err != nil || r.reads != 2 {
			t.Errorf("the other watch got %v after %d reads", err, r.reads)
		}
	})
}

// TestAFailureOfAProbeIsNotKept checks that a watch does not get the error of an earlier request.
func TestAFailureOfAProbeIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{err: context.DeadlineExceeded}
		p := &prober{read: r.read, began: time.Now()}
		if _, _, err := p.ask(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the error of the store", err)
		}
		r.err = nil
		if _, rev, err := p.ask(t.Context()); rev != 2 || err != nil {
			t.Errorf("got revision %d, error %v", rev, err)
		}
	})
}
