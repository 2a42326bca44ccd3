package config

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func moment(text string) *time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &t
}

// everything has every key of a job, except keys that cannot stand together with others.
var everything = job.Spec{
	Description: "yes: \"no\" # 1\nline", Schedule: []string{"30 2 * * *", "@daily"}, Timezone: "Europe/Berlin",
	DST: &job.DST{Gap: "skip", Fold: "both"}, Start: moment("2026-01-01T00:00:00+01:00"), End: moment("2027-01-01T00:00:00.5Z"),
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

func everySpec() map[string]job.Spec {
	http := everything
	http.Command, http.Env, http.Dir = nil, nil, ""
	http.Schedule, http.Every = nil, job.Duration(time.Minute)
	http.HTTP = &job.HTTP{URL: "https://host/{{ .Slot }}?a=b&c=${env:X}", Method: "PUT", Headers: map[string]string{"Authorization": "Bearer ${env:T}", "X-Y": "1"},
		JSON: json.RawMessage(`{"month":"{{ .Slot }}","n":[1,2.50]}`), Expect: []int{200, 202}}
	body := http
	body.HTTP = &job.HTTP{URL: "http://host", Body: "a: b\n---\n\ttab"}
	shell := everything
	shell.Command, shell.Shell = nil, "set -e\n\n  indented \\\n\ttab\n# comment: yes\n"
	shell.Schedule, shell.At = nil, []time.Time{*moment("2026-05-01T12:00:00Z"), *moment("2026-05-01T12:00:00.25+05:30")}
	handler := everything
	handler.Command, handler.Env, handler.Dir, handler.Handler = nil, nil, "", "billing.Charge"
	return map[string]job.Spec{"command": everything, "http": http, "body": body, "shell": shell, "handler": handler,
		"least": {Shell: "true"}, "no-retry": {Shell: "true", Retry: &job.Retry{Max: 0}},
		"text payload": {Shell: "true", Payload: json.RawMessage(`"yes"`)}}
}

// sameMeaning makes cmp compare JSON by its meaning, not by its text.
var sameMeaning = cmp.Options{
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

// nothing stands for a cluster without limits.
func nothing(string, string) (bool, error) { return false, nil }

func asJSON(t interface{ Fatal(...any) }, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestASpecSurvivesARequest(t *testing.T) {
	exists := func(kind, name string) (bool, error) {
		return kind == "limit" && (name == "database" || name == "licence"), nil
	}
	for name, spec := range everySpec() {
		t.Run(name, func(t *testing.T) {
			got, err := ParseJob("x", asJSON(t, spec), exists)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(spec.WithDefaults(), got, sameMeaning); diff != "" {
				t.Errorf("-given +read:\n%s", diff)
			}
			file, err := MarshalSet(map[string]job.Spec{"x": got}, map[string]job.LimitSpec{"database": {Concurrent: 1}, "licence": {Concurrent: 1}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, parse1(t, string(file)).Jobs["x"].Spec, sameMeaning); diff != "" {
				t.Errorf("-request +file:\n%s", diff)
			}
		})
	}
}

// A step that was read from the API has the keys of defaults, and may be written back.
func TestAStepSurvivesARequest(t *testing.T) {
	step := job.Spec{After: []job.After{{Job: "load"}}, Shell: "true"}.WithDefaults()
	got, err := ParseJob("x", asJSON(t, step), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(step, got, sameMeaning); diff != "" {
		t.Errorf("-given +read:\n%s", diff)
	}
	step.Missed = job.MissedAll
	if _, err := ParseJob("x", asJSON(t, step), nothing); err == nil {
		t.Error("a step with missed: all was accepted")
	}
}

// A request returns texts of all kinds unchanged, or refuses them.
func TestTextsSurviveARequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		spec := job.Spec{Description: text, Command: []string{"x", text}, Env: map[string]string{"A": text}, Workers: map[string]string{"k": text}}
		got, err := ParseJob("x", asJSON(t, spec), nothing)
		var mistakes Errors
		switch {
		case errors.As(err, &mistakes):
		case err != nil:
			t.Fatal(err)
		default:
			if diff := cmp.Diff(spec.WithDefaults(), got, sameMeaning); diff != "" {
				t.Errorf("-given +read:\n%s", diff)
			}
		}
	})
}

func TestALargeJobIsMarkedAsLarge(t *testing.T) {
	env := map[string]string{}
	for i := range 6 {
		env["V"+strconv.Itoa(i)] = strings.Repeat("x", 60_000)
	}
	if _, err := ParseJob("x", asJSON(t, job.Spec{Shell: "true", Env: env}), nothing); err != nil {
		t.Errorf("six values of 60 KB: got %v", err)
	}
	env["V6"] = env["V0"]
	payload := job.Spec{Handler: "x", Payload: json.RawMessage(`"` + strings.Repeat("x", maxPayload) + `"`)}
	for what, spec := range map[string]job.Spec{"seven values of 60 KB": {Shell: "true", Env: env}, "a payload": payload} {
		_, err := ParseJob("x", asJSON(t, spec), nothing)
		var mistakes Errors
		if !errors.As(err, &mistakes) || len(mistakes) != 1 || !mistakes[0].Large {
			t.Errorf("%s: got %.200v, want one mistake that is marked", what, err)
		}
	}
}

func TestMistakesHaveThePathOfTheirKey(t *testing.T) {
	for path, text := range map[string]string{
		"":                        `{"shell":"x"`,
		"command":                 `{}`,
		"schedule[1]":             `{"shell":"x","schedule":["@daily","99 * * * *"]}`,
		"schedule":                `{"shell":"x","schedule":"99 * * * *"}`,
		"timezone":                `{"shell":"x","timezone":"Mars"}`,
		"dst.gap":                 `{"shell":"x","dst":{"gap":"hop"}}`,
		"exclude[0]":              `{"shell":"x","schedule":"@daily","exclude":["xmas"]}`,
		"missed":                  `{"shell":"x","missed":"some"}`,
		"retry.max":               `{"shell":"x","retry":{"max":1000000}}`,
		"retry.jitter":            `{"shell":"x","retry":{"max":1,"jitter":"half"}}`,
		"retry.bakoff":            `{"shell":"x","retry":{"max":1,"bakoff":"linear"}}`,
		"timeout":                 `{"shell":"x","timeout":"1h","timeout":"1m"}`,
		"payload[0].a":            `{"shell":"x","payload":[{"a":1,"a":1}]}`,
		"every":                   `{"shell":"x","every":"0s"}`,
		"Every":                   `{"shell":"x","Every":"5s"}`,
		"shell":                   `{"command":["a"],"shell":"b"}`,
		"http.url":                `{"http":{}}`,
		"http.headers.bad header": `{"http":{"url":"http://x","headers":{"bad header":"x"}}}`,
		"http.body":               `{"http":{"url":"http://x","body":"Hello {{name}}"}}`,
		"http.json.a[1]":          `{"http":{"url":"http://x","json":{"a":[1,"{{ .Slot.Foo }}"]}}}`,
		"http.expect[0]":          `{"http":{"url":"http://x","expect":[1000]}}`,
		"env.A=B":                 `{"shell":"x","env":{"A=B":"x"}}`,
		"priority":                `{"shell":"x","priority":1000000}`,
		"limits[0]":               `{"shell":"x","limits":["database"]}`,
		"notify":                  `{"shell":"x","notify":"ops"}`,
		"notify.ops.url":          `{"shell":"x","notify":{"ops":{}}}`,
		"breaker.window":          `{"shell":"x","breaker":{"window":-1}}`,
		"start":                   `{"shell":"x","start":"now"}`,
	} {
		_, err := ParseJob("x", []byte(text), nothing)
		var mistakes Errors
		if !errors.As(err, &mistakes) {
			t.Errorf("%s: got %v, want Errors", text, err)
			continue
		}
		if got := mistakes[0]; got.Path != path || got.Hint == "" || got.Line != 0 {
			t.Errorf("%s: got path %q, line %d, hint %q; want path %q", text, got.Path, got.Line, got.Hint, path)
		}
	}
}

func TestNullCountsAsAbsent(t *testing.T) {
	got, err := ParseJob("x", []byte(`{"command":null,"shell":"x","timeout":null,"retry":{"max":1,"min":null},"payload":null,"breaker":null}`), nothing)
	want := job.Spec{Shell: "x", Retry: &job.Retry{Max: 1}}.WithDefaults()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = ParseJob("x", []byte(`{"http":{"url":"http://x","json":{"a":null}},"payload":[null]}`), nothing)
	if err != nil || string(got.Payload) != "[null]" || string(got.HTTP.JSON) != `{"a":null}` {
		t.Errorf("data: got %s and %+v, %v", got.Payload, got.HTTP, err)
	}
}

// Different spellings of a value have the same result.
func TestSpellings(t *testing.T) {
	for spelt, plain := range map[string]string{
		`{"schedule":"30 2 * * *","shell":"x"}`:          `{"schedule":["30 2 * * *"],"shell":"x"}`,
		`{"at":"2030-06-01T12:00:00+02:00","shell":"x"}`: `{"at":["2030-06-01T12:00:00+02:00"],"shell":"x"}`,
		`{"schedule":"@daily","exclude":"2026-12-25","notify":{"ops":{"url":"ntfy://x/y","when":"failure"}},"http":{"url":"http://x","expect":204}}`:                `{"schedule":["@daily"],"exclude":["2026-12-25"],"notify":{"ops":{"url":"ntfy://x/y","when":["failure"]}},"http":{"url":"http://x","expect":[204]}}`,
		`{"command":["sleep", 1.50, true],"env":{"PORT":8080,"DEBUG":false,"A":"<&>"},"workers":{"rack":7},"resources":{"cpu":0.5}}`:                                `{"command":["sleep","1.50","true"],"env":{"PORT":"8080","DEBUG":"false","A":"<&>"},"workers":{"rack":"7"},"resources":{"cpu":"0.5"}}`,
		`{"http":{"url":"http://x","headers":{"X-N":12345678901234567890}}}`:                                                                                        `{"http":{"url":"http://x","headers":{"X-N":"12345678901234567890"}}}`,
		`{"every":"+1.m","timeout":"1h30m","kill_grace":"5μs","rate":"10/s","retry":{"max":3,"min":".5s"},"resources":{"memory":"1.5Gi","cpu":"500m"},"shell":"x"}`: `{"every":"1m","timeout":"1h30m","kill_grace":"5µs","rate":"10/s","retry":{"max":3,"min":"500ms"},"resources":{"memory":"1536MiB","cpu":"0.5"},"shell":"x"}`,
	} {
		one, err := ParseJob("x", []byte(spelt), nothing)
		other, err2 := ParseJob("x", []byte(plain), nothing)
		if diff := cmp.Diff(other, one); diff != "" || err != nil || err2 != nil {
			t.Errorf("%s: %v, %v (-plain +spelt):\n%s", spelt, err, err2, diff)
		}
	}
}

// An answer to a request must not repeat its values, because they may be secrets.
func TestMistakesOfARequestDoNotRepeatItsValues(t *testing.T) {
	for _, text := range []string{
		`{"shell":["hunter2"]}`, `{"command":"hunter2"}`, `{"shell":"x","env":"hunter2"}`, `{"shell":"x","env":{"A":["hunter2"]}}`,
		`{"http":{"url":"http://x","headers":["hunter2"]}}`, `{"http":"hunter2"}`, `{"shell":"x","retry":"hunter2"}`,
		`{"http":{"url":"http://x","body":{"hunter2":1}}}`, `{"shell":"x","priority":"hunter2"}`,
	} {
		if _, err := ParseJob("x", []byte(text), nothing); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestARequestNestsAsDeeplyAsAFile(t *testing.T) {
	for depth := 50; depth < 70; depth++ {
		payload := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		_, request := ParseJob("a", []byte(`{"shell":"x","payload":`+payload+`}`), nothing)
		_, file := ParseJobs("jobs.yaml", []byte(`{"jobs":{"a":{"shell":"x","payload":`+payload+`}}}`))
		if (request == nil) != (file == nil) {
			t.Errorf("depth %d: a request gets %v, a file %v", depth, request, file)
		}
	}
}

func TestErrorsOfExistsAreReturned(t *testing.T) {
	down := errors.New("down")
	_, err := ParseJob("x", []byte(`{"shell":"x","limits":["a"]}`), func(string, string) (bool, error) { return false, down })
	if !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
}

func TestLimitsOfRequests(t *testing.T) {
	got, err := ParseLimit("a", []byte(`{"concurrent":4,"rate":"100/s"}`))
	if want := (job.LimitSpec{Concurrent: 4, Rate: job.Rate{Count: 100, Per: time.Second}}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for text, path := range map[string]string{
		`{}`: "concurrent", `{"concurrent":-1}`: "concurrent", `{"rate":10}`: "rate", `{"rate":"10/d"}`: "rate", `{"rate":"100001/s"}`: "rate",
		`{"concurent":1}`: "concurent", `[]`: "", `{"rate":"1/s","rate":"2/s"}`: "rate", `null`: "",
	} {
		_, err := ParseLimit("a", []byte(text))
		var mistakes Errors
		if !errors.As(err, &mistakes) || mistakes[0].Path != path {
			t.Errorf("%s: got %v, want a mistake at %q", text, err, path)
		}
	}
}
