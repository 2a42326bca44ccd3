package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// What a job file may say, in its words, and what is made of it.
func TestDefinitionsAreSpeltAsInJobFiles(t *testing.T) {
	for name, tc := range map[string]struct{ spelt, plain string }{
		"one expression": {`{"schedule":"30 2 * * *","shell":"true"}`, `{"schedule":["30 2 * * *"],"shell":"true"}`},
		"one instant":    {`{"at":"2030-06-01T12:00:00+02:00","shell":"true"}`, `{"at":["2030-06-01T12:00:00+02:00"],"shell":"true"}`},
		"one of each": {
			`{"schedule":"@daily","exclude":"2026-12-25","limits":"database","notify":{"ops":{"url":"ntfy://x/y","when":"failure"}},"http":{"url":"http://x","expect":204}}`,
			`{"schedule":["@daily"],"exclude":["2026-12-25"],"limits":["database"],"notify":{"ops":{"url":"ntfy://x/y","when":["failure"]}},"http":{"url":"http://x","expect":[204]}}`,
		},
		"words": {
			`{"command":["sleep", 1.50, true],"env":{"PORT":8080,"DEBUG":false,"A":"<&>"},"workers":{"rack":7},"resources":{"cpu":0.5}}`,
			`{"command":["sleep","1.50","true"],"env":{"PORT":"8080","DEBUG":"false","A":"<&>"},"workers":{"rack":"7"},"resources":{"cpu":"0.5"}}`,
		},
		"headers": {`{"http":{"url":"http://x","headers":{"X-N":12345678901234567890}}}`, `{"http":{"url":"http://x","headers":{"X-N":"12345678901234567890"}}}`},
		"data stays as it is": {
			`{"schedule":"@daily","http":{"url":"http://x","expect":200,"json":{"z":"<","expect":1,"a":1.0}},"payload":{"schedule":"x","at":[1]}}`,
			`{"schedule":["@daily"],"http":{"url":"http://x","expect":[200],"json":{"z":"<","expect":1,"a":1.0}},"payload":{"schedule":"x","at":[1]}}`,
		},
		"spans, rates and sizes": {
			`{"every":"+1.m","timeout":"1h30m","kill_grace":"5μs","rate":"10/s","retry":{"max":3,"backoff":"linear","min":".5s"},"resources":{"memory":"1.5Gi","cpu":"500m"},"shell":"x"}`,
			`{"every":"1m","timeout":"1h30m","kill_grace":"5µs","rate":"10/s","retry":{"max":3,"backoff":"linear","min":"500ms"},"resources":{"memory":"1536MiB","cpu":"0.5"},"shell":"x"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, newFake().backend())
			put := func(body string) string {
				t.Helper()
				a := ask(t, srv, "PUT", "/v1/jobs/new", body)
				if a.status >= 300 {
					t.Fatalf("%s was answered with %d %s", body, a.status, a.text)
				}
				spec, err := json.Marshal(decode[api.JobView](t, a).Spec)
				if err != nil {
					t.Fatal(err)
				}
				return string(spec)
			}
			if diff := cmp.Diff(put(tc.plain), put(tc.spelt)); diff != "" {
				t.Errorf("-plain +spelt:\n%s", diff)
			}
		})
	}
}

func TestAnswersHaveOneSpelling(t *testing.T) {
	srv := serve(t, newFake().backend())
	ask(t, srv, "PUT", "/v1/jobs/new", `{"schedule":"@daily","shell":"true"}`)
	var v struct {
		Spec map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(ask(t, srv, "GET", "/v1/jobs/new", "").text), &v); err != nil {
		t.Fatal(err)
	}
	if got, want := string(v.Spec["schedule"]), `["@daily"]`; got != want {
		t.Errorf("schedule: got %s, want %s", got, want)
	}
}

// The document says which types there are for what may be spelt in several ways.
func TestSpellingsAreDocumented(t *testing.T) {
	type schema struct {
		Type                 any
		Format               string
		Items                *schema
		AdditionalProperties any
		Properties           map[string]schema
	}
	var doc struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal([]byte(ask(t, serve(t, newFake().backend()), "GET", "/v1/openapi.json", "").text), &doc); err != nil {
		t.Fatal(err)
	}
	all := doc.Components.Schemas
	spec := all["Spec"].Properties
	list, word := []any{"array", "string", "null"}, []any{"string", "number", "boolean"}
	for name, tc := range map[string]struct{ got, want any }{
		"schedule": {spec["schedule"].Type, list},
		"at":       {spec["at"].Type, list},
		"its text": {spec["at"].Format, "date-time"},
		"exclude":  {spec["exclude"].Type, list},
		"limits":   {spec["limits"].Type, list},
		"when":     {all["Notifier"].Properties["when"].Type, list},
		"expect":   {all["HTTP"].Properties["expect"].Type, []any{"array", "integer", "null"}},
		"cpu":      {all["Resources"].Properties["cpu"].Type, []any{"string", "number"}},
		"command":  {spec["command"].Items.Type, word},
		"env":      {spec["env"].AdditionalProperties.(map[string]any)["type"], word},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
