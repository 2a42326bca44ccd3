package store

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
)

// BenchmarkCommit commits decisions, each of a run, a cursor and an order, to an etcd that syncs its disk.
func BenchmarkCommit(b *testing.B) {
	for _, ready := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(ready, " ready"), func(b *testing.B) {
			c := etcd(b, embedded.Config{}).Client()
			s, term := open(b, c), reign(b, c, "a")
			revs := make([]int64, ready)
			ds := make([]job.Decision, ready)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				for i := range ds {
					ds[i] = fire(given(slot(fmt.Sprint("j", i), n), fmt.Sprint("w", i%10)), revs[i])
				}
				var wg sync.WaitGroup
				wg.Add(ready)
				s.Commit(b.Context(), term, ds, func(i int, a job.Applied) {
					if a.Err != nil {
						b.Error(a.Err)
					}
					revs[i] = a.Rev
					wg.Done()
				})
				wg.Wait()
			}
			decisions := float64(n * ready)
			b.ReportMetric(decisions/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(2*decisions/b.Elapsed().Seconds(), "puts/s")
			b.ReportMetric(float64(s.Counts().Transactions)/float64(n), "transactions/op")
		})
	}
}

// TestAllocationsOfAWrite bounds the allocations that it takes to build the writes of a run. Each costs processor time twice: once
// to make it, and once to collect it.
func TestAllocationsOfAWrite(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	armed := fire(given(slot("j", 1), "w"), 7)
	running := *armed.Run
	running.State = job.Running
	for _, tt := range []struct {
		name  string
		most  float64
		write func() (*write, error)
	}{
		{"a decision with a run, a cursor and an order", 14, func() (*write, error) { return s.decision(&armed, election.Term{Rev: 1}) }},
		{"a claim", 6, func() (*write, error) { return s.runWrite(&running) }},
	} {
		got := testing.AllocsPerRun(100, func() {
			w, err := tt.write()
			if err != nil {
				t.Fatal(err)
			}
			w.nested(true)
		})
		if got > tt.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", tt.name, got, tt.most)
		} else {
			t.Logf("%s: %.0f allocations", tt.name, got)
		}
	}
}
