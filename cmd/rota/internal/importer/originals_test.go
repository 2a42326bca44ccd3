package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// translated translates one text, and returns its only job.
func translated(t *testing.T, kind, file, text string) (job.Spec, importer.Result) {
	t.Helper()
	var got importer.Result
	if err := importer.Translate(importer.Options{Kind: kind}, []string{file}, map[string]string{file: text}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Jobs) != 1 {
		t.Fatalf("got %d jobs and %v from %s", len(got.Jobs), got.Problems, text)
	}
	for _, spec := range got.Jobs {
		return spec, got
	}
	return job.Spec{}, got
}

// cronJobWith returns a CronJob with further fields of its spec, its pod and its container; "" for none.
func cronJobWith(spec, pod, container string) string {
	return "kind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '@daily'\n  timeZone: UTC\n  " + spec + "\n  jobTemplate:\n" +
		"    spec:\n      template:\n        spec:\n          " + pod + "\n          containers: [{" + container + "}]\n"
}

// TestBooleansOfManifests reads each spelling that kubectl and dkron take for true.
func TestBooleansOfManifests(t *testing.T) {
	for value, suspended := range map[string]bool{
		"true": true, "True": true, "yes": true, "on": true, "y": true, "false": false, "no": false, "off": false,
	} {
		_, got := translated(t, importer.KindCronJob, "f", cronJobWith("suspend: "+value, "", "command: [a]"))
		if reported := strings.Contains(fmt.Sprint(got.Problems), "suspend"); reported != suspended {
			t.Errorf("suspend: %s: got %v", value, got.Problems)
		}
	}
	for value, shell := range map[string]bool{
		`"True"`: true, `"1"`: true, "true": true, `"T"`: true, `"false"`: false, `""`: false, `"yes"`: false, `"on"`: false, `"y"`: false,
	} {
		spec, _ := translated(t, importer.KindDkron, "f", `{"name": "a", "schedule": "@daily", "executor": "shell", "tags": {"r": "a:1"},
"executor_config": {"command": "a; b", "shell": `+value+"}}")
		if (spec.Shell == "a; b") != shell {
			t.Errorf("shell: %s: got %+v", value, spec)
		}
	}
}

// TestRequestsOfDkronWithFalse reports a text that is false, and no boolean that is.
func TestRequestsOfDkronWithFalse(t *testing.T) {
	for field, complete := range map[string]bool{
		`"expectBody": "false"`: false, `"tlsRootCAsFile": "False"`: false, `"tlsNoVerifyPeer": "false"`: true, `"tlsNoVerifyPeer": "0"`: true,
		`"tlsNoVerifyPeer": "true"`: false, `"tlsNoVerifyPeer": "1"`: false, `"tlsNoVerifyPeer": "yes"`: true,
	} {
		_, got := translated(t, importer.KindDkron, "f", `{"name": "a", "schedule": "@daily", "executor": "http", "tags": {"r": "a:1"},
"executor_config": {"url": "http://h/", "method": "GET", `+field+"}}")
		if got.Complete() != complete {
			t.Errorf("%s: got %v", field, got.Problems)
		}
	}
}

// TestDollarSignsOfACronJob makes one dollar sign of two, as Kubernetes does.
func TestDollarSignsOfACronJob(t *testing.T) {
	for container, want := range map[string]job.Spec{
		"command: [a, 'b$$c', '$$(D)']":                                     {Command: []string{"a", "b$c", "$(D)"}},
		"command: [a], args: ['$$$$']":                                      {Command: []string{"a", "$$"}},
		"command: [sh, -c, 'echo $$HOME $(date) $$(date)']":                 {Shell: "echo $HOME $(date) $(date)"},
		"command: [a], env: [{name: P, value: 'pa$$wd$'}]":                  {Command: []string{"a"}, Env: map[string]string{"P": "pa$wd$"}},
		"command: [sh, -c, 'echo $$(P)'], env: [{name: P, value: '$$(Q)'}]": {Shell: "echo $(P)", Env: map[string]string{"P": "$(Q)"}},
	} {
		spec, got := translated(t, importer.KindCronJob, "f", cronJobWith("", "", container))
		if !slices.Equal(spec.Command, want.Command) || spec.Shell != want.Shell || spec.Env["P"] != want.Env["P"] || !got.Complete() {
			t.Errorf("%s: got %q, %q, %v; problems %v", container, spec.Command, spec.Shell, spec.Env, got.Problems)
		}
	}
}

// TestEmptyFieldsOfACronJob reports no field that has no effect. kubectl prints some of them for each CronJob.
func TestEmptyFieldsOfACronJob(t *testing.T) {
	for field, complete := range map[string]bool{
		"securityContext: {}": true, "volumes: []": true, "hostNetwork: False": true, "hostNetwork: no": true, "hostNetwork: true": false,
		"securityContext: {runAsUser: 1}": false,
	} {
		_, got := translated(t, importer.KindCronJob, "f", cronJobWith("", field, "command: [a], ports: []"))
		if got.Complete() != complete {
			t.Errorf("%s: got %v", field, got.Problems)
		}
	}
}

// TestHomeOfAUser keeps a HOME of the input, which runuser would replace with the home of the user.
func TestHomeOfAUser(t *testing.T) {
	const cron = "0 1 * * * www-data /bin/a\n"
	const units = "# a.timer\n[Timer]\nOnCalendar=daily\n# a.service\n[Service]\nUser=www-data\nExecStart=/bin/a\n"
	for _, c := range []struct{ kind, file, text, want string }{
		{importer.KindCrontab, "/etc/cron.d/a", cron, "runuser -u www-data -- /bin/sh -c /bin/a"},
		{importer.KindCrontab, "/etc/crontab", "HOME=/srv\n" + cron, "runuser -u www-data -- env HOME=/srv /bin/sh -c /bin/a"},
		{importer.KindSystemd, "-", units, "runuser -u www-data -- /bin/a"},
		{importer.KindSystemd, "-", units + "Environment=HOME=/srv\n", "runuser -u www-data -- env HOME=/srv /bin/a"},
	} {
		spec, got := translated(t, c.kind, c.file, c.text)
		if text := strings.Join(spec.Command, " "); text != c.want || !got.Complete() {
			t.Errorf("%q: got %s; problems %v", c.text, text, got.Problems)
		}
	}
}

// TestFilesThatNameUsers reads a user in each line only of the files in which cron does, or if the options say so.
func TestFilesThatNameUsers(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		dir, file string
		system    *bool
		want      bool
	}{
		{"/", "/etc/cron.d/a", nil, true}, {"/", "etc/cron.d/a", nil, true}, {"/etc", "crontab", nil, true}, {"/etc", "./cron.d/a", nil, true},
		{"/", "etc/cron.d/a/b", nil, false}, {"/", "etc/cron.da", nil, false}, {"/", "cron.d/a", nil, false}, {"/", "srv/etc/crontab", nil, false},
		{"/", "/etc/cron.d/a", &no, false}, {"/", "/etc/crontab", &no, false}, {"/", "cron.d/a", &yes, true}, {"/", "-", nil, false},
	} {
		t.Chdir(c.dir)
		var got importer.Result
		o := importer.Options{Kind: importer.KindCrontab, System: c.system}
		if err := importer.Translate(o, []string{c.file}, map[string]string{c.file: "5 2 * * * backup --all\n"}, &got); err != nil {
			t.Fatal(err)
		}
		for _, spec := range got.Jobs {
			if user := spec.Shell != "backup --all"; user != c.want {
				t.Errorf("%s in %s: got %q, %q", c.file, c.dir, spec.Shell, spec.Command)
			}
		}
	}
}

// TestTimersThatCountFromAnEvent names each key that starts a timer once.
func TestTimersThatCountFromAnEvent(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"OnBootSec=5min\nOnUnitActiveSec=1h", "[a.timer:2: OnBootSec= has no translation a.timer:3: OnUnitActiveSec= has no translation]"},
		{"Persistent=true", "[a.timer: the timer has no OnCalendar, so nothing starts the job; write a schedule]"},
		{"OnBootSec=", "[a.timer: the timer has no OnCalendar, so nothing starts the job; write a schedule]"},
	} {
		var got importer.Result
		importer.Systemd(map[string]string{"a.timer": "[Timer]\n" + c.keys + "\n", "a.service": "[Service]\nExecStart=/bin/a\n"}, "UTC", &got)
		if text := fmt.Sprint(got.Problems); text != c.want {
			t.Errorf("%q: got %s", c.keys, text)
		}
	}
}

// TestMarksOfCrontabs reads the mark with which SUSE's crontab asks cron not to log, and the one with which Windows begins a file.
func TestMarksOfCrontabs(t *testing.T) {
	for _, text := range []string{"-*/15 * * * * /bin/a\n", "\ufeff*/15 * * * * /bin/a\r\n", "\ufeff# a\n*/15 * * * * /bin/a\n"} {
		spec, got := translated(t, importer.KindCrontab, "f", text)
		if !slices.Equal(spec.Schedule, []string{"*/15 * * * *"}) || spec.Shell != "/bin/a" || !got.Complete() {
			t.Errorf("%q: got %q, %q; problems %v", text, spec.Schedule, spec.Shell, got.Problems)
		}
	}
}

// TestTheEndsOfUnits reads a file that begins with the mark of Windows, and a last line that ends with a backslash.
func TestTheEndsOfUnits(t *testing.T) {
	var got importer.Result
	importer.Systemd(map[string]string{
		"a.timer":   "\ufeff[Timer]\nOnCalendar=daily\n",
		"a.service": "\ufeff[Service]\r\nExecStart=/bin/a\r\nEnvironment=A=1 \\\r\n",
	}, "UTC", &got)
	spec := got.Jobs["a"]
	if len(spec.Schedule) != 1 || !slices.Equal(spec.Command, []string{"/bin/a"}) || spec.Env["A"] != "1" || !got.Complete() {
		t.Errorf("got %+v; problems %v", spec, got.Problems)
	}
}

func TestAliasesInLists(t *testing.T) {
	got, _ := translated(t, importer.KindCronJob, "f", cronJobWith("", "", "name: &app billing, command: [sync, *app]"))
	if want := []string{"sync", "billing"}; !slices.Equal(got.Command, want) {
		t.Errorf("got %q, want %q", got.Command, want)
	}
}
