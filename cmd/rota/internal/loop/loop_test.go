package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryCallsAtOnceAndUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		began, calls := time.Now(), 0
		Every(ctx, time.Second, func(context.Context) { calls++ })
		if took := time.Since(began); calls != 3 || took != 2500*time.Millisecond {
			t.Errorf("got %d calls in %v, want 3 in 2.5s", calls, took)
		}
	})
}
