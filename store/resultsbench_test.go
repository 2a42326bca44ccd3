package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// BenchmarkResults reads what a scrape of metrics.jobs reads: the results of 1,000 jobs with 1,100 runs each.
func BenchmarkResults(b *testing.B) {
	m := NewMirror(nil)
	key := func(kind Kind, name string, value any) {
		m.setLocked(nil, &keyState{kind: kind, name: name, mirrored: true, record: record{rev: 1, value: value}})
	}
	for i := range 1000 {
		name := fmt.Sprintf("j%d", i)
		key(KindJobs, name, &job.Job{Name: name, Spec: &job.Spec{}})
		for n := range 1100 {
			at := time.Unix(int64(n), 0)
			r := &job.Run{Job: name, ID: at.UTC().Format(time.RFC3339), State: job.Succeeded, Finished: at}
			key(KindRuns, r.Name(), r)
		}
	}
	for _, changed := range []string{"all", "none"} {
		b.Run(changed+" changed", func(b *testing.B) {
			for b.Loop() {
				if changed == "all" {
					clear(m.ended)
				}
				if list, _ := m.Results(1000); len(list) != 1000 {
					b.Fatalf("got %d results", len(list))
				}
			}
		})
	}
}
