package main

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestOfARunOnEveryWorkerTheFailedCopiesAreRepeated(t *testing.T) {
	of := job.Run{Job: "sweep", ID: "1", State: job.Failed, Copies: []string{"a", "b"}}
	failed := job.Run{Job: "sweep", ID: "1.b", Kind: job.KindCopy, On: "b", State: job.Failed}
	views := []api.RunView{api.NewRunView(of), api.NewRunView(failed)}
	if got := toRepeat(views, []job.State{job.Failed}); len(got) != 1 || got[0].name != "sweep/1.b" {
		t.Errorf("got %v, want the copy alone", got)
	}
}
