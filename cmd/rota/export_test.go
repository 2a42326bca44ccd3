package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAMaskedPingIsNotExported(t *testing.T) {
	if !hasMask(&job.Spec{Ping: &job.Ping{URL: api.Mask}}) {
		t.Error("the mask of a ping is exported as its URL")
	}
	if hasMask(&job.Spec{Ping: &job.Ping{URL: "https://hc-ping.com/1"}}) {
		t.Error("a ping without a mask is not exported")
	}
	if hasMask(&job.Spec{Env: map[string]string{"A": api.Mask, "B": "b"}}) || hasMask(&job.Spec{}) {
		t.Error("a definition with all its values is not exported")
	}
}

// A viewer sees masks instead of values. A comparison with them would call every such job changed.
func TestADiffComparesWhatTheRoleSees(t *testing.T) {
	const file = "version: 1\njobs:\n  a: {command: [date], env: {PASSWORD: secret}}\n  b: {command: [true], env: {PASSWORD: secret}}\n"
	var present []api.JobView
	for name, command := range map[string]string{"a": "date", "b": "false"} {
		spec := job.Spec{Command: []string{command}, Env: map[string]string{"PASSWORD": "secret"}}.WithDefaults()
		j := job.Job{Name: name, Spec: api.MaskSpec(&spec), Origin: job.Origin{Kind: job.OriginAPI}}
		present = append(present, api.JobView{Job: j})
	}
	set, err := config.ParseJobs("stdin", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c := &cli{err: &errs}
	c.hideUnseen(set, present)
	changes, err := compareJobs(set, present, pruning{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if summary(changes) != "1 changed, 1 unchanged" || strings.Contains(changes[1].Diff, "PASSWORD: secret") {
		t.Errorf("got %s: %+v", summary(changes), changes)
	}
	if !strings.HasPrefix(errs.String(), "note: 2 jobs: your role sees no values") {
		t.Errorf("got %q", errs.String())
	}
}
