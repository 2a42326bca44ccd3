package planner_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestEqualWorkersShareTheLoad counts the runs of three equal workers, under one leader after the other. Jobs have different
// schedules, and one runs at the same second as the others.
func TestEqualWorkersShareTheLoad(t *testing.T) {
	for name, setup := range map[string][]string{
		"a job per second":           {"job tick every=1s"},
		"a job per second, ahead":    {"arm-ahead 2s", "job tick every=1s"},
		"many jobs":                  {"job a every=1s", "job b every=2s", "job c every=3s", "job d every=1s overlap=allow", "job e every=7s"},
		"many jobs, ahead":           {"arm-ahead 2s", "job a every=1s", "job b every=2s", "job c every=3s", "job d every=1s", "job e every=7s"},
		"a job that is seldom alone": {"job a every=2s overlap=allow", "job b every=4s"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			for _, line := range append([]string{"worker q1 takes=700ms", "worker q2 takes=700ms", "worker q3 takes=700ms"}, setup...) {
				st.do(line)
			}
			for range 5 {
				st.do("lead")
				st.do("advance 30s")
				st.do("crash")
			}
			shares, all := map[string]int{}, 0
			for _, c := range st.store.log {
				if r := job.ValueOf[job.Run](c); r != nil && r.State == job.Running {
					shares[r.Worker]++
					all++
				}
			}
			if all < 70 {
				t.Fatalf("got %d runs, want at least 70", all)
			}
			for _, worker := range []string{"q1", "q2", "q3"} {
				if n := shares[worker]; n*5 > all*2 || n*4 < all {
					t.Errorf("worker %s got %d of %d runs, want about a third: %v", worker, n, all, shares)
				}
			}
			t.Log(shares)
		})
	}
}
