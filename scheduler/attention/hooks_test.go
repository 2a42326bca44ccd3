package attention_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAHookOfTwoJobs(t *testing.T) {
	withHook := func(name, hook string) *job.Job {
		return &job.Job{Name: name, Spec: &job.Spec{Shell: "true", Hooks: job.Hooks{hook: {}}}}
	}
	items := ofJobs(t, attention.Facts{Jobs: []*job.Job{withHook("b", "deployed"), withHook("a", "deployed"), withHook("c", "other")}, Now: now})
	if len(items) != 2 {
		t.Fatalf("got %+v, want an item for each of the two jobs", items)
	}
	for i, owner := range []string{"a", "b"} {
		want := "Hook deployed of job " + owner + " belongs to another job too, so it refuses every delivery: remove it from all but one."
		if items[i].Kind != attention.Hook || items[i].Job != owner || items[i].Text != want {
			t.Errorf("got %+v", items[i])
		}
	}
}
