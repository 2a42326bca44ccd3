package sim

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestOverlapsAreJudged has two overlapping attempts of one run, with every possible excuse.
func TestOverlapsAreJudged(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	fault := func(kind history.FaultKind, from, to float64) history.Fault {
		return history.Fault{Kind: kind, Node: "q1", At: at(from), Until: at(to)}
	}
	for _, c := range []struct {
		name  string
		told  float64 // when the context of the first ended, in seconds; 0: it did not end
		over  float64 // end of the first; the second starts at 10 s, and the kill grace is 2 s
		fault history.Fault
		want  bool // whether the overlap is excused
	}{
		{"its context did not end", 0, 20, history.Fault{}, false},
		{"it takes its kill grace", 9, 10.9, history.Fault{}, true},
		{"it takes more", 9, 11.1, history.Fault{}, false},
		{"it does not end", 9, 0, history.Fault{}, false},
		{"its context ended too late", 10.1, 10.9, history.Fault{}, false},
		{"it was cut off", 0, 20, fault(history.Outage, 3, 30), false},
		{"it was paused", 0, 20, fault(history.Pause, 3, 20), true},
		{"it was paused just before", 0, 12, fault(history.Pause, 3, 9), true},
		{"it was paused long before", 0, 20, fault(history.Pause, 1, 2), false},
		{"it was paused later", 0, 20, fault(history.Pause, 10.1, 20), false},
		{"it was paused after its context ended", 9, 20, fault(history.Pause, 10.5, 20), true},
		{"its presence had just been taken from it", 0, 11, fault(history.Evict, 9, 9), true},
		{"its presence had been taken from it long before", 0, 20, fault(history.Evict, 3, 3), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{plan: plan{jobs: []history.Job{{Name: "a", Spec: job.Spec{KillGrace: job.Duration(2 * time.Second)}}}}}
			w.caller = &caller{world: w}
			if c.fault.Kind != "" {
				w.faults = []history.Fault{c.fault}
			}
			made := func(node string, token int64, arrived, told, over float64) *execution {
				e := &execution{process: &process{machine: &machine{name: node}}}
				e.Effect = history.Effect{Job: "a", Run: "a/1", Token: token, Attempt: int(token), Arrived: at(arrived)}
				if told > 0 {
					e.told = at(told)
				}
				if over > 0 {
					e.over = at(over)
				}
				return e
			}
			if got := w.mayOverlap(made("q2", 2, 10, 0, 11), made("q1", 1, 0, c.told, c.over)); got != c.want {
				t.Errorf("excused: %t, want %t", got, c.want)
			}
		})
	}
}
