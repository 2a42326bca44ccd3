package importer_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

// TestNothingIsDroppedSilently translates parts of files that look harmless. Each is reported with its line, and the import is
// incomplete.
func TestNothingIsDroppedSilently(t *testing.T) {
	crontab := func(system bool) func(text string, into *importer.Result) {
		return func(text string, into *importer.Result) {
			importer.Crontab("f", text, importer.CrontabOptions{System: system}, into)
		}
	}
	service := func(text string, into *importer.Result) {
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=/bin/true\n" + text,
		}, "UTC", into)
	}
	timer := func(text string, into *importer.Result) {
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n" + text, "a.service": "[Service]\nExecStart=/bin/true\n",
		}, "UTC", into)
	}
	cronJob := func(text string, into *importer.Result) {
		importer.CronJob("f", "kind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '@daily'\n  timeZone: UTC\n  jobTemplate:\n    spec:\n      template:\n"+
			text, into)
	}
	const pod = "        spec:\n          containers:\n          - command: [a]\n"
	dkron := func(text string, into *importer.Result) {
		importer.Dkron("f", `[{"name": "b", "schedule": "@daily", "executor": "shell", "executor_config": {"command": "true"}, "tags": {"r": "a:1"}},`+
			"\n"+text+"]", into)
	}
	for text, c := range map[string]struct {
		translate func(text string, into *importer.Result)
		want      string
	}{
		"0 1 * * * root /usr/bin/true":                         {crontab(false), "f:1: the command begins with root: is it a crontab of a system (--system)?"},
		"0 1 * * * /usr/bin/true now":                          {crontab(true), "f:1: the user is /usr/bin/true: is it a user's crontab (--system=false)?"},
		"0 1 * * * -root /usr/bin/true":                        {crontab(true), "f:1: the user is -root: is it a user's crontab (--system=false)?"},
		"0 1 * * * backup":                                     {crontab(true), "f:1: the line has no command behind its user: is it a user's crontab (--system=false)?"},
		"0/15 * * * * true":                                    {crontab(false), "f:1: 0/15: cron ignores the line or the end of this field"},
		"0 1 * * * bin/backup --all":                           {crontab(false), "f:1: bin/backup: cron starts in the home of its user"},
		"0 0 * * sat-sun true":                                 {crontab(false), "f:1: sat-sun: cron ignores"},
		"@monthly 15 cron.monthly run-parts /etc/cron.monthly": {crontab(true), "f:1: it is an entry of anacron"},
		"7 10 cron.weekly nice run-parts /etc/cron.weekly":     {crontab(false), "f:1: it is an entry of anacron"},
		"OnCalendar=*-*-* 4..2:00":                             {timer, `a.timer:3: OnCalendar=*-*-* 4..2:00: systemd refuses "4..2"`},
		"OnCalendar=*-*-31/2":                                  {timer, `a.timer:3: OnCalendar=*-*-31/2: systemd refuses "31/2"`},
		"OnCalendar=Sun..Mon":                                  {timer, `a.timer:3: OnCalendar=Sun..Mon: systemd refuses "sun..mon"`},
		"OnCalendar=*:*/15":                                    {timer, `a.timer:3: OnCalendar=*:*/15: systemd refuses "*/15"`},
		"OnCalendar=5,*:30":                                    {timer, `a.timer:3: OnCalendar=5,*:30: systemd refuses "*"`},
		"OnCalendar=10:00 Mon":                                 {timer, `a.timer:3: OnCalendar=10:00 Mon: systemd refuses "Mon"`},
		"OnCalendar=*-*~29":                                    {timer, `a.timer:3: OnCalendar=*-*~29: systemd refuses "29"`},
		"OnCalendar=*--2~4":                                    {timer, `a.timer:3: OnCalendar=*--2~4: systemd refuses "*--2~4"`},
		"OnCalendar=*:*:03..3":                                 {timer, `a.timer:3: OnCalendar=*:*:03..3: systemd refuses "03..3"`},
		"OnCalendar=Sunda 10:00":                               {timer, `a.timer:3: OnCalendar=Sunda 10:00: "Sunda" is neither weekdays`},
		"OnCalendar=":                                          {timer, "a.timer: the timer has no OnCalendar"},
		"0 0 L * * true":                                       {crontab(false), "f:1: L: cron ignores"},
		"0 30 2 * * * true":                                    {crontab(false), "f:1: the command begins with *"},
		"0 22-2,4 * * * true":                                  {crontab(false), "f:1: 22-2,4: cron ignores"},
		"WorkingDirectory=~":                                   {service, "a.service:3: WorkingDirectory=~: "},
		"WorkingDirectory=%h/data":                             {service, "a.service:3: WorkingDirectory=%h/data: rota has no specifiers"},
		"Environment=A=%i":                                     {service, "a.service:3: Environment=A=%i: rota has no specifiers"},
		"Nice=10":                                              {service, "a.service:3: Nice=10: write nice"},
		"StandardOutput=append:/var/a":                         {service, "a.service:3: StandardOutput=append:/var/a: rota keeps the output"},
		"KillMode=process":                                     {service, "a.service:3: KillMode=process: rota ends all processes"},
		"Type=forking":                                         {service, "a.service:3: Type=forking: "},
		"RemainAfterExit=yes":                                  {service, "a.service:3: RemainAfterExit=yes: "},
		"WakeSystem=true":                                      {timer, "a.timer:3: WakeSystem=true: "},
		"        spec: {containers: [{command: [sh, -c, echo $(A)], env: [{name: A, value: b}]}]}": {
			cronJob, "f:9: shell: Kubernetes fills in $(A), and a shell runs a command of that name; write $A",
		},
		"        spec: {containers: [{command: [a], env: [{name: A, value: /b/$(C)}]}]}": {
			cronJob, `f:9: variable A: Kubernetes fills in $(NAME) in "/b/$(C)"; write the value`,
		},
		"        metadata: {annotations: {a: b}}\n" + pod:   {cronJob, "f:9: spec.jobTemplate.spec.template.metadata.annotations: "},
		pod + "            resources: {requests: {cpu: 1}}": {cronJob, "f:12: spec.jobTemplate.spec.template.spec.containers.resources.requests: "},
		pod + "          hostNetwork: true":                 {cronJob, "f:12: spec.jobTemplate.spec.template.spec.hostNetwork: "},
		pod + "      suspend: true":                         {cronJob, "f:12: spec.jobTemplate.spec.suspend: "},
		pod + "          dnsPolicy: None":                   {cronJob, "f:12: spec.jobTemplate.spec.template.spec.dnsPolicy: "},
		`{"name": "c", "schedule": "@daily", "executor": "shell", "executor_config": {"command": "true"}, "metadata": {"a b": "c"}, "tags": {"r": "a:1"}}`: {
			dkron, "f:2: metadata.a b: ",
		},
		`{"name": "c", "parent_job": "b", "executor": "shell", "executor_config": {"command": "true"}}`: {
			dkron, "f:2: tags: dkron runs the job on every matching node, rota runs a step on one",
		},
		`{"name": "c", "parent_job": "x", "executor": "shell", "executor_config": {"command": "true"}, "tags": {"r": "a:1"}}`: {
			dkron, `job "x" is not defined`,
		},
		`{"name": "c", "schedule": "0 0 0 */2 * 1", "executor": "shell", "executor_config": {"command": "true"}, "tags": {"r": "a:1"}}`: {
			dkron, `f:2: schedule "0 0 0 */2 * 1": dkron takes a day that matches either field of days`,
		},
		`{"name": "c", "schedule": "0 0 0 1 * ?/2", "executor": "shell", "executor_config": {"command": "true"}, "tags": {"r": "a:1"}}`: {
			dkron, `f:2: schedule "0 0 0 1 * ?/2": dkron takes a day that matches either field of days`,
		},
	} {
		var res importer.Result
		c.translate(text, &res)
		if _, err := res.JobFile(); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, p := range res.Problems {
			all = append(all, p.String())
		}
		if got := strings.Join(all, "\n"); !strings.Contains(got, c.want) || res.Complete() {
			t.Errorf("%s:\ngot %s\nwant %s", text, got, c.want)
		}
	}
}

// TestZonesOfATimer translates timers whose expressions have different time zones. An expression without one has that of the
// machine, whatever stands before it.
func TestZonesOfATimer(t *testing.T) {
	for name, c := range map[string]struct {
		first, second, zone string
		schedules           int
		lost                string
	}{
		"one zone":                       {"*-*-* 02:00 Europe/Berlin", "*-*-* 14:00 Europe/Berlin", "Europe/Berlin", 2, ""},
		"no zone":                        {"*-*-* 02:00", "*-*-* 14:00", "America/New_York", 2, ""},
		"the zone of the machine, named": {"*-*-* 02:00", "*-*-* 14:00 America/New_York", "America/New_York", 2, ""},
		"a zone, then none":              {"*-*-* 02:00 Europe/Berlin", "daily", "Europe/Berlin", 1, "daily: it is in America/New_York"},
		"none, then a zone":              {"daily", "*-*-* 02:00 Europe/Berlin", "America/New_York", 1, "it is in Europe/Berlin"},
	} {
		t.Run(name, func(t *testing.T) {
			var got importer.Result
			importer.Systemd(map[string]string{
				"a.timer":   "[Timer]\nOnCalendar=" + c.first + "\nOnCalendar=" + c.second + "\n",
				"a.service": "[Service]\nExecStart=/bin/true\n",
			}, "America/New_York", &got)
			spec := got.Jobs["a"]
			if spec.Timezone != c.zone || len(spec.Schedule) != c.schedules {
				t.Errorf("got %d schedules in %s, want %d in %s", len(spec.Schedule), spec.Timezone, c.schedules, c.zone)
			}
			if got.Complete() != (c.lost == "") || c.lost != "" && !strings.Contains(got.Problems[0].Text, c.lost) {
				t.Errorf("problems %+v, want %q", got.Problems, c.lost)
			}
		})
	}
}
