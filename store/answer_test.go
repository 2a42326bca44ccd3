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
			h.call() // nothing is under way yet
			began := time.Now()
			if hurried {
				time.AfterFunc(50*time.Millisecond, h.call)
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
