// Package loop repeats work until its context ends.
package loop

import (
	"context"
	"time"
)

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Every calls do at once and then after each pause, until ctx ends.
func Every(ctx context.Context, pause time.Duration, do func(context.Context)) {
	for ctx.Err() == nil {
		do(ctx)
		Pause(ctx, pause)
	}
}
