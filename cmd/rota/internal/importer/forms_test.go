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
		text := jobFile(t, &res)
		problems := fmt.Sprint(res.Problems)
		if !strings.Contains(text, c.job) || !strings.Contains(problems, c.problem) || res.Complete() != c.complete {
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

// TestADeadlineOfZero reports that Kubernetes never starts such a job. A window of zero has no end in rota.
func TestADeadlineOfZero(t *testing.T) {
	for spec, want := range map[string]job.Missed{"suspend: false": job.MissedLatest, "startingDeadlineSeconds: 0": job.MissedNone} {
		var got importer.Result
		importer.CronJob("f", "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily', "+spec+", timeZone: UTC, "+
			"jobTemplate: {spec: {template: {spec: {containers: [{command: [a]}]}}}}}\n", &got)
		reported := strings.Contains(fmt.Sprint(got.Problems), "startingDeadlineSeconds: 0")
		if missed := got.Jobs["a"].Missed; missed != want || reported != (want == job.MissedNone) {
			t.Errorf("%q: got missed %s, want %s; problems %v", spec, missed, want, got.Problems)
		}
	}
}

// TestTextsThatLookLikeReferences keeps expansions of a shell that rota would read as references.
func TestTextsThatLookLikeReferences(t *testing.T) {
	const command, quoted = `deploy ${env:-prod} "${file:0:3}" 'it'`, ` -c 'deploy ${env:-prod} "${file:0:3}" '\''it'\'''`
	for crontab, system := range map[string]bool{
		"SHELL=/bin/bash\n@daily " + command + "\n": false,
		"@daily ops " + command + "\n":              true,
	} {
		var got importer.Result
		importer.Crontab("f", crontab, importer.CrontabOptions{System: system}, &got)
		spec := got.Jobs["deploy"]
		if !strings.HasPrefix(spec.Shell, "exec ") || !strings.HasSuffix(spec.Shell, quoted) || len(spec.Command) > 0 || !got.Complete() {
			t.Errorf("%q: got %+v; problems %v", crontab, spec, got.Problems)
		}
	}
}

// TestVariablesThatLookLikeReferences reports each such variable once, at its assignment, whatever file it names.
func TestVariablesThatLookLikeReferences(t *testing.T) {
	const dkron = `{"name": "a", "schedule": "@daily", "executor": "shell",
"executor_config": {"command": "x", "shell": "true", "env": "A=${file:/run/secrets/a}"}}`
	const cronJob = "kind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '@daily'\n  timeZone: UTC\n" +
		"  jobTemplate: {spec: {template: {spec: {containers: [{command: [x], env: [\n" +
		"    {name: A, value: '${file:/run/secrets/a}'}]}]}}}}\n"
	for _, c := range []struct{ kind, text, place string }{
		{importer.KindCrontab, "\nA=${file:/run/secrets/a}\n@daily x\n@hourly y\n", "-:2"},
		{importer.KindCrontab, "A=${env:HOME}\n@daily x\n", "-:1"},
		{importer.KindCronJob, cronJob, "-:7"},
		{importer.KindDkron, dkron, "-:2"},
		{importer.KindSystemd, "# a.timer\n[Timer]\nOnCalendar=daily\n# a.service\n[Service]\nEnvironment=A=${file:/run/secrets/a}\n" +
			"ExecStart=/bin/x\n", "a.service:6"},
	} {
		var got importer.Result
		if err := importer.Translate(importer.Options{Kind: c.kind}, []string{"-"}, map[string]string{"-": c.text}, &got); err != nil {
			t.Fatal(err)
		}
		text, want := fmt.Sprint(got.Problems), c.place+": variable A: rota resolves the reference"
		if got.Complete() || strings.Count(text, "rota resolves the reference") != 1 || !strings.Contains(text, want) {
			t.Errorf("%s: got problems %v, want one at %s", c.kind, text, c.place)
		}
	}
}

// TestRequestsAreSentAsTheyAre reports the parts of a request that rota would fill in, and dkron sends unchanged.
func TestRequestsAreSentAsTheyAre(t *testing.T) {
	const request = `{"name": "a", "schedule": "@at 2030-01-01T00:00:00Z", "executor": "http", "tags": {"a": "b:1"}, "executor_config": {
"url": "http://h/${env:ROTA_SECRET_X}", "expectCode": "200",
"headers": "[\"X-A: ${env:ROTA_SECRET_X}\", \"X-B: b\"]",
"body": "{{ .Run }} ${file:/run/secrets/a}"}}`
	var got importer.Result
	importer.Dkron("f", request, &got)
	text := fmt.Sprint(got.Problems)
	for _, want := range []string{
		"f:2: url: rota resolves its reference", "f:3: header X-A: rota resolves its reference", "f:4: body: rota resolves its reference",
		"f:4: body: rota fills in {{ }}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if len(got.Problems) != 4 || got.Complete() {
		t.Errorf("got problems %s", text)
	}
}

// TestADirectoryThatMayBeMissing reports that a run of rota needs the directory.
func TestADirectoryThatMayBeMissing(t *testing.T) {
	for dir, want := range map[string]string{
		"/srv":  "[]",
		"-/srv": "[a.service:3: note: WorkingDirectory: systemd ignores a missing directory, and a run of rota fails without it]",
		"-~":    "[a.service:3: WorkingDirectory=-~: rota has no sign for the home of a user; write its path]",
	} {
		var got importer.Result
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=/bin/true\nWorkingDirectory=" + dir + "\n",
		}, "UTC", &got)
		if got.Jobs["a"].Dir != strings.TrimPrefix(dir, "-") || fmt.Sprint(got.Problems) != want {
			t.Errorf("%s: got dir %q; problems %v", dir, got.Jobs["a"].Dir, got.Problems)
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
