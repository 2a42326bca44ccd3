package importer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

// TestTheGraceOfACronJob keeps a grace period of zero, which kills at once.
func TestTheGraceOfACronJob(t *testing.T) {
	for pod, want := range map[string]time.Duration{"": 30 * time.Second, "terminationGracePeriodSeconds: 0, ": time.Millisecond,
		"terminationGracePeriodSeconds: 5, ": 5 * time.Second} {
		var got importer.Result
		importer.CronJob("f", "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily', timeZone: UTC, jobTemplate: {spec: "+
			"{template: {spec: {"+pod+"containers: [{command: [a]}]}}}}}\n", &got)
		if spec := got.Jobs["a"]; spec.KillGrace.Std() != want {
			t.Errorf("%q: got kill_grace %s, want %s; problems %v", pod, spec.KillGrace, want, got.Problems)
		}
	}
}

// TestAUserWithAGroup reads a line of FreeBSD's system crontab.
func TestAUserWithAGroup(t *testing.T) {
	var got importer.Result
	importer.Crontab("f", "0 1 * * * www:staff /bin/a\n", importer.CrontabOptions{System: true}, &got)
	for _, spec := range got.Jobs {
		if text := strings.Join(spec.Command, " "); text != "runuser -u www -g staff -- /bin/sh -c /bin/a" {
			t.Errorf("got %s", text)
		}
	}
}
