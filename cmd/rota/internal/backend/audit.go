package backend

import (
	"context"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// auditClock bounds how long an audit record waits for the comparison of the clocks.
const auditClock = time.Second

// audited returns a context whose changes leave an audit record. If no clock is trusted, the record has the time of this process's
// clock: the operation itself decides whether it needs a trusted time.
func (b *Backend) audited(ctx context.Context, by job.Author, verb string) context.Context {
	return store.WithAudit(ctx, job.Audit{At: b.auditTime(ctx), Verb: verb, Author: by})
}

func (b *Backend) auditTime(ctx context.Context) time.Time {
	if !b.cfg.WorkerOnly {
		waiting, cancel := context.WithTimeout(ctx, auditClock)
		defer cancel()
		if at, err := b.now(waiting); err == nil {
			return at
		}
	}
	return b.cfg.Now().UTC()
}

// Audits returns audit records from the store.
func (b *Backend) Audits(ctx context.Context, before string, limit int) ([]job.Audit, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	return stored(b.store.Audits(ctx, before, limit))
}
