package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestRootsOfAWorkflowHaveOneSchedule reads two jobs that start one workflow and differ in a key that decides about slots.
func TestRootsOfAWorkflowHaveOneSchedule(t *testing.T) {
	const calendars = "calendars: {nyse: {weekdays: [mon-fri]}, work: {weekdays: [mon-sat]}}\n"
	for key, c := range map[string]struct{ load, stock string }{
		"schedule": {`schedule: "0 1 * * *"`, `schedule: "0 2 * * *"`},
		"every":    {`every: 1h`, `every: 2h`},
		"at":       {`at: "2030-01-01T00:00:00Z"`, `at: "2030-01-02T00:00:00Z"`},
		"timezone": {`schedule: "0 1 * * *", timezone: Europe/Berlin`, `schedule: "0 1 * * *"`},
		"dst":      {`schedule: "0 1 * * *", dst: {gap: skip}`, `schedule: "0 1 * * *"`},
		"start":    {`every: 1h, start: "2030-01-01T00:00:00Z"`, `every: 1h`},
		"end":      {`every: 1h, end: "2030-01-01T00:00:00Z"`, `every: 1h`},
		"exclude":  {`every: 1h, exclude: ["2030-12-25"]`, `every: 1h`},
		"calendar": {`every: 1h, calendar: {on: nyse}`, `every: 1h, calendar: {on: work}`},
	} {
		t.Run(key, func(t *testing.T) {
			text := func(load, stock string) string {
				return "version: 1\n" + calendars + "jobs:\n" +
					"  load: {" + load + ", shell: x}\n" +
					"  stock: {" + stock + ", shell: x}\n" +
					"  left: {after: load, shell: x}\n" +
					"  join: {after: [left, stock], shell: x}\n"
			}
			for _, one := range []string{c.load, c.stock} {
				if set := parse1(t, text(one, one)); len(set.Jobs) != 4 {
					t.Errorf("both with %s: got %d jobs, want 4", one, len(set.Jobs))
				}
			}
			_, err := ParseJobs("jobs.yaml", []byte(text(c.load, c.stock)))
			var list Errors
			if !errors.As(err, &list) || len(list) != 1 {
				t.Fatalf("got %v, want one mistake", err)
			}
			want := "jobs load and stock start one workflow, but differ in " + key
			e := list[0]
			if e.Line != 7 || e.Col != 24 || !strings.Contains(e.Error(), want) || !strings.Contains(e.Hint, "the same "+key+" in both") {
				t.Errorf("got %d:%d, hint %q: %v; want 7:24 and %q", e.Line, e.Col, e.Hint, e, want)
			}
		})
	}
}

// TestRootsOfAWorkflowHaveNoH reads two jobs that start one workflow, with one expression whose H stands for other numbers in each.
func TestRootsOfAWorkflowHaveNoH(t *testing.T) {
	const text = "jobs: {load: {schedule: %[1]q, shell: x}, stock: {schedule: %[1]q, shell: x}, join: {after: [load, stock], shell: x}}"
	for expression, refused := range map[string]bool{"H 1 * * *": true, "0 1,h * * thu": true, "0 1 * mar thu": false, "@hourly": false} {
		_, err := ParseJobs("jobs.yaml", fmt.Appendf(nil, text, expression))
		const want = "jobs load and stock start one workflow, but H in their schedule stands for other numbers in each"
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, refused %v", expression, err, refused)
		}
	}
	parse1(t, `jobs: {load: {schedule: "H 1 * * *", shell: x}, step: {after: load, shell: x}}`) // one root may have it
}

// TestTwoRootsMayDifferInOtherKeys reads two jobs that start one workflow, and differ in keys that say nothing about slots.
func TestTwoRootsMayDifferInOtherKeys(t *testing.T) {
	set := parse1(t, `version: 1
jobs:
  load: {schedule: "0 1 * * *", priority: 3, timeout: 1m, labels: {team: a}, missed: all, overlap: allow, shell: x}
  stock: {schedule: "0 1 * * *", command: [y]}
  join: {after: [load, {job: stock, when: done}], shell: x}
`)
	if after := set.Jobs["join"].Spec.After; len(after) != 2 {
		t.Errorf("step join has the parents %v, want both", after)
	}
}
