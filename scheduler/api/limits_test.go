package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Limits implements api.Reader with one limit.
func (f *fake) Limits(context.Context) ([]api.LimitView, error) {
	return []api.LimitView{{Limit: job.Limit{Name: "database", Spec: job.LimitSpec{Concurrent: 4}}, Revision: 101, Held: 3}}, f.fail()
}

func (f *fake) putLimit(name string, text []byte, pre api.Precondition, by string) (any, bool, error) {
	var rev int64
	switch name {
	case "database":
		rev = 101
	case "filed":
		return nil, false, api.OwnedByFile(api.KindLimit, name, "a.yaml")
	}
	if !pre.Holds(rev) {
		return nil, false, fmt.Errorf("limit %s: %w", name, job.ErrConflict)
	}
	spec, err := config.ParseLimit(name, text)
	if err != nil {
		return nil, false, refused(err)
	}
	limit := job.Limit{Name: name, Origin: job.Origin{Kind: job.OriginAPI, Source: by}, Spec: spec}
	return api.LimitView{Limit: limit, Revision: 102}, rev == 0, nil
}

func (f *fake) deleteLimit(name string, pre api.Precondition) error {
	switch {
	case name != "database":
		return fmt.Errorf("limit %s: %w", name, job.ErrNotFound)
	case !pre.Holds(101):
		return fmt.Errorf("limit %s: %w", name, job.ErrConflict)
	}
	return nil
}

func TestLimits(t *testing.T) {
	srv := serve(t, newFake().backend())
	for _, tc := range []struct {
		method, path, body, match string
		status                    int
		contains                  string
	}{
		{"GET", "/v1/limits", "", "", 200, `"held":3`},
		{"PUT", "/v1/limits/new", `{"concurrent":4,"rate":"100/s"}`, "", 201, `"spec":{"concurrent":4,"rate":"100/s"}`},
		{"PUT", "/v1/limits/database", `{"rate":"5/h"}`, `"101"`, 200, `"revision":102`},
		{"PUT", "/v1/limits/database", `{"rate":"5/h"}`, `"100"`, 412, ""},
		{"PUT", "/v1/limits/filed", `{"rate":"5/h"}`, "", 409, "a.yaml"},
		{"PUT", "/v1/limits/New", `{"rate":"5/h"}`, "", 422, "path.limit"},
		{"PUT", "/v1/limits/new", `{}`, "", 422, "concurrent, rate or both"},
		{"PUT", "/v1/limits/new", `{"concurrent":-1}`, "", 422, "body.concurrent"},
		{"PUT", "/v1/limits/new", `{"rate":10}`, "", 422, "body.rate"},
		{"PUT", "/v1/limits/new", `{"rate":"10/d"}`, "", 422, "body.rate"},
		{"PUT", "/v1/limits/new", `{"rate":"100001/s"}`, "", 422, "from 1 to 100000"},
		{"PUT", "/v1/limits/new", `{"concurent":1}`, "", 422, "did you mean"},
		{"DELETE", "/v1/limits/database", "", `"101"`, 204, ""},
		{"DELETE", "/v1/limits/database", "", `"100"`, 412, ""},
		{"DELETE", "/v1/limits/none", "", "", 404, "there is no limit"},
	} {
		var headers []string
		if tc.match != "" {
			headers = []string{"If-Match", tc.match}
		}
		a := ask(t, srv, tc.method, tc.path, tc.body, headers...)
		if a.status != tc.status || !strings.Contains(a.text, tc.contains) {
			t.Errorf("%s %s %s: got %d %s, want %d with %s", tc.method, tc.path, tc.body, a.status, a.text, tc.status, tc.contains)
		}
	}
}
