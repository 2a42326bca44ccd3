package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
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

// addClocks adds the replicas with a wrong clock. A replica whose own clock is wrong reports only itself, as not ready. With two
// clocks, a difference does not show which one is wrong.
func (b *Backend) addClocks(v *api.ClusterView, add func(kind, node, text, next string, since time.Time)) {
	if len(v.Clocks) < 2 || b.clocks.Trusted() != nil {
		return
	}
	for _, c := range v.Clocks {
		o := election.Offset{Ahead: seconds(c.OffsetSeconds), Uncertainty: seconds(c.UncertaintySeconds)}
		if !o.Beyond(b.clocks.Tolerance()) {
			continue
		}
		way := "ahead of"
		if o.Ahead < 0 {
			way = "behind"
		}
		text := fmt.Sprintf("Replica %s cannot lead: its clock is %v %s that of %s.",
			c.Node, o.Ahead.Abs().Round(time.Millisecond), way, b.cfg.Node)
		add(attention.NotReady, c.Node, text, "rota doctor", time.Time{})
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
