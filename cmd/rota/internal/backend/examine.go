package backend

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/verify"
	"github.com/rota-scheduler/rota/store"
)

// maxVerified is the size of the largest store that a replica verifies, in bytes of records. It holds all of them in memory, in a
// form that needs several times their size. A replica that has no memory left would end a term.
const maxVerified = 128 << 20

// Verify checks the invariants on the records of the store, as `rota verify` does.
func (b *Backend) Verify(ctx context.Context) (api.VerifyView, error) {
	if err := b.started(); err != nil {
		return api.VerifyView{}, err
	}
	if used, _ := b.cfg.Space.Used(); used > maxVerified {
		return api.VerifyView{}, refusal("the store has %d MiB of records, and a replica checks at most %d MiB in its memory: "+
			"use `rota verify`, a process of its own", used>>20, maxVerified>>20)
	}
	records, rev, err := b.store.Snapshot(ctx)
	if err != nil {
		return api.VerifyView{}, storeError(err)
	}
	from, log, err := b.store.Log(ctx, rev, store.BriefLog)
	if err != nil {
		return api.VerifyView{}, storeError(err)
	}
	report := verify.Check(verify.Input{Records: records, Log: log, Now: b.present()})
	return api.VerifyView{Report: report, From: from, Revision: rev}, ctx.Err()
}

// Doctor examines the cluster from this process, as `rota doctor` does.
func (b *Backend) Doctor(ctx context.Context) (api.DoctorView, error) {
	if err := b.started(); err != nil {
		return api.DoctorView{}, err
	}
	report, err := b.cfg.Examine(ctx)
	return api.DoctorView{Report: report, Node: b.cfg.Node}, err
}
