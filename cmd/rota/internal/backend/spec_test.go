package backend

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func instant(text string) *time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &t
}

// everything uses every key of a job, but for those that exclude each other.
var everything = job.Spec{
	Description: "yes: \"no\" # 1\nline", Schedule: []string{"30 2 * * *", "@daily"}, Timezone: "Europe/Berlin",
	DST: &job.DST{Gap: "skip", Fold: "both"}, Start: instant("2026-01-01T00:00:00+01:00"), End: instant("2027-01-01T00:00:00.5Z"),
	Exclude: []string{"2026-12-25"}, Jitter: job.Duration(90 * time.Second), Missed: job.MissedAll, MissedWindow: job.Duration(6 * time.Hour),
	MissedLimit: 7, Overlap: job.OverlapReplace, Delivery: job.AtMostOnce, Timeout: job.Duration(1500 * time.Millisecond), KillGrace: job.Duration(time.Second),
	Retry:    &job.Retry{Max: 3, Backoff: job.BackoffLinear, Min: job.Duration(time.Minute), MaxDelay: job.Duration(2 * time.Minute), Jitter: job.JitterNone},
	Priority: -5, Workers: map[string]string{"zone": "a", "on": "off", "n": "1"},
	Limits: []string{"database", "licence"}, Rate: job.Rate{Count: 10, Per: time.Minute},
	Breaker: &job.Breaker{Window: 7, FailureRatio: 0.25, OpenFor: job.Duration(90 * time.Second)},
	Command: []string{"/bin/echo", "", "- a", "1", "true", "null", "~", "a\tb\u0085c\u2028", "é😀", "${env:X}", "*", "0x1f", "2026-01-01", "\"", "'"},
	Env:     map[string]string{"A": "1", "B": "", "C": " lead and trail ", "D": "multi\nline\n", "E": "no"}, Dir: "/srv",
	Payload: json.RawMessage(`{"z":1,"a":[1.5,1e3,-0,12345678901234567890,null,true,"x"],"":{}}`),
}

func specs() map[string]job.Spec {
	http := everything
	http.Command, http.Env, http.Dir = nil, nil, ""
	http.Schedule, http.Every = nil, job.Duration(time.Minute)
	http.HTTP = &job.HTTP{URL: "https://host/{{ .Slot }}?a=b&c=${env:X}", Method: "PUT", Headers: map[string]string{"Authorization": "Bearer ${env:T}", "X-Y": "1"},
		JSON: json.RawMessage(`{"month":"{{ .Slot }}","n":[1,2.50]}`), Expect: []int{200, 202}}
	body := http
	body.HTTP = &job.HTTP{URL: "http://host", Body: "a: b\n---\n\ttab"}
	shell := everything
	shell.Command, shell.Shell = nil, "set -e\n\n  indented \\\n\ttab\n# comment: yes\n"
	shell.Schedule, shell.At = nil, []time.Time{*instant("2026-05-01T12:00:00Z"), *instant("2026-05-01T12:00:00.25+05:30")}
	handler := everything
	handler.Command, handler.Env, handler.Dir, handler.Handler = nil, nil, "", "billing.Charge"
	return map[string]job.Spec{"command": everything, "http": http, "body": body, "shell": shell, "handler": handler,
		"least": {Shell: "true"}, "no-retry": {Shell: "true", Retry: &job.Retry{Max: 0}},
		"text payload": {Shell: "true", Payload: json.RawMessage(`"yes"`)}}
}

// same compares two specs as they are used: JSON by its meaning, instants by the moment.
var same = cmp.Options{
	cmp.Transformer("json", func(raw json.RawMessage) any {
		if len(raw) == 0 {
			return nil
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return err.Error()
		}
		return v
	}),
}

func TestASpecSurvivesTheFileThatItIsCheckedAs(t *testing.T) {
	for name, spec := range specs() {
		t.Run(name, func(t *testing.T) {
			got, err := checkSpec("x", spec, map[string]job.LimitSpec{"database": {Concurrent: 1}, "licence": {Rate: job.Rate{Count: 1, Per: time.Hour}}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(spec.WithDefaults(), got, same); diff != "" {
				t.Errorf("-given +stored:\n%s", diff)
			}
		})
	}
}

// Texts of all kinds come through unchanged, or are refused.
func TestTextsSurviveTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		spec := job.Spec{Description: text, Command: []string{"x", text}, Env: map[string]string{"A": text}, Workers: map[string]string{"k": text}}
		got, err := checkSpec("x", spec, nil)
		var invalid *api.Invalid
		switch {
		case errors.As(err, &invalid):
		case err != nil:
			t.Fatal(err)
		default:
			if diff := cmp.Diff(spec.WithDefaults(), got, same); diff != "" {
				t.Errorf("-given +stored:\n%s", diff)
			}
		}
	})
}

// TestAJobAsAWholeIsBounded as in a file, and told as what it is.
func TestAJobAsAWholeIsBounded(t *testing.T) {
	env := map[string]string{}
	for i := range 6 {
		env[strconv.Itoa(i)] = strings.Repeat("x", 60_000)
	}
	if _, err := checkSpec("x", job.Spec{Shell: "true", Env: env}, nil); err != nil {
		t.Errorf("six values of 60 KB: got %v", err)
	}
	env["6"] = env["0"]
	if _, err := checkSpec("x", job.Spec{Shell: "true", Env: env}, nil); !errors.Is(err, job.ErrTooLarge) {
		t.Errorf("seven values of 60 KB: got %.200v, want %v", err, job.ErrTooLarge)
	}
}

func TestMistakesNameTheField(t *testing.T) {
	for field, spec := range map[string]job.Spec{
		"command":                 {},
		"schedule[1]":             {Shell: "true", Schedule: []string{"@daily", "99 * * * *"}},
		"schedule":                {Shell: "true", Schedule: []string{"99 * * * *"}},
		"timezone":                {Shell: "true", Timezone: "Mars"},
		"dst.gap":                 {Shell: "true", DST: &job.DST{Gap: "hop"}},
		"exclude[0]":              {Shell: "true", Schedule: []string{"@daily"}, Exclude: []string{"xmas"}},
		"missed":                  {Shell: "true", Missed: "some"},
		"retry.max":               {Shell: "true", Retry: &job.Retry{Max: 1_000_000}},
		"retry.jitter":            {Shell: "true", Retry: &job.Retry{Max: 1, Jitter: "half"}},
		"timeout":                 {Shell: "true", Timeout: -1},
		"shell":                   {Command: []string{"a"}, Shell: "b"},
		"http.url":                {HTTP: &job.HTTP{URL: "ftp://x"}},
		"http.headers.bad header": {HTTP: &job.HTTP{URL: "http://x", Headers: map[string]string{"bad header": "x"}}},
		"http.body":               {HTTP: &job.HTTP{URL: "http://x", Body: "Hello {{name}}"}},
		"http.json.a[1]":          {HTTP: &job.HTTP{URL: "http://x", JSON: json.RawMessage(`{"a":[1,"{{ .Slot.Foo }}"]}`)}},
		"http.expect[0]":          {HTTP: &job.HTTP{URL: "http://x", Expect: []int{1000}}},
		"env.A=B":                 {Shell: "true", Env: map[string]string{"A=B": "x"}},
		"priority":                {Shell: "true", Priority: 1_000_000},
		"limits[0]":               {Shell: "true", Limits: []string{"database"}},
		"breaker.window":          {Shell: "true", Breaker: &job.Breaker{Window: -1}},
	} {
		_, err := checkSpec("x", spec, nil)
		var invalid *api.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want *api.Invalid", field, err)
			continue
		}
		if got := invalid.Errors[0].Field; got != field {
			t.Errorf("got field %s for %q, want %s", got, invalid.Errors[0].Message, field)
		}
	}
}

// TestRecordsAreHeldToWhatAJobFileMaySay: what a file may say is what the store's readers take, and no more.
func TestRecordsAreHeldToWhatAJobFileMaySay(t *testing.T) {
	for name, spec := range specs() {
		if err := new(spec.WithDefaults()).Check(); err != nil {
			t.Errorf("%s: got %v for what a file may say", name, err)
		}
	}
	const year, second = job.Duration(365 * 24 * time.Hour), job.Duration(time.Second)
	for field, say := range map[string]struct {
		put       func(s *job.Spec, v int)
		low, high int
	}{
		"every":                 {func(s *job.Spec, v int) { s.Every = job.Duration(v) }, int(second), int(10 * year)},
		"jitter":                {func(s *job.Spec, v int) { s.Jitter = job.Duration(v) * 1_000_000 }, 1, 24*60*60*1000 - 1},
		"missed_window":         {func(s *job.Spec, v int) { s.MissedWindow = job.Duration(v) }, 1, int(10 * year)},
		"missed_limit":          {func(s *job.Spec, v int) { s.MissedLimit = v }, 1, 10_000},
		"timeout":               {func(s *job.Spec, v int) { s.Timeout = job.Duration(v) }, 1, int(10 * year)},
		"kill_grace":            {func(s *job.Spec, v int) { s.KillGrace = job.Duration(v) }, 1, int(3600 * second)},
		"heartbeat":             {func(s *job.Spec, v int) { s.Heartbeat = job.Duration(v) }, int(second), int(10 * year)},
		"priority":              {func(s *job.Spec, v int) { s.Priority = v }, -1000, 1000},
		"retry.max":             {func(s *job.Spec, v int) { s.Retry = &job.Retry{Max: v} }, 0, 1000},
		"retry.min":             {func(s *job.Spec, v int) { s.Retry = &job.Retry{Max: 1, Min: job.Duration(v)} }, 1, int(10 * year)},
		"retry.max_delay":       {func(s *job.Spec, v int) { s.Retry = &job.Retry{Max: 1, Min: 1, MaxDelay: job.Duration(v)} }, 1, int(10 * year)},
		"breaker.window":        {func(s *job.Spec, v int) { s.Breaker = &job.Breaker{Window: v} }, 1, 1000},
		"breaker.open_for":      {func(s *job.Spec, v int) { s.Breaker = &job.Breaker{OpenFor: job.Duration(v)} }, 1, int(10 * year)},
		"breaker.failure_ratio": {func(s *job.Spec, v int) { s.Breaker = &job.Breaker{FailureRatio: float64(v) / 100} }, 1, 100},
		"resources.memory":      {func(s *job.Spec, v int) { s.Resources = &job.Resources{Memory: job.Size(v) << 20} }, 1, 1 << 30},
		"resources.cpu":         {func(s *job.Spec, v int) { s.Resources = &job.Resources{CPU: job.CPUs(v)} }, 10, 10_000_000},
		"resources.pids":        {func(s *job.Spec, v int) { s.Resources = &job.Resources{PIDs: v} }, 1, 1 << 22},
	} {
		try := func(v int) (file, record error) {
			spec := job.Spec{Shell: "true"}
			say.put(&spec, v)
			_, file = checkSpec("x", spec, nil)
			return file, new(spec.WithDefaults()).Check()
		}
		for _, v := range []int{say.low, say.high} {
			if file, record := try(v); file != nil || record != nil {
				t.Errorf("%s %d: a file gets %v, a record %v, want neither refused", field, v, file, record)
			}
		}
		for _, v := range []int{say.high + 1, -1 - 1000*1000} {
			if file, record := try(v); file == nil || record == nil {
				t.Errorf("%s %d: a file gets %v, a record %v, want both refused", field, v, file, record)
			}
		}
	}
}
