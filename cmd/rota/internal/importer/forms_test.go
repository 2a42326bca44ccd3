package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestFormsOfOtherTools translates forms that these tools accept beside the usual ones.
func TestFormsOfOtherTools(t *testing.T) {
	const pod = "jobTemplate: {spec: {template: {spec: {containers: [{command: [a]}]}}}}"
	dkron := func(codes string) string {
		return `{"name": "b", "schedule": "@daily", "executor": "shell", "tags": {"r": "a:1"},` +
			`"executor_config": {"command": "true", "allowed_exitcodes": "` + codes + `"}}`
	}
	for name, c := range map[string]struct {
		kind, text, job, problem string
		complete                 bool
	}{
		"a CronJobList": {
			importer.KindCronJob, "kind: CronJobList\nitems:\n- metadata: {name: b}\n  spec: {schedule: '@daily', " + pod + "}\n",
			"command: [a]", "no timeZone", true,
		},
		"a List of other kinds": {importer.KindCronJob, "kind: List\nitems: [{kind: Job}, {}]\n", "", `kind "" is not CronJob`, false},
		"@every of a CronJob": {
			importer.KindCronJob, "kind: CronJob\nmetadata: {name: b}\nspec: {schedule: '@every 90s', " + pod + "}\n",
			"@every 90s", "@every: Kubernetes counts from the last run", true,
		},
		"exit codes of dkron":       {importer.KindDkron, dkron("0, 199,255"), "success_codes: [0, 199, 255]", "", true},
		"exit codes without 0":      {importer.KindDkron, dkron("3"), "success_codes: [0, 3]", "", true},
		"exit codes that are words": {importer.KindDkron, dkron("3, any"), "", "is no list of numbers", false},
		"exit codes out of range":   {importer.KindDkron, dkron("3000"), "", "success_codes", false},
	} {
		var res importer.Result
		if err := importer.Translate(importer.Options{Kind: c.kind}, []string{"f"}, map[string]string{"f": c.text}, &res); err != nil {
			t.Fatal(err)
		}
		text, err := res.JobFile()
		if err != nil {
			t.Fatal(err)
		}
		problems := fmt.Sprint(res.Problems)
		if !strings.Contains(string(text), c.job) || !strings.Contains(problems, c.problem) || res.Complete() != c.complete {
			t.Errorf("%s: got %s\nand %s", name, text, problems)
		}
	}
}

// TestRetriesOfACronJob translates limits of Kubernetes that decide whether a program may be executed a second time.
func TestRetriesOfACronJob(t *testing.T) {
	for limits, c := range map[string]struct {
		max      int
		delivery job.Delivery
		complete bool
	}{
		"{parallelism: 1}":                            {6, "", true},
		"{backoffLimit: 0}":                           {0, job.AtMostOnce, true},
		"{backoffLimit: 0, activeDeadlineSeconds: 9}": {0, job.AtMostOnce, true},
		"{backoffLimit: 2, activeDeadlineSeconds: 9}": {2, "", false},
	} {
		var got importer.Result
		importer.CronJob("f", "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily', timeZone: UTC, jobTemplate: {spec: "+
			strings.Replace(limits, "}", ", template: {spec: {containers: [{command: [a]}]}}}", 1)+"}}\n", &got)
		spec := got.Jobs["a"]
		if spec.Retry == nil || spec.Retry.Max != c.max || spec.Delivery != c.delivery || got.Complete() != c.complete {
			t.Errorf("%s: got %+v with the problems %v", limits, spec, got.Problems)
		}
	}
}
