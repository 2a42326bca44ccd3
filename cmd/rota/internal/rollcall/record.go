package rollcall

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
	"github.com/rota-scheduler/rota/store"
)

// Recording holds what Record needs.
type Recording struct {
	Store  *store.Store
	Mirror *store.Mirror
	Log    *Log
	Calls  *Calls
	Name   string    // of this replica
	Since  time.Time // when this replica won the term
	Led    time.Time // when it last saw a leader before; zero: never
	Now    func() time.Time
}

// Record keeps the events of the cluster up to date until ctx, the context of the term, ends: at once, and after each round of the
// calls. It writes an event only if it differs from the stored one.
func Record(ctx context.Context, r Recording, term election.Term, log hclog.Logger) {
	for ctx.Err() == nil {
		if r.Log.Read() {
			r.record(ctx, term, log)
		}
		select {
		case <-ctx.Done():
		case <-r.Calls.Ended():
		}
	}
}

func (r *Recording) record(ctx context.Context, term election.Term, log hclog.Logger) {
	reports := map[string]timeline.Report{}
	for _, p := range r.Mirror.Replicas() {
		reports[p.Name] = timeline.Report{Started: p.Started, Outages: p.Outages}
	}
	own := reports[r.Name]
	own.Outages = r.Calls.Outages()
	reports[r.Name] = own
	of := timeline.Term{Node: r.Name, Rev: term.Rev, Since: r.Since, Led: r.Led}
	for _, e := range timeline.Ledger(of, r.Log.Events(), reports, r.Calls.Answering(), r.Now().Round(0).UTC()) {
		if err := r.write(ctx, term, e); err != nil && ctx.Err() == nil && !errors.Is(err, job.ErrConflict) {
			log.Debug("event of the cluster was not recorded", "event", e.ID, "err", err)
			return
		}
	}
}

// write writes one event with the context of the term, and takes it over into the log, so that the next round does not write it
// again.
func (r *Recording) write(ctx context.Context, term election.Term, e job.Event) error {
	written, err := r.Store.RecordCluster(ctx, term, e)
	if err == nil {
		r.Log.add(&written)
	}
	return err
}
