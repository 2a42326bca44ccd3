package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

// TestSchedulesOfDkron translates schedules whose slots dkron computes in another way than the library that it uses.
func TestSchedulesOfDkron(t *testing.T) {
	for text, want := range map[string]string{
		// The letters of "ab" are 97 and 98.
		`"schedule": "0 ~ ~ ~ ~ ~"`:                                    `[0 15 3 28 4 6] "" no timezone`,
		`"schedule": "~ ~/15 * * * *", "timezone": "Asia/Tokyo"`:       `[15 15/15 * * * *] "Asia/Tokyo" `,
		`"schedule": "@daily", "timezone": "Asia/Tokyo"`:               `[@daily] "" timezone: with @daily, dkron ignores it`,
		`"schedule": "@hourly"`:                                        `[@hourly] "" no timezone`,
		`"schedule": "CRON_TZ=Asia/Tokyo 0 0 2 * * *"`:                 `[0 0 2 * * *] "Asia/Tokyo" `,
		`"schedule": "TZ=Asia/Tokyo @daily", "timezone": "Asia/Dubai"`: `[@daily] "Asia/Tokyo" `,
		`"schedule": "@minutely"`:                                      `[* * * * *] "" `,
	} {
		var got importer.Result
		importer.Dkron("f", `{"name": "ab", `+text+`, "executor": "shell", "executor_config": {"command": "x"}, "tags": {"a": "b:1"}}`, &got)
		spec, problems := got.Jobs["ab"], ""
		for _, p := range got.Problems {
			problems += p.Text
		}
		if text := fmt.Sprintf("%v %q %s", spec.Schedule, spec.Timezone, problems); !strings.HasPrefix(text, want) || !got.Complete() ||
			(problems == "") != strings.HasSuffix(want, `" `) {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

// TestWindowsOfDkron translates the instants between which dkron executes a job.
func TestWindowsOfDkron(t *testing.T) {
	var got importer.Result
	importer.Dkron("f", `{"name": "a", "schedule": "@minutely", "executor": "shell", "executor_config": {"command": "x"}, "tags": {"a": "b:1"},
"starts_at": "2030-01-01T00:00:00Z", "expires_at": "2031-01-01T00:00:00Z"}`, &got)
	if spec := got.Jobs["a"]; !got.Complete() || spec.Start == nil || spec.Start.Year() != 2030 || spec.End == nil || spec.End.Year() != 2031 {
		t.Errorf("got %+v; problems %v", spec, got.Problems)
	}
}

// TestCommandsOfDkron ends a command without a shell where dkron ends it.
func TestCommandsOfDkron(t *testing.T) {
	for command, want := range map[string]string{
		`php x.php > /dev/null 2>&1`:  `["php" "x.php"] without a shell, dkron drops "> /dev/null 2>&1"`,
		`x 12 2>err`:                  `["x" "12"] without a shell, dkron drops "2>err"`,
		`x a2>err`:                    `["x" "a2"] without a shell, dkron drops ">err"`,
		`x 'a;b' \"c|d\" e\\&f & g`:   `["x" "a;b" "c|d" "e&f"] without a shell, dkron drops "& g"`,
		`curl http://h/a?b=c -H 'd&'`: `["curl" "http://h/a?b=c" "-H" "d&"]`,
	} {
		var got importer.Result
		importer.Dkron("f", `{"name": "a", "schedule": "@minutely", "executor": "shell", "executor_config": {"command": "`+command+
			`"}, "tags": {"a": "b:1"}}`, &got)
		text := fmt.Sprintf("%q", got.Jobs["a"].Command)
		for _, p := range got.Problems {
			text += strings.TrimPrefix(p.Text, "command:")
		}
		if !strings.HasPrefix(text, want) || !got.Complete() {
			t.Errorf("%s: got %s", command, text)
		}
	}
}

// TestAnyStatusOfDkron notes that a request without expectCode succeeds with any status in dkron.
func TestAnyStatusOfDkron(t *testing.T) {
	for config, noted := range map[string]bool{`"url": "http://h"`: true, `"url": "http://h", "expectCode": "200"`: false} {
		var got importer.Result
		importer.Dkron("f", `{"name": "a", "schedule": "@minutely", "executor": "http", "executor_config": {`+config+`}, "tags": {"a": "b:1"}}`, &got)
		if strings.Contains(fmt.Sprint(got.Problems), "no expectCode") != noted || !got.Complete() {
			t.Errorf("%s: problems %v", config, got.Problems)
		}
	}
}
