package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestOpenAPI(t *testing.T) {
	srv := serve(t, newFake().backend())
	a := ask(t, srv, "GET", "/v1/openapi.json", "")
	if a.status != 200 {
		t.Fatalf("status: got %d, want 200", a.status)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct {
				Properties           map[string]any
				AdditionalProperties any
			}
		}
	}
	var raw struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := errors.Join(json.Unmarshal([]byte(a.text), &doc), json.Unmarshal([]byte(a.text), &raw)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("openapi: got %q, want 3.1", doc.OpenAPI)
	}
	want := []string{
		"get /v1/cluster", "get /v1/jobs", "get /v1/jobs/{job}", "put /v1/jobs/{job}", "delete /v1/jobs/{job}",
		"get /v1/jobs/{job}/next", "get /v1/jobs/{job}/month", "get /v1/jobs/{job}/workflow", "get /v1/jobs/{job}/workflow/runs", "get /v1/jobs/{job}/backfill", "post /v1/jobs/{job}/backfill",
		"delete /v1/jobs/{job}/backfill", "get /v1/backfills", "get /v1/jobs/{job}/explain", "post /v1/jobs/{job}/runs", "post /v1/jobs/{job}/pause",
		"post /v1/jobs/{job}/resume", "post /v1/pause", "post /v1/resume", "get /v1/runs", "post /v1/runs",
		"get /v1/runs/{job}/{slot}", "post /v1/runs/{job}/{slot}/cancel", "post /v1/runs/{job}/{slot}/retry",
		"post /v1/runs/{job}/{slot}/approve", "post /v1/runs/{job}/{slot}/reject",
		"get /v1/limits", "put /v1/limits/{limit}", "delete /v1/limits/{limit}", "get /v1/runs/{job}/{slot}/logs", "get /v1/workers", "get /v1/audit", "get /v1/tokens", "post /v1/tokens", "post /v1/tokens/{token}/rotate", "delete /v1/tokens/{token}", "get /v1/overview", "get /v1/find/jobs", "get /v1/calendars", "get /v1/gantt", "get /v1/load", "get /v1/live", "get /v1/events", "get /v1/timeline", "get /v1/incident", "post /v1/accept-restored-store", "post /v1/import", "post /v1/verify", "post /v1/doctor", "post /v1/login-codes", "get /v1/login", "post /v1/hooks/{hook}",
	}
	for _, path := range []string{"/v1/jobs/{job}/workflow", "/v1/jobs/{job}/workflow/runs"} {
		if doc.Paths[path]["get"].Responses["409"] == nil {
			t.Errorf("GET %s: the answer for an unreadable job, 409, is missing", path)
		}
	}
	n := 0
	for _, methods := range doc.Paths {
		n += len(methods)
	}
	if n != len(want) {
		t.Errorf("operations: got %d, want %d", n, len(want))
	}
	for _, op := range want {
		method, path, _ := strings.Cut(op, " ")
		if doc.Paths[path][method].OperationID == "" {
			t.Errorf("the document lacks %s", op)
		}
	}
	// Every reference must lead to an existing schema.
	for _, part := range strings.Split(a.text, `"$ref":"`)[1:] {
		ref, _, _ := strings.Cut(part, `"`)
		if name := strings.TrimPrefix(ref, "#/components/schemas/"); doc.Components.Schemas[name].Properties == nil {
			t.Errorf("reference %s leads nowhere", ref)
		}
	}
	schemas := doc.Components.Schemas
	if schemas["Spec"].AdditionalProperties != false || schemas["JobView"].AdditionalProperties != nil {
		t.Errorf("requests must be strict and answers open, got %v and %v", schemas["Spec"].AdditionalProperties, schemas["JobView"].AdditionalProperties)
	}
	// A definition in a request has the schema of job files.
	for name, kind := range map[string]string{"Spec": api.KindJob, "LimitSpec": api.KindLimit} {
		var got, want any
		if err := errors.Join(json.Unmarshal(raw.Components.Schemas[name], &got), json.Unmarshal(config.RequestSchema(kind), &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("schema %s (-of job files +of requests):\n%s", name, diff)
		}
		ref := doc.Paths["/v1/"+kind+"s/{"+kind+"}"]["put"].RequestBody.Content["application/json"].Schema.Ref
		if ref != "#/components/schemas/"+name {
			t.Errorf("the body of put-%s refers to %s", kind, ref)
		}
	}
	for _, path := range []string{"/v1/jobs/{job}/runs", "/v1/runs"} {
		if r := doc.Paths[path]["post"].Responses; r["200"] == nil || r["201"] == nil {
			t.Errorf("POST %s must document 200 and 201", path)
		}
	}
	if a := ask(t, srv, "GET", "/v1/docs", ""); a.status != 404 {
		t.Errorf("the page that loads scripts from the internet: got %d, want 404", a.status)
	}
}

// The schema of every object in a request refuses unknown fields. If a field were ignored, the job would do something else than
// the client wants.
func TestRequestsAreStrict(t *testing.T) {
	var doc map[string]any
	a := ask(t, serve(t, newFake().backend()), "GET", "/v1/openapi.json", "")
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	seen := map[string]bool{}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(name, one)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				ref = strings.TrimPrefix(ref, "#/components/schemas/")
				if !seen[ref] {
					seen[ref] = true
					walk(ref, schemas[ref])
				}
				return
			}
			if v["properties"] != nil && v["type"] == "object" && v["additionalProperties"] != false {
				t.Errorf("schema %s takes fields that nobody knows", name)
			}
			for _, one := range v {
				walk(name, one)
			}
		}
	}
	for _, methods := range doc["paths"].(map[string]any) {
		for _, op := range methods.(map[string]any) {
			walk("of a body", op.(map[string]any)["requestBody"])
		}
	}
	for _, name := range []string{"Spec", "LimitSpec", "RunRequest", "AdHocRequest", "ReasonRequest"} {
		if !seen[name] {
			t.Errorf("no request may hold a %s, as far as is seen", name)
		}
	}
}
