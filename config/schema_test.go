package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(t *testing.T) *jsonschema.Schema { return compile(t, Schema()) }

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rota.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("rota.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// instances returns the documents of a file in the form in which an editor validates them.
func instances(t *testing.T, text []byte) []any {
	t.Helper()
	c := &collector{}
	src := &source{name: "x", text: text}
	r := &reader{src: src, c: c}
	var out []any
	for _, root := range documents(src, c) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.appendJSON(nil, root, "file")))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// Generators of clients read the schemas of requests. A parameter has keys that are also keywords, such as enum and type.
func TestRequestSchemasAreSchemas(t *testing.T) {
	for kind, good := range map[string]string{
		"job":   `{"command":["true"],"params":{"env":{"type":"string","enum":["stage","prod"],"default":"stage"}}}`,
		"limit": `{"concurrent":1}`,
	} {
		schema := compile(t, RequestSchema(kind))
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(good))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestSchemaIsStable(t *testing.T) { golden(t, "testdata/schema.json", Schema()) }

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	schema := compileSchema(t)
	paths, _ := filepath.Glob("testdata/good/*[^s]") // not the .ics files
	if len(paths) == 0 {
		t.Fatal("no files")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range instances(t, text) {
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func TestSchemaRefusesBadFiles(t *testing.T) {
	schema := compileSchema(t)
	for name, text := range map[string]string{
		"unknown key":       `jobs: {a: {shell: x, shel: y}}`,
		"unknown top key":   `{jobs: {}, job: {}}`,
		"no jobs":           `{version: 1}`,
		"only defaults":     `{version: 1, defaults: {timeout: 1m}}`,
		"defaults of none":  `{defaults: {notify: [ops]}, notifiers: {ops: {url: "ntfy://x/y"}}}`,
		"version":           `{version: 2, jobs: {}}`,
		"no action":         `jobs: {a: {every: 1m}}`,
		"two actions":       `jobs: {a: {shell: x, handler: y}}`,
		"two schedules":     `jobs: {a: {shell: x, every: 1m, schedule: "@daily"}}`,
		"duration":          `jobs: {a: {shell: x, timeout: "10"}}`,
		"negative duration": `jobs: {a: {shell: x, timeout: -1s}}`,
		"number":            `jobs: {a: {shell: x, timeout: 10}}`,
		"policy":            `jobs: {a: {shell: x, overlap: forbid}}`,
		"name":              `jobs: {A_b: {shell: x}}`,
		"reserved name":     `jobs: {adhoc: {shell: x}}`,
		"command":           `jobs: {a: {command: ls}}`,
		"default action":    `{defaults: {shell: x}, jobs: {}}`,
		"date":              `jobs: {a: {shell: x, every: 1h, exclude: ["25.12."]}}`,
		"step with slots":   `jobs: {a: {shell: x, every: 1h}, b: {shell: x, every: 1h, after: a}}`,
		"no limit":          `limits: {a: {}}`,
		"rate":              `jobs: {a: {shell: x, rate: 10}}`,
		"ratio":             `jobs: {a: {shell: x, breaker: {failure_ratio: 1.5}}}`,
		"status":            `jobs: {a: {http: {url: "http://x", expect: [20]}}}`,
		"no url":            `jobs: {a: {http: {}}}`,
		"occasion":          `{jobs: {}, notifiers: {ops: {url: "ntfy://x/y", when: [failed]}}}`,
		"no notifier url":   `{jobs: {}, notifiers: {ops: {when: failure}}}`,
		"notifier name":     `{jobs: {}, notifiers: {A_b: {url: "ntfy://x/y"}}}`,
		"no notifiers":      `jobs: {a: {shell: x, notify: []}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range instances(t, []byte(text)) {
				if err := schema.Validate(v); err == nil {
					t.Error("the schema accepts it")
				}
			}
			if _, err := ParseJobs("jobs.yaml", []byte(text)); err == nil {
				t.Error("ParseJobs accepts it")
			}
		})
	}
}

// A table has the fields of the type that it fills, in the same order. MarshalSet depends on the order.
func TestTablesHaveEveryField(t *testing.T) {
	for _, tc := range []struct {
		of   any
		keys []string
	}{
		{job.Spec{}, jobKeys.names()},
		{job.DST{}, dstKeys.names()},
		{job.Retry{}, retryKeys.names()},
		{job.Breaker{}, breakerKeys.names()},
		{job.HTTP{}, httpKeys.names()},
		{job.Resources{}, resourceKeys.names()},
		{job.Kubernetes{}, kubernetesKeys.names()},
		{job.LimitSpec{}, limitKeys.names()},
		{job.Notifier{}, notifierKeys.names()},
		{job.Calendar{}, calendarOfJobKeys.names()},
		{job.CalendarDays{}, calendarKeys.names()},
		{job.Hook{}, hookKeys.names()},
	} {
		var fields []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(tc.of)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, name)
		}
		if diff := cmp.Diff(fields, tc.keys); diff != "" {
			t.Errorf("%T (-fields +keys of its table):\n%s", tc.of, diff)
		}
	}
}
