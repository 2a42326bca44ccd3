package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

const cronJob = "{kind: CronJob, metadata: {name: a}, spec: {schedule: '0 1 * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: a, command: [a]}]}}}}}}"

// A short text with aliases must not become a large one. The first text contains itself; each list of the second has ten times the
// one before.
func TestAliasesDoNotGrowWithoutEnd(t *testing.T) {
	lists := "x0: &x0 " + cronJob + "\n"
	for i := 1; i < 9; i++ {
		lists += fmt.Sprintf("x%d: &x%d {kind: List, items: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i-1), 10), ", "))
	}
	for name, text := range map[string]string{
		"itself": "&a {kind: List, items: [*a, *a]}", "lists": "kind: List\n" + lists + "items: [*x8]\n", "dkron": "&a [*a]",
	} {
		var res importer.Result
		if name == "dkron" {
			importer.Dkron("jobs.json", text, &res)
		} else {
			importer.CronJob("cronjob.yaml", text, &res)
		}
		if len(res.Jobs) != 0 || len(res.Problems) != 1 {
			t.Errorf("%s: got %d jobs and %d problems: %.300v", name, len(res.Jobs), len(res.Problems), res.Problems)
		}
	}
	var res importer.Result
	importer.CronJob("cronjob.yaml", "kind: List\nx: &x "+cronJob+"\nitems: [*x, *x]\n", &res)
	if len(res.Jobs) != 2 {
		t.Errorf("a few aliases: got %d jobs, %v", len(res.Jobs), res.Problems)
	}
}

func TestManyJobsOfOneName(t *testing.T) {
	var res importer.Result
	const lines = 20_000
	importer.Crontab("crontab", strings.Repeat("0 1 * * * a\n", lines), importer.CrontabOptions{}, &res)
	if _, ok := res.Jobs[fmt.Sprintf("a-%d", lines)]; len(res.Jobs) != lines || !ok {
		t.Errorf("got %d jobs, the last one: %v", len(res.Jobs), ok)
	}
}

func TestATranslationStops(t *testing.T) {
	timer, unit := "[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/true\n"
	for kind, text := range map[string]string{
		importer.KindCrontab: strings.Repeat("0 1 * * * a\n", 9),
		importer.KindCronJob: strings.Repeat(cronJob+"\n---\n", 9),
		importer.KindDkron:   "[" + strings.TrimSuffix(strings.Repeat(`{"name":"a","schedule":"@hourly","executor":"shell","executor_config":{"command":"a"}},`, 9), ",") + "]",
		importer.KindSystemd: "# a.timer\n" + timer + "# a.service\n" + unit + "# b.timer\n" + timer + "# b.service\n" + unit,
	} {
		for _, most := range []int{0, 1, 100} {
			var res importer.Result
			asked := 0
			stop := func() bool { asked++; return asked > most }
			err := importer.Translate(importer.Options{Kind: kind, Stop: stop}, []string{"-"}, map[string]string{"-": text}, &res)
			if err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if n := len(res.Jobs); n > most || most == 100 && n < 2 {
				t.Errorf("%s, stopped after %d: got %d jobs, %v", kind, most, n, res.Problems)
			}
		}
	}
}

// One text has several units, as systemctl cat prints them. Places are lines of the whole text.
func TestUnitsStandInOneText(t *testing.T) {
	const text = `# /etc/systemd/system/backup.timer
[Timer]
OnCalendar=daily

# /etc/systemd/system/backup.service
[Service]
ExecStart=/usr/local/bin/backup

# /etc/systemd/system/backup.service.d/override.conf
[Service]
# a comment
User=backup
OOMPolicy=stop
`
	translate := func(text string) (res importer.Result, err error) {
		err = importer.Translate(importer.Options{Kind: importer.KindSystemd}, []string{"-"}, map[string]string{"-": text}, &res)
		return res, err
	}
	res, err := translate(text)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(res.Problems)
	if spec := res.Jobs["backup"]; strings.Join(spec.Command, " ") != "runuser -u backup -- /usr/local/bin/backup" ||
		!strings.Contains(got, "backup.service:13: OOMPolicy= has no translation") {
		t.Errorf("got %+v, %s", spec, got)
	}
	if _, err := translate("[Timer]\nOnCalendar=daily\n"); err == nil || !strings.Contains(err.Error(), "line 1: the name of the unit is missing") {
		t.Errorf("a unit without a name: got %v", err)
	}
}
