package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

func (f *fakeCluster) Workflow(ctx context.Context, name, id string) (api.WorkflowView, error) {
	v := api.WorkflowView{Job: name, ID: id, Steps: []api.StepView{}}
	jobs, err := f.Jobs(ctx)
	specs := make(map[string]*job.Spec)
	for i := range jobs {
		specs[jobs[i].Job.Name] = jobs[i].Spec
	}
	if specs[name] == nil {
		return v, job.ErrNotFound
	}
	graph := workflow.Of(specs)
	behind := graph.Behind(name)
	for _, member := range graph.Workflow(name) {
		step := api.StepView{Job: member, After: graph.Parents(member), Behind: slices.Contains(behind, member)}
		if r, err := f.Run(ctx, member, id); err == nil {
			step.Ref, step.State, step.Reason = r.Ref, r.State, r.Reason
		}
		v.Steps = append(v.Steps, step)
	}
	return v, err
}

// TestGraphFormats shows one workflow in every format for people.
func TestGraphFormats(t *testing.T) {
	views := []api.WorkflowView{{Job: "report", ID: "m1", Steps: []api.StepView{
		{Job: "backup", Ref: "backup/m1", State: job.Failed, Reason: "exit code 1"},
		{Job: "report", After: []job.After{{Job: "backup", When: job.WhenSuccess}}, Ref: "report/m1", State: job.Skipped, Reason: "parent backup failed"},
		{Job: "end", After: []job.After{{Job: "backup", When: job.WhenDone}}, Ref: "end/m1", State: job.Running},
	}}}
	for name, c := range map[string]struct {
		write func(*page, []api.WorkflowView)
		want  string
	}{
		"text": {writeWorkflows, `JOB        AFTER           STATE     RUN         REASON
backup     -               failed    backup/m1   exit code 1
  report   backup          skipped   report/m1   parent backup failed
  end      backup (done)   running   end/m1      -
`},
		"dot": {writeDot, `digraph rota {
  rankdir=LR;
  "backup" [label="backup\nfailed"];
  "report" [label="report\nskipped"];
  "backup" -> "report";
  "end" [label="end\nrunning"];
  "backup" -> "end" [label="done"];
}
`},
		"mermaid": {writeMermaid, `flowchart LR
  j-backup["backup<br/>failed"]
  j-report["report<br/>skipped"]
  j-backup --> j-report
  j-end["end<br/>running"]
  j-backup -- done --> j-end
`},
	} {
		var out bytes.Buffer
		if c.write(&page{out: &out}, views); out.String() != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, out.String(), c.want)
		}
	}
	var out bytes.Buffer
	views[0].ID, views[0].Steps = "m2", []api.StepView{{Job: "backup"}}
	if writeWorkflows(&page{out: &out}, views); !strings.Contains(out.String(), "has a run m2") {
		t.Errorf("no line says that there is no run: %s", out.String())
	}
}
