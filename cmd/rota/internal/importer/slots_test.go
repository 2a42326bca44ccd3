package importer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// count is how many slots of a job are compared with the original.
const count = 20

// Slots are compared from these instants on. Soon after the last two, clocks change.
var bases = []time.Time{
	time.Date(2026, 11, 24, 12, 34, 56, 0, time.UTC),
	time.Date(2027, 3, 20, 12, 34, 56, 0, time.UTC),
	time.Date(2026, 10, 20, 12, 34, 56, 0, time.UTC),
}

// sameSlots compares the slots of an imported job with those of the original.
func sameSlots(t *testing.T, name string, spec *job.Spec, base time.Time, want []time.Time) {
	t.Helper()
	when, err := policy.When(name, spec)
	if err != nil {
		t.Fatal(err)
	}
	at := base
	for i, slot := range want {
		var ok bool
		if at, ok = when.Next(at); !ok || !at.Equal(slot) {
			t.Errorf("%s, slot %d after %v: got %v, want %v", name, i, base, at, slot.UTC())
			return
		}
	}
}

func files(t *testing.T, pattern string, want int) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != want {
		t.Fatalf("%s: %d files, want %d (%v)", pattern, len(found), want, err)
	}
	return found
}

var crontabEntry = regexp.MustCompile(`^(@\w+|\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s`)

// TestCrontabsHaveTheSlotsOfCron compares with days on which clocks do not jump. Cron runs a job of a skipped time at once.
func TestCrontabsHaveTheSlotsOfCron(t *testing.T) {
	compared := 0
	for _, file := range files(t, "testdata/crontab/*.cron", 11) {
		zone, settings := "Europe/Berlin", ""
		for i, line := range strings.Split(read(t, file), "\n") {
			if z, ok := strings.CutPrefix(line, "CRON_TZ="); ok {
				zone, settings = z, line
			}
			m := crontabEntry.FindStringSubmatch(line)
			if m == nil || line[0] == '#' || strings.Contains(m[1], "~") { // cronie draws the time of a range with ~ by chance
				continue
			}
			var res importer.Result
			importer.Crontab(file, settings+"\n"+line, importer.CrontabOptions{
				System: strings.HasPrefix(filepath.Base(file), "system-"), Timezone: "Europe/Berlin",
			}, &res)
			for name, spec := range res.Jobs {
				c := parseCron(t, m[1], zone, func(field string) bool { return field[0] == '*' })
				sameSlots(t, fmt.Sprintf("%s:%d: %s", file, i+1, name), &spec, bases[0], c.next(bases[0], count))
				compared++
			}
		}
	}
	if compared != 27 {
		t.Errorf("%d lines were compared, want 27", compared)
	}
}

// likeRobfig reports whether a field of days counts as unrestricted in the library that Kubernetes and dkron use. There a time that
// the clock skips has no slot, and a time that it shows twice has two.
func likeRobfig(field string) bool { return field == "*" || field == "?" }

func TestCronJobsHaveTheSlotsOfKubernetes(t *testing.T) {
	compared := 0
	for _, file := range files(t, "testdata/cronjob/*.yaml", 2) {
		var res importer.Result
		importer.CronJob(file, read(t, file), &res)
		type object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     map[string]any
			Items    []object
		}
		decoder := yaml.NewDecoder(strings.NewReader(read(t, file)))
		for {
			var o object
			if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, o := range append(o.Items, o) {
				spec, ok := res.Jobs[o.Metadata.Name]
				expr, _ := o.Spec["schedule"].(string)
				zone, _ := o.Spec["timeZone"].(string)
				if !ok || o.Kind != "CronJob" || expr == "0 0 */2 * 1" {
					continue // the import says that this one differs
				}
				if strings.Contains(expr, "TZ=") {
					zone, expr, _ = strings.Cut(expr[strings.Index(expr, "=")+1:], " ")
				}
				for _, base := range bases {
					sameSlots(t, o.Metadata.Name, &spec, base, parseCron(t, expr, zone, likeRobfig).next(base, count))
				}
				compared++
			}
		}
	}
	if compared != 9 {
		t.Errorf("%d CronJobs were compared, want 9", compared)
	}
}

func TestJobsHaveTheSlotsOfDkron(t *testing.T) {
	compared := 0
	for _, file := range files(t, "testdata/dkron/*.json", 2) {
		var res importer.Result
		importer.Dkron(file, read(t, file), &res)
		var jobs []struct{ Name, Schedule, Timezone string }
		if err := json.Unmarshal([]byte(read(t, file)), &jobs); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			name := strings.ReplaceAll(j.Name, "_", "-")
			spec, ok := res.Jobs[name]
			word, rest, _ := strings.Cut(j.Schedule, " ")
			switch {
			case !ok:
				t.Errorf("%s is missing", name)
			case word == "@every": // dkron counts from its own start
				if d, err := time.ParseDuration(rest); err != nil || spec.Every.Std() != d {
					t.Errorf("%s: every %v, want %s", name, spec.Every, rest)
				}
			case word == "@at":
				if len(spec.At) != 1 || spec.At[0].Format(time.RFC3339) != rest {
					t.Errorf("%s: at %v, want %s", name, spec.At, rest)
				}
			case word == "": // it follows its parent
				if spec.Scheduled() {
					t.Errorf("%s has a schedule", name)
				}
			default:
				for _, base := range bases {
					sameSlots(t, name, &spec, base, parseCron(t, j.Schedule, j.Timezone, likeRobfig).next(base, count))
				}
			}
			compared++
		}
	}
	if compared != 9 {
		t.Errorf("%d jobs were compared, want 9", compared)
	}
}
