package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAHurriedWriteIsSentAgainAtOnce(t *testing.T) {
	for _, hurried := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var h hurry
			h.bell.ring() // nothing is under way yet
			began := time.Now()
			if hurried {
				time.AfterFunc(50*time.Millisecond, h.bell.ring)
			}
			sent, open := 0, 0
			err := untilDefinite(t.Context(), false, &h, func(ctx context.Context) error {
				if sent++; sent == 1 {
					<-ctx.Done() // dropped
					return ctx.Err()
				}
				return nil
			}, func() { open++ })
			want := shortTry
			if hurried {
				want = 50*time.Millisecond + minPause
			}
			if took := time.Since(began); err != nil || sent != 2 || open != 1 || took != want {
				t.Errorf("hurried %v: got %v after %v, sent %d times, of which %d are open; want an answer after %v, sent twice", hurried, err, took, sent, open, want)
			}
		})
	}
}

// A write whose answer takes longer than the first tries are given must not be sent for ever, and the next ones must not have to
// be sent twice.
func TestSlowAnswersAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hurry
		const takes = 2 * shortTry
		write := func() (sent int) {
			err := untilDefinite(t.Context(), false, &h, func(ctx context.Context) error {
				sent++
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(takes):
					return nil
				}
			}, func() {})
			if err != nil {
				t.Errorf("got %v", err)
			}
			return sent
		}
		if sent := write(); sent != 3 {
			t.Errorf("the first write was sent %d times, want 3", sent)
		}
		for range 100 {
			if sent := write(); sent != 1 {
				t.Fatalf("a later write was sent %d times, want once: it is known how long an answer takes", sent)
			}
		}
		for range 1000 {
			h.answered(time.Millisecond)
		}
		if limit := h.firstTry(); limit != shortTry {
			t.Errorf("once answers are fast again, the first try may take %v, want %v", limit, shortTry)
		}
	})
}
