package soak

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// held checks that runs never held the limit more often than it allows. It also checks that no transaction gave the limit to
// two runs. So tokens rise from each holder to the next.
func held(t *testing.T, versions []history.Version) (said string) {
	t.Helper()
	holds := make(map[string]bool)
	most, times, waited := 0, 0, false
	for i := 0; i < len(versions); {
		rev, given := versions[i].Rev, 0
		for ; i < len(versions) && versions[i].Rev == rev; i++ {
			v := versions[i]
			if !strings.HasPrefix(v.Key, cluster.Prefix+"/runs/limit-") {
				continue
			}
			var r job.Run
			if !v.Deleted && json.Unmarshal(v.Value, &r) != nil {
				continue // written by hand
			}
			waited = waited || r.State == job.Pending && strings.Contains(r.Reason, "limit "+scarce)
			has := !v.Deleted && (r.State == job.Armed || r.State == job.Running) && slices.Contains(r.Limits, scarce)
			if has && !holds[v.Key] {
				given++
			}
			if has {
				holds[v.Key] = true
			} else {
				delete(holds, v.Key)
			}
		}
		if given > 1 {
			t.Errorf("revision %d gave the limit to %d runs", rev, given)
		}
		if n := limits[scarce].Concurrent; len(holds) > n {
			t.Errorf("after revision %d, %d runs hold a limit of %d: %v", rev, len(holds), n, holds)
		}
		most, times = max(most, len(holds)), times+given
	}
	if most < limits[scarce].Concurrent || !waited {
		t.Errorf("the limit had %d holders at a time, and a run waited for it: %t; want it to be scarce", most, waited)
	}
	return fmt.Sprintf("the limit had %d holders, at most %d at a time", times, most)
}
