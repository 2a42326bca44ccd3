package backend

import (
	"context"
	"time"
)

// now returns the time to record for a change that is made now.
func (b *Backend) now(ctx context.Context) (time.Time, error) {
	if err := b.up(); err != nil {
		return time.Time{}, err
	}
	return b.clocks.Now(ctx)
}

// present returns the leader's time, by which the records are read. A wrong clock of this process must not make slots due.
func (b *Backend) present() time.Time {
	if !b.ready.Load() {
		return b.cfg.Now()
	}
	return b.clocks.Corrected(b.cfg.Now())
}
