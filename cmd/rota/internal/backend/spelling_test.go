package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// shape is a JSON Schema, as far as it says of which types a value may be.
type shape struct {
	Ref        string           `json:"$ref"`
	Type       any              `json:"type"`
	Enum       []any            `json:"enum"`
	AnyOf      []shape          `json:"anyOf"`
	Items      *shape           `json:"items"`
	Properties map[string]shape `json:"properties"`
	Values     json.RawMessage  `json:"additionalProperties"`
}

// types lists what a value at each place below s may be, such as "string" at "http.headers.*". named are what references mean.
func (s shape) types(named map[string]shape, at string, found map[string][]string) {
	add := func(kind string) {
		if kind != "null" && !slices.Contains(found[at], kind) {
			found[at] = append(found[at], kind)
			slices.Sort(found[at])
		}
	}
	if s.Ref != "" {
		s = named[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	switch kind := s.Type.(type) {
	case string:
		add(kind)
	case []any:
		for _, k := range kind {
			add(k.(string))
		}
	case nil:
		if s.Enum != nil {
			add("string")
		}
	}
	for _, one := range s.AnyOf {
		one.types(named, at, found)
	}
	if s.Items != nil {
		s.Items.types(named, at+"[]", found)
	}
	for name, property := range s.Properties {
		property.types(named, at+"."+name, found)
	}
	var values shape
	if len(s.Values) > 0 && json.Unmarshal(s.Values, &values) == nil {
		values.types(named, at+".*", found)
	}
}

// A job may be put to the API as it stands in a file: every value may have the same types. Only names of notifiers mean
// something in files alone.
func TestTheAPITakesTheTypesOfJobFiles(t *testing.T) {
	var files struct {
		Defs map[string]shape `json:"$defs"`
		shape
	}
	var one shape // job
	if err := json.Unmarshal(config.Schema(), &files); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(files.Properties["jobs"].Values, &one); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct{ Schemas map[string]shape }
	}
	b := &Backend{}
	srv := api.New(api.DefaultConfig(), api.Backend{Reader: b, Editor: b}, hclog.NewNullLogger())
	w := httptest.NewRecorder()
	srv.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/openapi.json", nil))
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	file, request := map[string][]string{}, map[string][]string{}
	one.types(files.Defs, "job", file)
	doc.Components.Schemas["Spec"].types(doc.Components.Schemas, "job", request)
	if len(file) < 50 {
		t.Fatalf("the schema of job files has %d places", len(file))
	}
	file["job.notify"] = []string{"object"}
	delete(file, "job.notify[]")
	for at, kinds := range file {
		if !slices.Equal(kinds, request[at]) {
			t.Errorf("%s may be %v in a file, and %v in a request", at, kinds, request[at])
		}
	}
}

// checkingEditor takes what a replica would take.
type checkingEditor struct{ api.Editor }

func (checkingEditor) PutJob(_ context.Context, name string, spec job.Spec, _ api.Precondition, _ string) (api.JobView, bool, error) {
	_, err := checkSpec(name, spec, nil)
	return api.JobView{}, false, err
}

// What says nothing in a file says nothing to the API, and is refused by both: a job whose interval was a zero would never run.
func TestTheAPIRefusesTheZerosThatJobFilesRefuse(t *testing.T) {
	srv := api.New(api.DefaultConfig(), api.Backend{Reader: &Backend{}, Editor: checkingEditor{}}, hclog.NewNullLogger())
	zeros := []any{"", "0s", 0, []any{}, map[string]any{}}
	for _, at := range []string{
		"description", "schedule", "every", "at", "timezone", "dst", "start", "end", "exclude", "jitter", "missed", "missed_window",
		"missed_limit", "overlap", "delivery", "timeout", "kill_grace", "heartbeat", "priority", "workers", "limits", "rate", "breaker",
		"breaker.window", "breaker.failure_ratio", "breaker.open_for", "retry.min", "retry.max_delay", "command", "env", "dir",
		"resources", "resources.memory", "resources.cpu", "resources.pids", "notify.ops.when", "http.method", "http.headers",
		"http.expect",
	} {
		for _, zero := range zeros {
			j := map[string]any{"shell": "true"}
			switch family, name, nested := strings.Cut(at, "."); {
			case family == "http":
				j = map[string]any{"http": map[string]any{"url": "http://127.0.0.1:1", name: zero}}
			case family == "retry":
				j["retry"] = map[string]any{"max": 1, name: zero}
			case family == "notify":
				j["notify"] = map[string]any{"ops": map[string]any{"url": "generic://x", "when": zero}}
			case at == "command":
				j = map[string]any{"command": zero}
			case nested:
				j[family] = map[string]any{name: zero}
			default:
				j[at] = zero
			}
			body, err := json.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			_, inFile := config.ParseJobs("jobs.yaml", []byte(`{"version": 1, "jobs": {"j": `+string(body)+`}}`))
			request := httptest.NewRequest("PUT", "http://localhost/v1/jobs/j", bytes.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			srv.Handler().ServeHTTP(w, request)
			if taken := w.Code < 300; taken != (inFile == nil) {
				t.Errorf("%s: the API answers %d %s, and in a file: %v", body, w.Code, w.Body, inFile)
			}
		}
	}
}
