package node

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTheLagIsTheLeaders starts an attempt late, because its worker had no free capacity. This must not count as late
// dispatching.
func TestTheLagIsTheLeaders(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	node := func(name string) *running {
		set := outside(t, name, endpoint)
		set.Worker.Capacity, set.Worker.Enabled = 1, name == "q1"
		return start(t, Config{Settings: set, Version: version})
	}
	q1 := node("q1")
	q1.lead(t)
	q2 := node("q2")
	q1.put(t, "slow", job.Spec{Shell: "sleep 1.5", Overlap: job.OverlapAllow})
	q1.submit(t, "slow", api.RunRequest{})
	v := q1.ends(t, q1.submit(t, "slow", api.RunRequest{}).Ref, job.Succeeded)
	if late := v.Attempts[0].Started.Sub(v.Due); late < time.Second {
		t.Fatalf("the second began %v after it was due: it had room", late)
	}
	for _, r := range []*running{q1, q2} {
		v, err := r.Cluster(t.Context())
		switch {
		case err != nil, v.LagSeconds == nil:
			t.Errorf("got %v, %v, want the leader's lag", v.LagSeconds, err)
		case *v.LagSeconds > 0.5:
			t.Errorf("%s says that dispatching is %v s behind", v.Node, *v.LagSeconds)
		}
	}
}
