package web

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestReferenceDescribesOperations(t *testing.T) {
	var doc openAPI
	if err := json.Unmarshal([]byte(`{"paths": {
		"/v1/jobs/{job}": {"put": {"operationId": "put-job", "summary": "Create or replace a job",
			"parameters": [{"name": "job", "in": "path", "required": true, "schema": {"type": "string"}},
				{"name": "n", "in": "query", "required": true, "schema": {"type": "integer", "default": 10, "minimum": 1, "maximum": 1000}}],
			"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Spec"}}}},
			"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobView"}}}}, "409": {}, "403": {}}}},
		"/v1/jobs": {"get": {"operationId": "list-jobs", "responses": {"204": {}}}},
		"/v1/events": {"get": {"operationId": "watch", "responses": {"200": {"content": {"text/event-stream": {"schema": {}}}}}}}},
		"components": {"schemas": {"JobView": {"description": "A job", "properties": {
			"next": {"type": ["string", "null"], "format": "date-time", "description": "The next slot"},
			"runs": {"type": "array", "items": {"$ref": "#/components/schemas/RunView"}},
			"last": {"anyOf": [{"$ref": "#/components/schemas/LastRun"}, {"type": "null"}]},
			"state": {"type": "string", "enum": ["ok", "new"]}}}}}}`), &doc); err != nil {
		t.Fatal(err)
	}
	d := referenceOf(&doc)
	if d.Count != 3 || len(d.Groups) != 2 || d.Groups[0].Name != "cluster" || len(d.Groups[1].Calls) != 2 {
		t.Fatalf("got %d operations in %+v", d.Count, d.Groups)
	}
	put := d.Groups[1].Calls[1]
	for got, want := range map[string]string{
		put.Example:                              `curl -H "Authorization: Bearer $TOKEN" -X PUT -H "Content-Type: application/json" -d @body.json "$ROTA_SERVER/v1/jobs/{job}?n=…"`,
		put.Errors:                               "403, 409",
		put.Parameters[1].Words:                  "from 1 to 1000; default 10",
		fmt.Sprint(put.Body, put.Answers):        "{ Spec #type-Spec } [{200 { JobView #type-JobView }}]",
		fmt.Sprint(d.Groups[0].Calls[0].Answers): "[{200 { text/event-stream  }}]",
		fmt.Sprint(d.Schemas[0].Fields): "[{last   { LastRun #type-LastRun  or null} false} {next  The next slot { time, RFC 3339 or null  } false} " +
			"{runs   {list of  RunView #type-RunView } false} {state  one of ok, new { string  } false}]",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
