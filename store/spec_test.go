package store

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestInvalidSpecsAreQuarantined writes records that can be decoded, but have values that job files and the API refuse.
func TestInvalidSpecsAreQuarantined(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	const times = `"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","since":"2026-01-01T00:00:00Z","since_reason":"created"`
	define := func(spec string) func(name string) string {
		return func(name string) string {
			return `{"name":"` + name + `","origin":{"kind":"api"},"generation":1,` + times + `,"spec":{"every":"1s",` + spec + `"command":["true"]}}`
		}
	}
	run := func(rest string) func(name string) string {
		return func(name string) string {
			return `{"job":"j","id":"` + name + `","kind":"manual","slot":"2026-01-01T00:00:00Z","due":"2026-01-01T00:00:00Z",` + rest + `"created":"2026-01-01T00:00:00Z"}`
		}
	}
	bad := map[string]func(name string) string{
		"jobs/window":      define(`"breaker":{"window":-5},`),
		"jobs/slow-window": define(`"breaker":{ "window":-5},`), // rota writes no space here
		"jobs/limit":       define(`"missed":"all","missed_limit":2000000000,`),
		"jobs/overlap":     define(`"overlap":"never",`),
		"jobs/jitter":      define(`"jitter":"-1s",`),
		"jobs/generation": func(name string) string {
			return `{"name":"` + name + `","origin":{"kind":"api"},"generation":9223372036854775807,` + times + `,"spec":{"command":["true"]}}`
		},
		"jobs/two":   define(`"shell":"true",`),
		"jobs/adhoc": define(""),
		"jobs/typo": func(name string) string {
			return `{"name":"` + name + `","generation":1,"spec":{"every":"10s","comand":["true"]}}`
		},
		"jobs/none": func(name string) string { return `{"name":"` + name + `","generation":1}` },
		"jobs/null": func(name string) string { return `{"name":"` + name + `","generation":1,"spec":null}` },

		"runs/j/idle":    run(`"state":"pending","spec":{"env":{"A":"b"}},`),
		"runs/j/spec":    run(`"state":"pending","spec":{"command":["true"],"retry":{"max":-1}},`),
		"runs/j/attempt": run(`"state":"pending","attempt":-9,`),
		"runs/j/many":    run(`"state":"pending","attempt":9223372036854775807,`),
		"cursors/back": func(name string) string {
			return `{"job":"` + name + `","after":"2026-01-01T00:00:00Z","next":"0001-01-02T00:00:00Z","generation":1,"term":1}`
		},
		"limits/many": func(name string) string {
			return `{"name":"` + name + `","origin":{"kind":"api"},"generation":1,"updated":"2026-01-01T00:00:00Z","spec":{"concurrent":-7,"rate":"1/s"}}`
		},
	}
	good := map[string]func(name string) string{
		"jobs/nothing": define(""), "jobs/breaker": define(`"breaker":{"window":5},`), "runs/j/fine": run(`"state":"pending","attempt":3,`),
		"runs/j/own": run(`"state":"pending","spec":{"shell":"true"},`),
	}
	for key, value := range good {
		put(t, c, prefix+"/"+key, value(key[strings.LastIndex(key, "/")+1:]))
	}
	for key, value := range bad {
		put(t, c, prefix+"/"+key, value(key[strings.LastIndex(key, "/")+1:]))
	}
	catchUp(t, s, m)
	var got []string
	for _, b := range m.Quarantine() {
		got = append(got, strings.TrimPrefix(b.Key, prefix+"/"))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(bad)), got); diff != "" {
		t.Errorf("quarantine (-want +got):\n%s", diff)
	}
	if len(m.Jobs()) != 2 || len(m.RunsThat(all)) != 2 {
		t.Errorf("%d jobs and %d runs can be read, want 2 and 2", len(m.Jobs()), len(m.RunsThat(all)))
	}
}

// TestACheckAllocatesNothing checks Spec.Check, because a new leader checks up to a million definitions.
func TestACheckAllocatesNothing(t *testing.T) {
	spec := job.Spec{Retry: &job.Retry{Max: 1}, Breaker: &job.Breaker{}, Resources: &job.Resources{PIDs: 1}, Command: []string{"true"}}.WithDefaults()
	if n := testing.AllocsPerRun(100, func() {
		if spec.Check() != nil {
			t.Error("refused")
		}
	}); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// TestReadDefinitionIsACopy checks that a reader may change a definition, to write it back. The change must not affect other jobs
// whose definitions have the same spec.
func TestReadDefinitionIsACopy(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	for _, name := range []string{"a", "b"} {
		if _, err := s.PutJob(within(t), definition(name)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := s.Job(within(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	a.Spec.Description = "changed"
	catchUp(t, s, m)
	known, _ := m.Job("b")
	b, err := s.Job(within(t), "b")
	if err != nil || b.Spec.Description != "" || known.Spec.Description != "" {
		t.Errorf("after a was changed, b says %q, and %q in the mirror (%v)", b.Spec.Description, known.Spec.Description, err)
	}
}
