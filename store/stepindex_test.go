package store

import (
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A mirror knows the jobs that have parents, and follows changes and deletions.
func TestStepsFollowTheirDefinitions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		after := func(parent string) job.Spec {
			return job.Spec{Shell: "true", After: []job.After{{Job: parent}}}
		}
		putJob(t, s, "a", job.Spec{Shell: "true"})
		first := putJob(t, s, "b", after("a"))
		m := following(t, s)
		are := func(want ...string) {
			t.Helper()
			catchUp(t, s, m)
			var got []string
			for _, j := range m.Steps() {
				got = append(got, j.Name)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		are("b")
		c3 := putJob(t, s, "c", after("b"))
		putJob(t, s, "d", after("c"))
		are("b", "c", "d")
		next, _ := job.Define(&first, "b", job.Spec{Shell: "true"}, first.Origin, epoch.Add(time.Second))
		if _, err := s.PutJob(within(t), next); err != nil {
			t.Fatal(err)
		}
		are("c", "d")
		if err := s.DeleteJob(within(t), "c", c3.Rev); err != nil {
			t.Fatal(err)
		}
		are("d")
		put(t, c, s.keys.job("d"), `{"name": "d"}`) // it is unreadable
		are()
	})
}
