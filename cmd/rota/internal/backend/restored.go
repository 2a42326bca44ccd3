package backend

import (
	"context"
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/store"
)

// AcceptRestored accepts the restored store in its present state, for this process and for all others that wait.
func (b *Backend) AcceptRestored(ctx context.Context, by string) (api.RestoredView, error) {
	restored := b.cfg.Admission.Restored()
	if restored == nil {
		if err := b.started(); err != nil { // the process has not compared the store yet: the client tries again
			return api.RestoredView{}, err
		}
		return api.RestoredView{}, refusal("there is nothing to accept: this process has not seen a store that is ahead of the present " +
			"one; if another process waits, its log says so: accept the store there, by --server with its address")
	}
	seen, err := b.cfg.Admission.Accept(ctx, b.cfg.Now(), by)
	if err != nil {
		return api.RestoredView{}, storeError(err)
	}
	return api.RestoredView{
		Cluster: seen.Cluster, Revision: seen.Revision, Era: seen.Era,
		Lost: max(0, restored.Before.Revision-restored.Now.Revision),
	}, nil
}

// errRestored is the answer while a restored store waits to be accepted.
func errRestored(r *store.RestoredError) error {
	return fmt.Errorf("%w; look at what is there, and then accept it with `rota accept-restored-store`", r)
}
