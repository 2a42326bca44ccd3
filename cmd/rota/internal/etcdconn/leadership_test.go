package etcdconn

import (
	"testing"

	"github.com/rota-scheduler/rota/election"
)

func TestEtcdLeadershipAvoidsTheNextLeader(t *testing.T) {
	standing := []election.Candidate{{Node: "q1"}, {Node: "q2"}, {Node: "q3"}} // q1 leads rota
	for name, test := range map[string]struct {
		may  map[string]uint64
		want uint64
	}{
		"both others may":  {map[string]uint64{"q2": 2, "q3": 3}, 3},
		"the last may not": {map[string]uint64{"q2": 2}, 2},
		"none of them may": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := successor(standing, func(c election.Candidate) (uint64, bool) { id, ok := test.may[c.Node]; return id, ok })
			if got != test.want || ok != (test.want != 0) {
				t.Errorf("got %d, %v, want %d", got, ok, test.want)
			}
		})
	}
}
