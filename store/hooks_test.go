package store

import (
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A mirror knows the jobs of each hook, and follows changes and deletions.
func TestHookJobsFollowTheirDefinitions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		with := func(names ...string) job.Spec {
			spec := job.Spec{Shell: "true", Hooks: job.Hooks{}}
			for _, name := range names {
				spec.Hooks[name] = job.Hook{Secret: "${env:A}"}
			}
			return spec
		}
		first := putJob(t, s, "a", with("x", "y"))
		m := following(t, s)
		is := func(hook string, want ...string) {
			t.Helper()
			catchUp(t, s, m)
			if got := m.HookJobs(hook); !slices.Equal(got, want) {
				t.Errorf("hook %s: got %q, want %q", hook, got, want)
			}
		}
		is("x", "a")
		putJob(t, s, "b", with("x"))
		is("x", "a", "b")
		next, _ := job.Define(&first, "a", with("y", "z"), first.Origin, epoch.Add(time.Second))
		next, err := s.PutJob(within(t), next)
		if err != nil {
			t.Fatal(err)
		}
		is("x", "b")
		is("y", "a")
		is("z", "a")
		if err := s.DeleteJob(within(t), "a", next.Rev); err != nil {
			t.Fatal(err)
		}
		put(t, c, s.keys.job("b"), `{"name": "b"}`)
		is("y")
		is("z")
		is("x")
	})
}
