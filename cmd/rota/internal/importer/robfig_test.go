package importer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// TestStepsOfWeekdays compares with the days that Kubernetes and dkron have. Their last day is 6, so a step does not reach Sunday.
func TestStepsOfWeekdays(t *testing.T) {
	cronJob := "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '%s', timeZone: UTC, " +
		"jobTemplate: {spec: {template: {spec: {containers: [{command: [a]}]}}}}}\n"
	dkron := `[{"name": "a", "schedule": "0 %s", "executor": "shell", "executor_config": {"command": "true"}, "tags": {"r": "a:1"}}]`
	for field, want := range map[string]string{
		"1/2": "135", "5/2": "5", "mon/3,Sat": "146", "6/1": "6", "0/2": "0246", "sun/7": "0", "1-5/2": "135", "*/3": "036",
	} {
		for kind, text := range map[string]string{importer.KindCronJob: cronJob, importer.KindDkron: dkron} {
			var res importer.Result
			day := map[string]string{importer.KindCronJob: "?", importer.KindDkron: "*"}[kind]
			files := map[string]string{"f": fmt.Sprintf(text, "0 12 "+day+" * "+field)}
			if err := importer.Translate(importer.Options{Kind: kind}, []string{"f"}, files, &res); err != nil {
				t.Fatal(err)
			}
			spec := res.Jobs["a"]
			if got := daysOfWeek(t, &spec); got != want || !res.Complete() {
				t.Errorf("%s, %s: days %s, want %s; %v", kind, field, got, want, res.Problems)
			}
		}
	}
}

// daysOfWeek returns the weekdays on which a job has slots, as digits.
func daysOfWeek(t *testing.T, spec *job.Spec) (days string) {
	t.Helper()
	when, err := policy.When("a", spec)
	if err != nil {
		t.Fatal(err)
	}
	sunday := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	for day := range 7 {
		at := sunday.AddDate(0, 0, day)
		if n, _ := when.Count(at, at.AddDate(0, 0, 1), 1); n > 0 {
			days += fmt.Sprint(day)
		}
	}
	return days
}
