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
	items := attention.OfJobs(attention.Facts{Jobs: []*job.Job{withHook("b", "deployed"), withHook("a", "deployed"), withHook("c", "other")}, Now: now})
	const want = "Hook deployed belongs to the jobs a, b, so it refuses every delivery: remove it from all but one."
	if len(items) != 1 || items[0].Kind != attention.Hook || items[0].Job != "a" || items[0].Text != want {
		t.Errorf("got %+v", items)
	}
}
